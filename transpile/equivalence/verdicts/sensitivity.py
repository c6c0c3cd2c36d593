"""Tells whether a difference is rounding that the program itself amplifies.

A chaotic loop, a cancellation or a decision at a tie makes two correct libraries differ by more than any allowance for
rounding. So if results differ, both sides run again on inputs that are moved by a rounding error. A difference is
excused if one side moves as far. (Stochastic arithmetic: J. Vignes, "A stochastic arithmetic for reliable scientific
computation", 1993.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import ml_dtypes
import numpy as np

from ...hlo.carriers import Array
from ...hlo.element_types import from_dtype
from .comparison import LeafResult, Status

Again = Callable[[int], Sequence[Array] | None]

TRIALS = 4
HEADROOM = 8.0  # two correct results may differ by this many times the distance of the moved results
OF_INPUTS = "ill-conditioned: a rounding error in the inputs moves the result as far"
OF_FUNCTIONS = "ill-conditioned: rounding errors of functions, or vectors of the other sign, move the result as far"


def moved(arrays: Sequence[Array], seed: int) -> list[Array]:
    """Return the inputs with every finite float moved by up to two units in the last place; other elements are
    unchanged.
    """
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
    run_expected: Again,
    run_actual: Again,
    note: str = OF_INPUTS,
) -> tuple[LeafResult, ...]:
    """Return the verdicts, with those made ``close`` that rounding explains.

    ``run_expected`` and ``run_actual`` return the results of a side for a seed, with moved inputs (:func:`moved`) or
    moved functions, as the ``note`` says; or ``None`` if the run fails.
    """
    sides = [
        (results, [again for seed in range(TRIALS) if (again := run(seed)) is not None])
        for results, run in ((expected, run_expected), (actual, run_actual))
    ]
    return tuple(
        _excused(
            leaf, expected[k], actual[k], [(results[k], [one[k] for one in trials]) for results, trials in sides], note
        )
        for k, leaf in enumerate(leaves)
    )


def _excused(
    leaf: LeafResult, expected: Array, actual: Array, sides: Sequence[tuple[Array, list[Array]]], note: str
) -> LeafResult:
    if leaf.status not in (Status.DIFFERS, Status.NAN, Status.INF):
        return leaf
    wide = np.complex128 if np.iscomplexobj(actual) else np.float64
    with np.errstate(all="ignore"):
        e, a = expected.astype(wide), actual.astype(wide)
        fine = (e == a) | (np.isnan(e) & np.isnan(a))
        for base, trials in sides:
            moved_to = [one.astype(wide) for one in trials if one.shape == base.shape]
            if moved_to:
                fine |= _may_be_apart(e - a, base.astype(wide), moved_to, actual.dtype.kind in "biu")
    return replace(leaf, status=Status.CLOSE, note=note) if bool(fine.all()) else leaf


def _may_be_apart(difference: Array, base: Array, trials: Sequence[Array], is_integral: bool) -> Array:
    """Return which elements move far enough from ``base``, or change between finite and not finite."""
    spread = np.max([abs(one - base) for one in trials], axis=0)
    jumps: Array = np.any([np.isfinite(one) != np.isfinite(base) for one in trials], axis=0)
    allowed = HEADROOM * spread
    if not is_integral and np.isfinite(spread).any():
        allowed = np.maximum(allowed, np.median(spread[np.isfinite(spread)]))
    is_near: Array = abs(difference) <= allowed
    return jumps | is_near
