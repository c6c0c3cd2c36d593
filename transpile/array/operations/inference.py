"""Rules that several operations share: the shape, the element type and the interval of a result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...hlo.element_types import PRED, ElementType, from_dtype
from ..node import Slot
from ..operation import Interval, Operand, Parameters, Shape

# -- shapes


def broadcast(operands: Sequence[Operand], parameters: Parameters = {}) -> Shape:  # noqa: B006 - never written
    """The shape that NumPy's broadcasting gives. Raises ValueError where the shapes do not fit."""
    shape: Shape = ()
    for operand in operands:
        other = operand.shape
        if other and other != shape:
            shape = broadcast_shapes(shape, other) if shape else other
    return shape


def broadcast_shapes(left: Shape, right: Shape) -> Shape:
    """The broadcast of two shapes. Raises ValueError where they do not fit."""
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
    """The shape of the first operand."""
    return operands[0].shape


def scalar(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    """Return the shape without axes."""
    return ()


def reduced(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    """The shape without ``axes`` or ``axis``, which stay with one element under ``keepdims``."""
    axes = parameters["axes"] if "axes" in parameters else (parameters["axis"],)
    return reduced_shape(operands[0].shape, axes, bool(parameters.get("keepdims")))


def reduced_shape(shape: Shape, axes: Sequence[int], keepdims: bool = False) -> Shape:
    """The shape without some axes, which stay with one element under ``keepdims``. Raises ValueError where it has no
    such axis.
    """
    if axes and max(axes) >= len(shape):
        raise ValueError(f"{shape} has no axis {max(axes)}")
    if keepdims:
        return tuple([1 if axis in axes else size for axis, size in enumerate(shape)])
    return tuple([size for axis, size in enumerate(shape) if axis not in axes])


def indexed(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    """The shape of ``x[index]``: whole axes, new axes, numbers, slices, and positions that are operands."""
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
    """The element type of the first operand."""
    return operands[0].element_type


def common_type(operands: Sequence[Operand], parameters: Parameters) -> ElementType | None:
    """The element type of the operands that are no Python ints; where they differ, what NumPy promotes them to."""
    found: ElementType | None = None
    for operand in operands:
        own = operand.element_type
        if operand.is_python_int or own is None or own is found:
            continue
        found = own if found is None else promoted(found, own)
    return found if found is not None else operands[0].element_type


def promoted(left: ElementType, right: ElementType) -> ElementType:
    """The element type that NumPy gives arithmetic on two others. Raises TypeError where it gives none."""
    return from_dtype(np.result_type(left.dtype, right.dtype))


def pred(operands: Sequence[Operand], parameters: Parameters) -> ElementType:
    """Return the type of truth values."""
    return PRED


# -- intervals


def interval_of_first(operands: Sequence[Operand], parameters: Parameters, result: ElementType) -> Interval | None:
    """The elements are some of the first operand's."""
    return operands[0].interval


def interval_of_all(operands: Sequence[Operand], parameters: Parameters, result: ElementType) -> Interval | None:
    """The elements are some of the operands'."""
    intervals = [operand.interval for operand in operands]
    known = [interval for interval in intervals if interval is not None]
    if not known or len(known) < len(intervals):
        return None
    return min(low for low, _ in known), max(high for _, high in known)
