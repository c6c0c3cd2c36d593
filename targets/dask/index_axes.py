"""Axis maps of what reads and writes parts of arrays."""

from __future__ import annotations

from collections.abc import Sequence

from ...transpile.array.node import Node, Slot
from ...transpile.array.value import FULL
from .axis_rules import AxisMap, aligned, nothing
from .scatters import is_scatter, scatter_axes


def getitem(node: Node) -> list[AxisMap]:
    """Axes that ``x[index]`` takes as they are stay."""
    operand, *indices = node.operands
    if any(index.ndim for index in indices):
        return nothing(node)
    return [_taken_whole(node.parameters["index"], operand.ndim), *((None,) * index.ndim for index in indices)]


def _taken_whole(index: Sequence[object], ndim: int) -> AxisMap:
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


def setitem(node: Node) -> list[AxisMap]:
    """Axes that are written as a whole stay, also those of the value."""
    operand, value, *indices = node.operands
    if is_scatter(node) or any(index.ndim for index in indices):
        return scattered(node)
    items = node.parameters["index"]
    whole = tuple(axis if items[axis] == ":" else None for axis in range(operand.ndim))
    kept = [
        axis if items[axis] == ":" else None for axis in range(operand.ndim) if not isinstance(items[axis], int | Slot)
    ]
    offset = len(kept) - value.ndim
    of_value = tuple(kept[offset + axis] if value.shape[axis] != 1 else None for axis in range(value.ndim))
    return [whole, of_value, *((None,) * index.ndim for index in indices)]


def scattered(node: Node) -> list[AxisMap]:
    """The axes behind those of the indices stay."""
    return scatter_axes(node) if is_scatter(node) else nothing(node)


def dynamic_update(node: Node) -> list[AxisMap]:
    """Axes that the update has as a whole stay."""
    x, update, *starts = node.operands
    own = tuple(axis if n == update.shape[axis] else None for axis, n in enumerate(x.shape))
    return [own, own, *((None,) * start.ndim for start in starts)]


def take_along(node: Node) -> list[AxisMap]:
    """Each line of the values is read by its own line of indices."""
    values, order = node.operands
    at = node.parameters["axis"]
    return [
        tuple(axis if axis != at and size != 1 else None for axis, size in enumerate(values.shape)),
        tuple(axis if size != 1 else None for axis, size in enumerate(order.shape)),
    ]


def take(node: Node) -> list[AxisMap]:
    """The axes of the indices stand where the axis was that they read."""
    values, index = node.operands
    at = node.parameters["axis"]
    return [
        tuple(None if axis == at else axis + (index.ndim - 1) * (axis > at) for axis in range(values.ndim)),
        tuple(range(at, at + index.ndim)),
    ]


def advanced_index(node: Node) -> list[AxisMap]:
    """``x[.., i, j]`` has the axes of the indices, which are broadcast, where those were that they read."""
    values, *indices = node.operands
    index = node.parameters["index"]
    first = index.count(FULL)
    if not all(item == FULL for item in index[:first]):
        return nothing(node)
    count = node.ndim - (values.ndim - len(indices))
    end = first + len(indices)
    rows = tuple(
        axis if axis < first else None if axis < end else axis - len(indices) + count for axis in range(values.ndim)
    )
    batch = [aligned(part, node.shape[first : first + count]) for part in indices]
    return [rows, *(tuple(None if axis is None else first + axis for axis in axes) for axes in batch)]
