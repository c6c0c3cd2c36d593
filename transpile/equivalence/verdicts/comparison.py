"""Compares two results: exactly for integers, within an allowance for floats.

A float may differ by ``absolute + relative * |expected|``, by dtype, and by rounding that adds up over the longest sum
of the program: ``4 * eps * terms * max |expected|``. NaN equals NaN with any bits; an infinity equals only itself; a
subnormal equals zero, because XLA on the CPU flushes it; -0 equals +0 with a note.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

import ml_dtypes
import numpy as np

from ...dataclass import dataclass
from ...hlo.carriers import Array
from ...hlo.element_types import from_dtype

WORST_SHOWN = 5

# Relative and absolute difference that two correct libraries may show after a few operations.
TOLERANCES: dict[str, tuple[float, float]] = {
    "f4e2m1fn": (1.0, 0.5),
    "f8e8m0fnu": (1.0, 0.0),
    "f8e3m4": (0.125, 0.03),
    "f8e4m3": (0.25, 0.01),
    "f8e4m3fn": (0.25, 0.01),
    "f8e4m3b11fnuz": (0.25, 0.01),
    "f8e4m3fnuz": (0.25, 0.01),
    "f8e5m2": (0.5, 0.01),
    "f8e5m2fnuz": (0.5, 0.01),
    "bf16": (2e-2, 1e-4),
    "f16": (2e-3, 1e-5),
    "f32": (1e-5, 1e-6),
    "f64": (1e-12, 1e-13),
}

_FLUSHED = {"bf16", "f32", "f64"}  # the CPU flushes their subnormals, since they have the exponents of f32 or f64


class Status(Enum):
    """The verdict on a result, best first; the last four are for runs without results."""

    EQUAL = "equal"
    CLOSE = "close"
    DIFFERS = "differs"
    NAN = "nan"  # NaN on one side only
    INF = "inf"  # an infinity on one side only, or of the other sign
    SHAPE = "shape"
    DTYPE = "dtype"
    EDGE = "edge"  # the library raises for special input, as --edge-cases library allows
    UNSUPPORTED = "unsupported"
    TIMEOUT = "timeout"
    CRASH = "crash"

    @property
    def is_good(self) -> bool:
        return self in (Status.EQUAL, Status.CLOSE)


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits within which results may differ. ``terms`` is the number of terms of the longest sum behind a
    value.
    """

    relative: float | None = None  # in place of the dtype's
    absolute: float | None = None
    terms: int = 1
    fewer_infs_ok: bool = False  # accept a finite value in place of an infinity

    def tolerance(self, dtype: np.dtype[Any]) -> tuple[float, float]:
        """Return the relative and the absolute tolerance for a float or complex dtype."""
        relative, absolute = TOLERANCES[from_dtype(dtype).real.name]
        return (
            relative if self.relative is None else self.relative,
            absolute if self.absolute is None else self.absolute,
        )


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One element outside its allowance; the differences are NaN if a NaN or an infinity is involved."""

    index: tuple[int, ...]
    expected: Any
    actual: Any
    absolute: float
    relative: float
    ulps: float


ULP_EDGES = (0.0, 0.5, 1.0, 2.0, 4.0, 16.0, 256.0, 65536.0)
RELATIVE_EDGES = (0.0, 1e-12, 1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)


@dataclass(frozen=True, slots=True)
class Histogram:
    """The distribution of differences: ``counts[i]`` elements differ by at most ``edges[i]`` and more than the edge
    before.

    ``counts`` has one more entry than ``edges``, for larger differences; ``odd`` counts elements of which only one side
    is NaN or infinite.
    """

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    odd: int = 0

    @classmethod
    def of(cls, differences: Array, edges: tuple[float, ...], odd: Array) -> Histogram:
        """Return the histogram of differences, without those of ``odd`` elements."""
        places = np.searchsorted(edges, differences[~odd], side="left")
        counts = np.bincount(places, minlength=len(edges) + 1)
        return cls(edges, tuple(map(int, counts)), int(odd.sum()))


@dataclass(frozen=True, slots=True)
class LeafResult:
    """The verdict on one array of the result. ``path`` is its tuple index: ``()``, ``(0, 1)``.

    ``absolute``, ``relative`` and ``ulps`` are the largest differences of all finite elements, including allowed ones;
    floats have histograms of them. The verdict rests on the element whose ``error`` is the largest share of its
    allowance ``allowed``.
    """

    path: tuple[int, ...]
    status: Status
    dtype: str
    shape: tuple[int, ...]
    mismatches: int = 0
    absolute: float = 0.0
    relative: float = 0.0
    ulps: float = 0.0
    error: float = 0.0
    allowed: float = 0.0
    worst: tuple[Mismatch, ...] = ()
    note: str = ""
    ulp_histogram: Histogram | None = None
    relative_histogram: Histogram | None = None

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def share(self) -> float:
        """The ratio of ``error`` to ``allowed``."""
        return self.error / self.allowed if self.allowed else math.inf if self.error else 0.0

    def __str__(self) -> str:
        path = "{" + ",".join(map(str, self.path)) + "}"
        text = f"{path} {self.dtype}{list(self.shape)}: {self.status.value}"
        if self.mismatches:
            text += f", {self.mismatches} of {self.size} elements"
        if self.absolute:
            text += f", at most {self.absolute:.3g} absolute, {self.relative:.3g} relative, {self.ulps:.3g} ulp"
        if self.error and self.allowed:
            text += f"; decided by {self.error:.3g} of {self.allowed:.3g} allowed"
        lines = [text + (f" ({self.note})" if self.note else "")]
        lines += [f"  {list(worst.index)}: expected {worst.expected}, got {worst.actual}" for worst in self.worst]
        return "\n".join(lines)


def deciding(leaves: Iterable[LeafResult]) -> LeafResult | None:
    """Return the array whose error is the largest share of its allowance; None if there are no arrays."""
    return max(leaves, key=lambda leaf: leaf.share, default=None)


def flatten(value: Any) -> list[tuple[tuple[int, ...], Any]]:
    """Return the leaves of nested tuples and lists with their paths, in order; ``None`` (a token) is not a leaf."""
    leaves: list[tuple[tuple[int, ...], Any]] = []
    stack: list[tuple[tuple[int, ...], Any]] = [((), value)]
    while stack:
        path, part = stack.pop()
        if isinstance(part, tuple | list):
            stack.extend(((*path, i), part[i]) for i in reversed(range(len(part))))
        elif part is not None:
            leaves.append((path, part))
    return leaves


def compare(expected: Any, actual: Any, budget: Budget | Sequence[Budget] | None = None) -> list[LeafResult]:
    """Compare results leaf by leaf.

    ``expected`` and ``actual`` are arrays, or tuples and lists of them nested in any way; only the order of the leaves
    counts. The paths in the results are those of ``actual``. A different number of leaves gives one result of status
    ``shape``. ``budget`` is one for all arrays or one for each.
    """
    wanted, got = flatten(expected), flatten(actual)
    if len(wanted) != len(got):
        note = f"{len(wanted)} arrays expected, {len(got)} found"
        return [LeafResult((), Status.SHAPE, "tuple", (len(got),), note=note)]
    budgets = budget if isinstance(budget, Sequence) else [budget or Budget()] * len(got)
    return [
        compare_leaf(np.asarray(want), np.asarray(have), allowed, path)
        for (_, want), (path, have), allowed in zip(wanted, got, budgets, strict=True)
    ]


def compare_leaf(expected: Array, actual: Array, budget: Budget, path: tuple[int, ...] = ()) -> LeafResult:
    """Compare two arrays by the rule in the module's docstring."""
    leaf = LeafResult(path, Status.EQUAL, actual.dtype.name, actual.shape)
    if expected.dtype != actual.dtype:
        return replace(leaf, status=Status.DTYPE, note=f"{expected.dtype.name} expected")
    if expected.shape != actual.shape:
        return replace(leaf, status=Status.SHAPE, note=f"{list(expected.shape)} expected")
    element_type = from_dtype(actual.dtype)
    if element_type.is_floating or element_type.is_complex:
        return _compare_floats(expected, actual, budget, leaf)
    return _compare_exactly(expected, actual, leaf)


def _compare_exactly(expected: Array, actual: Array, leaf: LeafResult) -> LeafResult:
    wrong = expected != actual
    if not wrong.any():
        return leaf
    e, a = expected.astype(np.float64), actual.astype(np.float64)
    absolute = abs(a - e)
    relative = absolute / np.maximum(1, abs(e))
    worst = tuple(
        Mismatch(
            place,
            expected[place].item(),
            actual[place].item(),
            float(absolute[place]),
            float(relative[place]),
            float("nan"),
        )
        for place in _worst_places(relative, wrong)
    )
    return replace(
        leaf,
        status=Status.DIFFERS,
        mismatches=int(wrong.sum()),
        absolute=float(absolute.max()),
        relative=float(relative.max()),
        error=float(absolute.max()),
        worst=worst,
    )


def _compare_floats(expected: Array, actual: Array, budget: Budget, leaf: LeafResult) -> LeafResult:
    """Compare floats; complex numbers part by part, with the allowance of their modulus."""
    element_type = from_dtype(actual.dtype)
    info = ml_dtypes.finfo(element_type.real.dtype)
    smallest = float(info.smallest_normal) if element_type.real.name in _FLUSHED else 0.0
    e, a = _real_parts(expected), _real_parts(actual)
    with np.errstate(all="ignore"):
        e_flushed, a_flushed = _flush(e, smallest), _flush(a, smallest)
        magnitude = np.hypot(*np.moveaxis(e_flushed, -1, 0))[..., None] if element_type.is_complex else abs(e_flushed)
        finite = np.isfinite(e) & np.isfinite(a)
        absolute = np.where(finite, abs(a_flushed - e_flushed), 0.0)
        relative = np.divide(absolute, magnitude, out=np.zeros_like(absolute), where=absolute > 0)
        ulps = absolute / _spacing(e_flushed, info)
        largest = np.max(magnitude, where=np.isfinite(magnitude), initial=0.0)
        rtol, atol = budget.tolerance(actual.dtype)
        rounding = 4 * float(info.eps) * budget.terms * largest if budget.terms > 1 else 0.0
        allowed = atol + rtol * np.where(np.isfinite(magnitude), magnitude, 0.0) + rounding
    nan = np.isnan(e) != np.isnan(a)
    inf = (np.isinf(e) | np.isinf(a)) & (e != a) & ~nan
    tolerated = inf & np.isfinite(a) if budget.fewer_infs_ok else np.zeros_like(inf)
    wrong = (absolute > allowed) | nan | (inf & ~tolerated)
    error, of = _largest_share(absolute, np.broadcast_to(allowed, absolute.shape))
    measured = replace(
        leaf,
        status=Status.CLOSE if absolute.any() or tolerated.any() else Status.EQUAL,
        absolute=float(absolute.max(initial=0.0)),
        relative=float(relative.max(initial=0.0)),
        ulps=float(ulps.max(initial=0.0)),
        error=error,
        allowed=of,
        note=_zero_note(e, a),
        ulp_histogram=Histogram.of(ulps, ULP_EDGES, nan | inf),
        relative_histogram=Histogram.of(relative, RELATIVE_EDGES, nan | inf),
    )
    if not wrong.any():
        return measured
    worst = tuple(
        Mismatch(
            place[: expected.ndim],
            expected[place[: expected.ndim]].item(),
            actual[place[: expected.ndim]].item(),
            *(float(table[place]) if finite[place] else float("nan") for table in (absolute, relative, ulps)),
        )
        for place in _worst_places(np.where(nan | inf, np.inf, relative), wrong)
    )
    return replace(
        measured,
        status=Status.NAN if nan.any() else Status.INF if (inf & ~tolerated).any() else Status.DIFFERS,
        mismatches=int(wrong.sum()),
        worst=worst,
    )


def _largest_share(absolute: Array, allowed: Array) -> tuple[float, float]:
    """Return the difference that is the largest share of the allowance at its place, and that allowance."""
    if not absolute.any():
        return 0.0, 0.0
    with np.errstate(divide="ignore"):
        shares = np.divide(absolute, allowed, out=np.zeros_like(absolute), where=absolute > 0)
    place = np.unravel_index(int(shares.argmax()), shares.shape)
    return float(absolute[place]), float(allowed[place])


def _real_parts(array: Array) -> Array:
    """Return float64 values, with the two parts of complex numbers in a trailing dimension."""
    if np.iscomplexobj(array):
        array = np.stack([array.real, array.imag], axis=-1)
    with np.errstate(invalid="ignore"):  # for signalling NaNs
        return array.astype(np.float64)


def _flush(values: Array, smallest_normal: float) -> Array:
    return np.where(abs(values) < smallest_normal, 0.0, values)


def _spacing(values: Array, info: Any) -> Array:
    """Return the distance to the next float of the dtype that ``info`` describes."""
    _, exponent = np.frexp(np.where(np.isfinite(values), values, 0.0))
    step = np.ldexp(float(info.eps), exponent - 1)
    spacing: Array = np.maximum(step, max(float(info.smallest_normal) * float(info.eps), 5e-324))
    return spacing


def _zero_note(expected: Array, actual: Array) -> str:
    signs = (expected == 0) & (actual == 0) & (np.signbit(expected) != np.signbit(actual))
    return f"{int(signs.sum())} zeros of the other sign" if signs.any() else ""


def _worst_places(badness: Array, wrong: Array) -> list[tuple[int, ...]]:
    candidates = np.flatnonzero(wrong)
    order = np.argsort(-badness.ravel()[candidates], kind="stable")[:WORST_SHOWN]
    return [tuple(map(int, np.unravel_index(flat, wrong.shape))) for flat in candidates[order]]
