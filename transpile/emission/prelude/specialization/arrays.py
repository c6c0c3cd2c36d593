"""What is known of arrays that are made of others: their attributes, parts of them, and what their methods give."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .lattice import Array, Fact, Known, tuple_of


def attribute_of(array: Array, name: str) -> Fact:
    """An attribute of an array."""
    shape = array.shape
    if name in ("dtype", "itemsize") and array.dtype is not None:
        return Known(array.dtype if name == "dtype" else array.dtype.itemsize)
    if shape is None:
        return None
    if name == "shape":
        return tuple_of([None if n is None else Known(n) for n in shape])
    if name == "ndim":
        return Known(len(shape))
    if name == "size" and None not in shape:
        return Known(math.prod(n for n in shape if n is not None))
    if name == "T":
        return Array(array.dtype, shape[::-1])
    return Array(array.dtype, (*shape[:-2], *shape[:-3:-1])) if name == "mT" else None


def indexed(array: Array, facts: list[Fact] | None) -> Array:
    """An array behind an index of whole axes, numbers and new axes, of whose items these facts are known."""
    if facts is None or array.shape is None:
        return Array(array.dtype, None)
    left, shape = list(array.shape), list[int | None]()
    if Known(...) in facts:
        places = sum(fact != Known(None) for fact in facts) - 1
        k = facts.index(Known(...))
        facts[k : k + 1] = [Known(slice(None))] * (len(left) - places)
    for fact in facts:
        if not isinstance(fact, Known) or not isinstance(fact.value, slice | int | None):
            return Array(array.dtype, None)
        if fact.value is None:
            shape.append(1)
            continue
        size = left.pop(0)
        if isinstance(fact.value, slice):
            shape.append(None if size is None else len(range(*fact.value.indices(size))))
    return Array(array.dtype, (*shape, *left))


def padded(array: Fact, widths: Fact) -> Fact:
    """An array with so many elements before and behind along each axis, or with an open number of them."""
    if not isinstance(array, Array) or array.shape is None:
        return None
    by = [sum(pair) for pair in widths.value] if isinstance(widths, Known) else [None] * len(array.shape)
    shape = tuple(None if n is None or k is None else n + k for n, k in zip(array.shape, by, strict=True))
    return Array(array.dtype, shape)


def result_of_method(array: Array, name: str, arguments: Sequence[Fact]) -> Fact:
    """Return what a method of an array gives for arguments of which these facts are known."""
    first = arguments[0] if arguments else None
    if name in ("copy", "conj"):
        return array
    if name == "astype" and arguments:
        return Array(np.dtype(first.value) if isinstance(first, Known) else None, array.shape)
    if name == "transpose":
        if len(arguments) == 1 and isinstance(first, Known) and array.shape is not None:
            return Array(array.dtype, tuple(array.shape[axis] for axis in first.value))
        return Array(array.dtype, None if array.shape is None else (None,) * len(array.shape))
    return Array(array.dtype, None) if name == "reshape" else None
