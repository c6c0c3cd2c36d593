"""Scatters as loops of Numba, one update after the other."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit

COMBINERS = (None, np.add, np.multiply, np.maximum, np.minimum)


@njit(error_model="numpy", nogil=True)
def combined_number(a: Any, b: Any, combiner: int) -> Any:
    """Return ``b``, or `a` and `b` combined as the number of a combiner says."""
    if combiner == 1:
        return a + b
    if combiner == 2:
        return a * b
    if combiner == 3:
        return np.maximum(a, b)
    if combiner == 4:
        return np.minimum(a, b)
    return b


@njit(error_model="numpy", cache=True, nogil=True)
def scatter_loop(
    rows: np.ndarray, places: np.ndarray, values: np.ndarray, combiner: int, least: int
) -> None:
    """Combine each row of ``values`` [k, m] into one of ``rows`` [n, m]; rows whose
    ``places`` [k] are less than ``least`` (0 or -n), or n and more, are left out.
    """
    for i in range(len(places)):
        row = places[i]
        if least <= row < len(rows):
            for j in range(rows.shape[1]):
                rows[row, j] = combined_number(rows[row, j], values[i, j], combiner)


@njit(error_model="numpy", cache=True, nogil=True)
def scatter_numbers_loop(
    numbers: np.ndarray,
    places: np.ndarray,
    values: np.ndarray,
    combiner: int,
    least: int,
) -> None:
    """Apply ``scatter_loop`` to rows of one number."""
    for i in range(len(places)):
        place = places[i]
        if least <= place < len(numbers):
            numbers[place] = combined_number(numbers[place], values[i], combiner)


def scatter_in_order(
    x: np.ndarray, index: Any, values: Any, combine: Any = None, from_end: bool = False
) -> Any:
    """Return a copy of ``x`` with ``values`` at ``x[index]``, combined in by a ufunc if
    given, one after the other; values outside are left out.

    ``index`` is an array of integers, which count ``from_end`` where they are negative,
    or a tuple of several, one for each of the first axes of ``x``.
    """
    result = x.copy(order="C")
    scatter_by_loops(result, index, values, combine, from_end)
    return result


def scatter_on_zeros(
    index: Any,
    values: Any,
    shape: Sequence[int],
    dtype: Any,
    combine: Any = None,
    from_end: bool = False,
) -> Any:
    """Return ``scatter_in_order`` with an array of zeros as ``x``."""
    result = np.zeros(shape, dtype)
    scatter_by_loops(result, index, values, combine, from_end)
    return result


def scatter_by_loops(
    x: np.ndarray, index: Any, values: Any, combine: Any, from_end: bool = False
) -> None:
    """Apply ``scatter_in_order`` in place."""
    indices = index if isinstance(index, tuple) else (index,)
    window, combiner = x.shape[len(indices) :], COMBINERS.index(combine)
    if len(indices) == 1:
        row = np.asarray(index)
    else:
        places = np.broadcast_arrays(*indices)
        row = np.zeros(places[0].shape, np.int64)
        for i, n in zip(places, x.shape, strict=False):
            fits = (row >= 0) & (i >= 0) & (i < n)
            row = np.where(fits, row * n + i.astype(np.int64), -1)
    whole, size = row.shape + window, math.prod(window)
    kept = values if np.shape(values) == whole else np.broadcast_to(values, whole)
    least = -len(x) if from_end else 0
    if size == 1:
        numbers, new = x.reshape(-1), kept.reshape(-1)
        scatter_numbers_loop(numbers, row.reshape(-1), new, combiner, least)
    else:
        rows, updates = x.reshape((-1, size)), kept.reshape((-1, size))
        scatter_loop(rows, row.reshape(-1), updates, combiner, least)
