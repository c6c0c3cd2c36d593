"""Carriers: storage for element types that a target has no dtype for, and the types in which they are computed."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle
from typing import Any

import numpy as np

from .element_types import ELEMENT_TYPES, F16, F32, F64, S8, U8, ElementType, from_dtype
from .shapes import ArrayShape, Shape, leaves

Array = np.ndarray[Any, np.dtype[Any]]


# Types that need a carrier in a library with only NumPy's own dtypes.
NARROW = frozenset(each for each in ELEMENT_TYPES.values() if each.is_extension and each.bits <= 8)


def narrowing(element_type: ElementType) -> str:
    """Return the prelude function that converts wide values to carriers."""
    return f"{'wrap' if element_type.is_integral else 'to'}_{element_type.dtype}"


def widening(element_type: ElementType) -> str:
    """Return the prelude function that converts carriers of floats to values."""
    return f"from_{element_type.dtype}"


NARROWING = frozenset(map(narrowing, NARROW))
WIDENING = frozenset(widening(each) for each in NARROW if each.is_floating)


def carrier_type(element_type: ElementType) -> ElementType:
    """Return the storage type of a narrow type: floats are stored as bits, integers as values."""
    return S8 if element_type.is_signed else U8


def wide_type(element_type: ElementType) -> ElementType:
    """Return the type in which narrow elements are computed. Powers of two down to 2**-127 need float64, because
    devices flush float32 subnormals to zero.
    """
    if element_type.is_integral:
        return carrier_type(element_type)
    return F64 if element_type.name == "f8e8m0fnu" else F32


def half_type(element_type: ElementType) -> ElementType:
    """Return the type in which precision is reduced: float16, which has at least the subnormals of narrow signed
    floats.
    """
    return F16 if element_type.is_floating and element_type.name != "f8e8m0fnu" else wide_type(element_type)


def carried(array: Array) -> Array:
    """Return the carriers of an array of a narrow type."""
    element_type = from_dtype(array.dtype)
    dtype = carrier_type(element_type).dtype
    return array.astype(dtype) if element_type.is_integral else array.view(dtype)


def uncarried(array: Array, element_type: ElementType) -> Array:
    """Return the array of a narrow type that carriers hold."""
    if element_type.is_integral:
        return array.astype(element_type.dtype)
    return (array & np.uint8(2**element_type.bits - 1)).view(element_type.dtype)


def as_declared(arrays: Iterable[Array], shape: Shape) -> list[Array]:
    """Return results, of one run or of several, with the element types in the declared shape of the result.

    An array that has neither its declared type nor a carrier of it stays as it is.
    """
    declared = cycle([part.element_type for _, part in leaves(shape) if isinstance(part, ArrayShape)] or [S8])
    return [
        uncarried(array, own) if own in NARROW and array.dtype == carrier_type(own).dtype else array
        for array, own in zip(arrays, declared, strict=False)
    ]


def carried_literal(literal: Any, lacks: frozenset[str]) -> Any:
    """Return a literal, or a tuple of literals, with narrow arrays as carriers."""
    if isinstance(literal, tuple):
        return tuple(carried_literal(part, lacks) for part in literal)
    return carried(literal) if literal is not None and from_dtype(literal.dtype).name in lacks else literal


def widened(literal: Array) -> Array:
    """Return a literal of a narrow type in the type of its computation."""
    return literal.astype(wide_type(from_dtype(literal.dtype)).dtype)
