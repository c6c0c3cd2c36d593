"""Inference rules that several operations share: for the shape, the element type and the interval of a result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...hlo.element_types import ElementType, from_dtype
from ..node import Slot
from ..operation import Interval, Operand, Parameters, Shape

# -- shapes


def broadcast(operands: Sequence[Operand], parameters: Parameters = {}) -> Shape:  # noqa: B006 - never written
    """Return the shape that NumPy's broadcasting gives. Raises ValueError if the shapes do not fit."""
    shape: Shape = ()
    for operand in operands:
        other = operand.shape
        if other and other != shape:
            shape = broadcast_shapes(shape, other) if shape else other
    return shape


def broadcast_shapes(left: Shape, right: Shape) -> Shape:
    """Return the broadcast of two shapes. Raises ValueError if they do not fit."""
    if len(left) < len(right):
        left, right = right, left
    offset = len(left) - len(right)
    sizes = list(left)
    for axis, size in enumerate(right, offset):
        if sizes[axis] == 1:
            sizes[axis] = size
        elif size not in (1, sizes[axis]):
            raise ValueError(f"{left} and {right} do not broadcast")
    return tuple(sizes)


def like_first(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    """Return the shape of the first operand."""
    return operands[0].shape


def scalar(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    """Return the shape of a scalar."""
    return ()


def reduced(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    """Return the shape without ``axes`` or ``axis``; with ``keepdims``, these have size 1."""
    axes = parameters["axes"] if "axes" in parameters else (parameters["axis"],)
    return reduced_shape(operands[0].shape, axes, bool(parameters.get("keepdims")))


def reduced_shape(shape: Shape, axes: Sequence[int], keepdims: bool = False) -> Shape:
    """Return the shape without some axes; with ``keepdims``, these have size 1. Raises ValueError if there is no such
    axis.
    """
    if axes and max(axes) >= len(shape):
        raise ValueError(f"{shape} has no axis {max(axes)}")
    if keepdims:
        return tuple([1 if axis in axes else size for axis, size in enumerate(shape)])
    return tuple([size for axis, size in enumerate(shape) if axis not in axes])


def indexed(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    """Return the shape of ``x[index]``: whole axes, new axes, numbers, slices, and operands as positions. Raises
    ValueError if the index has too many items.
    """
    from_arrays: Shape | None = None
    place = 0
    shape: list[int] = []
    source = operands[0].shape
    axis = 0
    for item in parameters["index"]:
        if item is None:
            shape.append(1)
            continue
        if axis >= len(source):
            raise ValueError(f"{source} has no axis {axis}")
        if item == ":":
            shape.append(source[axis])
        elif isinstance(item, tuple):
            shape.append(_slice_size(item, source[axis]))
        elif not isinstance(item, int):
            given = operands[item.index].shape
            if from_arrays is None:
                from_arrays, place = given, len(shape)
            else:
                from_arrays = broadcast_shapes(from_arrays, given)
        axis += 1
    shape.extend(source[axis:])
    if from_arrays:
        shape[place:place] = from_arrays
    return tuple(shape)


def _slice_size(item: tuple[Any, ...], size: int) -> int:
    if len(item) == 2:  # (slot of the start, size)
        return int(item[1])
    start, stop, step = item
    if any(isinstance(part, Slot) for part in item):
        return size  # at most
    return len(range(*slice(start, stop, step).indices(size)))


# -- element types


def type_of_first(operands: Sequence[Operand], parameters: Parameters) -> ElementType | None:
    """Return the element type of the first operand."""
    return operands[0].element_type


def real_type(operands: Sequence[Operand], parameters: Parameters) -> ElementType | None:
    """Return the type of the real parts of the first operand."""
    own = operands[0].element_type
    return own.real if own is not None else None


def common_type(operands: Sequence[Operand], parameters: Parameters) -> ElementType | None:
    """Return the element type of the operands that are not Python ints, promoted as NumPy does if they differ."""
    found: ElementType | None = None
    for operand in operands:
        own = operand.element_type
        if operand.is_python_int or own is None or own is found:
            continue
        found = own if found is None else promoted(found, own)
    return found if found is not None else operands[0].element_type


def promoted(left: ElementType, right: ElementType) -> ElementType:
    """Return the element type of arithmetic on two types in NumPy. Raises TypeError if NumPy cannot promote them."""
    return from_dtype(np.result_type(left.dtype, right.dtype))


# -- intervals


def interval_of_first(operands: Sequence[Operand], parameters: Parameters, result: ElementType) -> Interval | None:
    """Return the interval of the first operand, whose elements the result has."""
    return operands[0].interval


def interval_of_all(operands: Sequence[Operand], parameters: Parameters, result: ElementType) -> Interval | None:
    """Return the union of the operands' intervals, of which the result has elements; None if any is unknown."""
    intervals = [operand.interval for operand in operands]
    known = [interval for interval in intervals if interval is not None]
    if not known or len(known) < len(intervals):
        return None
    return min(low for low, _ in known), max(high for _, high in known)
