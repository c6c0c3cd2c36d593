"""Operands that find faults: every edge of an element type, and every value of the narrow ones."""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from xla2py.transpile.hlo.element_types import ELEMENT_TYPES, ElementType, Kind

Array = np.ndarray[Any, np.dtype[Any]]

ALL = tuple(ELEMENT_TYPES)
PRED = ("pred",)
SIGNED = tuple(name for name, t in ELEMENT_TYPES.items() if t.kind is Kind.SIGNED)
UNSIGNED = tuple(name for name, t in ELEMENT_TYPES.items() if t.kind is Kind.UNSIGNED)
INTEGERS = SIGNED + UNSIGNED
FLOATS = tuple(name for name, t in ELEMENT_TYPES.items() if t.is_floating)
WIDE_FLOATS = ("bf16", "f16", "f32", "f64")
COMPLEXES = ("c64", "c128")

FINITE_FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.75, -7.0, 0.1, 100.0, -1e-3, 1e4, 0.49999997, 30.0]


def dtype(name: str) -> np.dtype[Any]:
    return ELEMENT_TYPES[name].dtype


@cache
def edges(name: str) -> Array:
    """Values of an element type worth a look, as a rank-1 array; all of them where the type has at most 8 bits."""
    element_type = ELEMENT_TYPES[name]
    if element_type.kind is Kind.PRED:
        return np.array([False, True])
    if name == "f8e8m0fnu":
        return _every_value(element_type)[1:]  # without 2**-127, which XLA on the CPU flushes to a zero it cannot hold
    if element_type.bits <= 8:
        return _every_value(element_type)
    if element_type.is_integral:
        return _integer_edges(element_type)
    if element_type.is_complex:  # finite: XLA's functions are not C99's where a part is infinite or NaN
        parts = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 1.5, -2.5, 3.0, -6.0], element_type.real.dtype)
        grid = np.empty((len(parts), len(parts)), element_type.dtype)
        grid.real, grid.imag = parts[:, None], parts
        return grid.ravel()
    info = ml_dtypes.finfo(element_type.dtype)
    special = [np.inf, -np.inf, np.nan, float(info.max), float(info.min), float(info.smallest_normal), float(info.eps)]
    with np.errstate(over="ignore"):
        return np.array([*FINITE_FLOATS, *special]).astype(element_type.dtype)


@cache
def few(name: str) -> Array:
    """About a dozen values, for pairs and triples of operands."""
    element_type = ELEMENT_TYPES[name]
    if element_type.kind is Kind.PRED:
        return np.array([False, True])
    if element_type.is_integral:
        low, high = limits(element_type)
        wanted = [low, low + 1, -7, -2, -1, 0, 1, 2, 3, 5, 31, high - 1, high]
        return np.array(sorted({v for v in wanted if low <= v <= high}), object).astype(element_type.dtype)
    if element_type.is_complex:
        parts = [(0, 0), (-0.0, 1), (1, 0), (-2.5, 0.5), (0.5, -2.5), (1, 1), (-2.5, -2.5), (3, -0.0), (-6, 0)]
        return np.array(parts, element_type.real.dtype).view(element_type.dtype).ravel()
    if name == "f8e8m0fnu":
        return np.array([0.5, 1, 2, 8, 2.0**-20, 2.0**20, np.nan]).astype(element_type.dtype)
    info = ml_dtypes.finfo(element_type.dtype)
    values = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, -2.5, 3.0, 6.0, np.inf, -np.inf, np.nan, float(info.max), float(info.min)]
    return np.array(values).astype(element_type.dtype)


def limits(element_type: ElementType) -> tuple[int, int]:
    """The smallest and the largest value of an integer type."""
    if element_type.is_signed:
        return -(2 ** (element_type.bits - 1)), 2 ** (element_type.bits - 1) - 1
    return 0, 2**element_type.bits - 1


def pairs(name: str) -> tuple[Array, Array]:
    """Each of the few values with each other one."""
    values = few(name)
    return np.repeat(values, len(values)), np.tile(values, len(values))


def numbers(name: str, *sizes: int, seed: int = 0) -> Array:
    """Small, finite, distinct-looking values of any element type; negative ones too where the type has them."""
    element_type, generator = ELEMENT_TYPES[name], np.random.default_rng([seed, *sizes])
    if element_type.kind is Kind.PRED:
        return generator.integers(0, 2, sizes).astype(bool)
    if element_type.is_integral:
        low, high = limits(element_type)
        return generator.integers(max(low, -50), min(high, 50) + 1, sizes).astype(element_type.dtype)
    if element_type.is_complex:
        values = generator.integers(-8, 9, (2, *sizes)) / 4
        return (values[0] + 1j * values[1]).astype(element_type.dtype)
    if name == "f8e8m0fnu":  # powers of two
        return np.ldexp(1.0, generator.integers(-3, 4, sizes)).astype(element_type.dtype)
    return (generator.integers(-8, 9, sizes) / 4).astype(element_type.dtype)


def _every_value(element_type: ElementType) -> Array:
    patterns = np.arange(2**element_type.bits, dtype=np.uint8)
    return patterns.view(element_type.dtype)


def _integer_edges(element_type: ElementType) -> Array:
    low, high = limits(element_type)
    powers = [sign * 2**k + near for k in range(element_type.bits) for sign in (1, -1) for near in (-1, 0, 1)]
    return np.array(sorted({v for v in [low, high, *powers] if low <= v <= high}), object).astype(element_type.dtype)
