"""Arrays as pictures of few numbers: a curve of a vector, a heat map of a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
_MOST_POINTS = 256  # along a curve
_MOST_CELLS = 96  # along either side of a heat map


def picture(array: Array) -> dict[str, Any] | None:
    """A curve (``low``, ``high``: the least and the largest number at each point), a heat map (``rows`` of means), or
    None of a scalar or an empty array.

    Complex numbers count by their modulus; what is not finite is None. Of more than two axes, the first of all but the
    last two are shown, which ``part`` says: ``[0, 0, :, :]``.
    """
    if array.ndim == 0 or array.size == 0:
        return None
    first = (0,) * max(array.ndim - 2, 0)
    part = f"[{', '.join(['0'] * len(first) + [':'] * min(array.ndim, 2))}]" if first else ""
    with np.errstate(all="ignore"):
        values = np.asarray(abs(array[first]) if np.iscomplexobj(array) else array[first]).astype(np.float64)
    values[~np.isfinite(values)] = np.nan
    if 1 in values.shape:
        values = values.reshape(-1)
    return {**(_curve(values) if values.ndim == 1 else _map(values)), "part": part}


def _curve(values: Array) -> dict[str, Any]:
    starts = _starts(values.size, _MOST_POINTS)
    low, high = (_numbers(function.reduceat(values, starts)) for function in (np.fmin, np.fmax))
    return {"kind": "curve", "low": low, "high": high}


def _map(values: Array) -> dict[str, Any]:
    known = np.isfinite(values)
    sums, counts = np.where(known, values, 0.0), known.astype(np.float64)
    for axis in (0, 1):
        starts = _starts(values.shape[axis], _MOST_CELLS)
        sums, counts = (np.add.reduceat(each, starts, axis=axis) for each in (sums, counts))
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return {"kind": "map", "rows": [_numbers(row) for row in means]}


def _starts(size: int, most: int) -> Array:
    """Where each of at most ``most`` blocks of a length begins."""
    return np.unique(np.arange(min(size, most)) * size // min(size, most))


def _numbers(values: Array) -> list[float | None]:
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in values]
