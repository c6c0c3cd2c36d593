"""Is a difference rounding, grown by the program itself? Programs can turn one wrong bit into any error.

A chaotic loop, a cancellation or a decision at a tie makes two right libraries differ by more than any allowance for
rounding. So where results differ, an emitted module runs again on inputs that are moved by a rounding error; an element
that moves as far as it differed says nothing against either side. (Stochastic arithmetic: J. Vignes, "A stochastic
arithmetic for reliable scientific computation", 1993.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np

from ..hlo.element_types import from_dtype
from .comparison import LeafResult, Status

Array = np.ndarray[Any, np.dtype[Any]]

TRIALS = 4
HEADROOM = 8.0  # how much farther than the moved results two right results may be apart
NOTE = "ill-conditioned: a rounding error in the inputs moves the result as far"


def moved(arrays: Sequence[Array], seed: int) -> list[Array]:
    """The inputs with every finite float moved by up to two units in its last place; all others as they are."""
    return [_moved(array, np.random.default_rng([seed, number])) for number, array in enumerate(arrays)]


def _moved(array: Array, generator: np.random.Generator) -> Array:
    element_type = from_dtype(array.dtype)
    if not (element_type.is_floating or element_type.is_complex):
        return array
    eps = float(ml_dtypes.finfo(element_type.real.dtype).eps)
    wide = np.complex128 if element_type.is_complex else np.float64
    with np.errstate(all="ignore"):
        factor = 1 + generator.choice([-2.0, -1.0, 1.0, 2.0], array.shape) * eps
        result = (array.astype(wide) * factor).astype(array.dtype)
    return np.where(np.isfinite(result), result, array)


def excused(
    leaves: Sequence[LeafResult],
    expected: Sequence[Array],
    actual: Sequence[Array],
    run: Callable[[int], Sequence[Array] | None],
    *,
    is_actual: bool,
) -> tuple[LeafResult, ...]:
    """The verdicts, with those that rounding explains made ``close``.

    ``run(seed)`` gives the results of one side (``is_actual``: which) on inputs that are :func:`moved`, or ``None``
    where that fails.
    """
    trials = [results for seed in range(TRIALS) if (results := run(seed)) is not None]
    if not trials:
        return tuple(leaves)
    return tuple(
        _excused(leaf, expected[number], actual[number], [trial[number] for trial in trials], is_actual)
        for number, leaf in enumerate(leaves)
    )


def _excused(leaf: LeafResult, expected: Array, actual: Array, trials: Sequence[Array], is_actual: bool) -> LeafResult:
    if leaf.status not in (Status.DIFFERS, Status.NAN, Status.INF) or any(t.shape != actual.shape for t in trials):
        return leaf
    wide = np.complex128 if np.iscomplexobj(actual) else np.float64
    with np.errstate(all="ignore"):
        e, a, *t = (array.astype(wide) for array in (expected, actual, *trials))
        base = a if is_actual else e
        spread = np.max([abs(one - base) for one in t], axis=0)
        jumps = np.any([np.isfinite(one) != np.isfinite(base) for one in t], axis=0)
        allowed = HEADROOM * spread
        if actual.dtype.kind not in "biu" and np.isfinite(spread).any():
            allowed = np.maximum(allowed, np.median(spread[np.isfinite(spread)]))
        fine = (abs(e - a) <= allowed) | jumps | (e == a) | (np.isnan(e) & np.isnan(a))
    return replace(leaf, status=Status.CLOSE, note=NOTE) if bool(fine.all()) else leaf
