"""Carriers: what holds the elements of a type that a target has no dtype for, and what they are computed in."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle
from typing import Any

import numpy as np

from .element_types import ELEMENT_TYPES, F16, F32, F64, S8, U8, ElementType, from_dtype
from .shapes import ArrayShape, Shape, leaves

Array = np.ndarray[Any, Any]


# What needs a carrier where a library has NumPy's own dtypes alone.
NARROW = frozenset(each for each in ELEMENT_TYPES.values() if each.is_extension and each.bits <= 8)


def narrowing(element_type: ElementType) -> str:
    """The prelude function that makes carriers of wide values."""
    return f"{'wrap' if element_type.is_integral else 'to'}_{element_type.dtype}"


def widening(element_type: ElementType) -> str:
    """The prelude function that makes values of the carriers of floats."""
    return f"from_{element_type.dtype}"


NARROWING = frozenset(map(narrowing, NARROW))
WIDENING = frozenset(widening(each) for each in NARROW if each.is_floating)


def carrier_type(element_type: ElementType) -> ElementType:
    """Return the type that holds elements of a narrow type: floats as their bits, integers as their values."""
    return S8 if element_type.is_signed else U8


def wide_type(element_type: ElementType) -> ElementType:
    """Return the type that narrow elements are computed in: for powers of two from 2**-127 not float32, whose
    subnormals devices flush to zero.
    """
    if element_type.is_integral:
        return carrier_type(element_type)
    return F64 if element_type.name == "f8e8m0fnu" else F32


def half_type(element_type: ElementType) -> ElementType:
    """Return the type that precision is reduced in: float16, which has no fewer subnormals than a narrow float with a
    sign.
    """
    return F16 if element_type.is_floating and element_type.name != "f8e8m0fnu" else wide_type(element_type)


def carried(array: Array) -> Array:
    """The carriers of an array of a narrow type."""
    element_type = from_dtype(array.dtype)
    dtype = carrier_type(element_type).dtype
    return array.astype(dtype) if element_type.is_integral else array.view(dtype)


def uncarried(array: Array, element_type: ElementType) -> Array:
    """The array of a narrow type that carriers hold."""
    if element_type.is_integral:
        return array.astype(element_type.dtype)
    return (array & np.uint8(2**element_type.bits - 1)).view(element_type.dtype)


def as_declared(arrays: Iterable[Array], shape: Shape) -> list[Array]:
    """Return results, one run's or those of several, with the element types that the shape of the result says.

    What is neither of its type nor a carrier of it stays as it is.
    """
    declared = cycle([part.element_type for _, part in leaves(shape) if isinstance(part, ArrayShape)] or [S8])
    return [
        uncarried(array, own) if own in NARROW and array.dtype == carrier_type(own).dtype else array
        for array, own in zip(arrays, declared, strict=False)
    ]


def carried_literal(literal: Any, lacks: frozenset[str]) -> Any:
    """A literal, or a tuple of them, with narrow arrays as their carriers."""
    if isinstance(literal, tuple):
        return tuple(carried_literal(part, lacks) for part in literal)
    return carried(literal) if literal is not None and from_dtype(literal.dtype).name in lacks else literal


def widened(literal: Array) -> Array:
    """A literal of a narrow type in what it is computed in."""
    return literal.astype(wide_type(from_dtype(literal.dtype)).dtype)
