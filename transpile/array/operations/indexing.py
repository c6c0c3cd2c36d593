"""Rules of indexing: reads and updates of parts of arrays, and gathers and scatters by position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...hlo.element_types import ElementType
from ..operation import AxisMap, Interval, Operand, Parameters, Shape
from . import axes
from .inference import broadcast_shapes

# -- parts


def index_axes(index: Sequence[Any], ndim: int) -> AxisMap:
    """Return the axis map of ``x[index]``: whole axes are mapped."""
    result: list[int | None] = []
    place = 0
    for item in index:
        if item is None:
            place += 1
        elif item == ":":
            result.append(place)
            place += 1
        else:
            result.append(None)
            place += isinstance(item, tuple)
    return (*result, *range(place, place + ndim - len(result)))


def part_axes(node: Any) -> list[AxisMap]:
    operand, *indices = node.operands
    if any(index.ndim for index in indices):
        return axes.nothing(node)
    return [index_axes(node.parameters["index"], operand.ndim), *((None,) * index.ndim for index in indices)]


# -- elements by position


def taken(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    values, index = operands
    return taken_shape(values.shape, index.shape, parameters["axis"])


def taken_shape(values: Shape, index: Shape, axis: int) -> Shape:
    """Return the shape of ``np.take`` of values along an axis with an index."""
    return (*values[:axis], *index, *values[axis + 1 :])


def taken_axes(node: Any) -> list[AxisMap]:
    values, index = node.operands
    at = node.parameters["axis"]
    return [
        tuple(None if axis == at else axis + (index.ndim - 1) * (axis > at) for axis in range(values.ndim)),
        tuple(range(at, at + index.ndim)),
    ]


def taken_along(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    values, order = operands
    at = parameters["axis"]
    shape = broadcast_shapes((*values.shape[:at], 1, *values.shape[at + 1 :]), order.shape)
    return shape


def taken_along_axes(node: Any) -> list[AxisMap]:
    values, order = node.operands
    at = node.parameters["axis"]
    return [
        tuple(axis if axis != at and size != 1 else None for axis, size in enumerate(values.shape)),
        tuple(axis if size != 1 else None for axis, size in enumerate(order.shape)),
    ]


def picked_axes(node: Any) -> list[AxisMap]:
    values, *indices = node.operands
    index = node.parameters["index"]
    first = index.count(":")
    if not all(item == ":" for item in index[:first]):
        return axes.nothing(node)
    count = node.ndim - (values.ndim - len(indices))
    end = first + len(indices)
    rows = tuple(
        axis if axis < first else None if axis < end else axis - len(indices) + count for axis in range(values.ndim)
    )
    batch = [axes.aligned(part.shape, node.shape[first : first + count]) for part in indices]
    return [rows, *(tuple(None if axis is None else first + axis for axis in part) for part in batch)]


# -- writing


def written(operands: Sequence[Operand], parameters: Parameters, result: ElementType) -> Interval | None:
    before, value = operands[0].interval, operands[1].interval
    return (min(before[0], value[0]), max(before[1], value[1])) if before and value else None


def written_axes(node: Any) -> list[AxisMap]:
    operand, value, *indices = node.operands
    if any(index.ndim for index in indices):
        return axes.nothing(node)
    index = node.parameters["index"]
    items = (*index, *[":"] * (operand.ndim - len(index)))
    whole = tuple(axis if items[axis] == ":" else None for axis in range(operand.ndim))
    kept = [
        axis if items[axis] == ":" else None
        for axis in range(operand.ndim)
        if items[axis] == ":" or isinstance(items[axis], tuple)
    ]
    offset = len(kept) - value.ndim
    of_value = tuple(kept[offset + axis] if value.shape[axis] != 1 else None for axis in range(value.ndim))
    return [whole, of_value, *((None,) * index.ndim for index in indices)]


# Updates in order; those out of bounds are dropped. Without a ufunc the last one wins.
