"""HLO values as (node, axis map): broadcasts, transposes and unit axes cost nothing until the shape is needed.

``axes[d]`` is the node's axis for logical dimension ``d``, or None if the dimension is broadcast or of size 1. Every
axis of the node is mapped. A broadcast, a transpose or a reshape that inserts unit dimensions only edits the map;
NumPy's own broadcasting does the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from ..dataclass import dataclass
from .graph import Graph
from .node import Constant, Node, Slot, literal_value

FULL = ":"  # a whole axis, in an index
NEW = None  # a new unit axis, in an index
MOST_COPIED = 64  # elements of a constant array that is stored again in another shape


@dataclass(frozen=True, slots=True)
class Value:
    """An HLO array: a node seen through an axis map.

    ``sizes`` are the dimensions whose size is known only at run time, each with the node of the size; ``shape`` then
    has the upper bound.
    """

    node: Node
    axes: tuple[int | None, ...]
    shape: tuple[int, ...]
    sizes: tuple[tuple[int, Node], ...] = ()

    @staticmethod
    def of(node: Node) -> Value:
        """Return the value of a node with the identity map."""
        return Value(node, tuple(range(node.ndim)), node.shape)

    @staticmethod
    def repeated(node: Node, shape: tuple[int, ...]) -> Value:
        """Return a 0-d node broadcast to ``shape``."""
        return Value(node, (None,) * len(shape), shape)

    @property
    def is_plain(self) -> bool:
        """Whether the node already has the logical shape."""
        return self.axes == tuple(range(len(self.axes))) and self.node.shape == self.shape

    def repeats(self, dimension: int) -> bool:
        """Return whether the value is broadcast along a dimension."""
        return self.axes[dimension] is None and self.shape[dimension] != 1


def permute(graph: Graph, node: Node, order: Sequence[int]) -> Node:
    """Return the transpose of a node. The identity adds no node, a transpose of a transpose one, a filled array its
    like.
    """
    order = tuple(order)
    if order == tuple(range(node.ndim)):
        return node
    if is_of_one_number(node):
        return filled(graph, node.operands[0], tuple(node.shape[axis] for axis in order))
    if node.opcode == "transpose":
        inner = node.parameters["axes"]
        return permute(graph, node.operands[0], tuple(inner[axis] for axis in order))
    return graph.add("transpose", (node,), axes=order)


def transposed(graph: Graph, node: Node) -> Node:
    """Return the transposes of matrices [.., m, n]."""
    return permute(graph, node, last_two_swapped(node.ndim))


def last_two_swapped(ndim: int) -> tuple[int, ...]:
    """Return the order of axes that transposes matrices."""
    return (*range(ndim - 2), ndim - 1, ndim - 2)


def strong(graph: Graph, node: Node) -> Node:
    """Return a Python int as a NumPy scalar of its HLO type, and any other node unchanged."""
    if not node.is_python_int or node.element_type is None:
        return node
    return graph.add("scalar", (node,), element_type=node.element_type)


def getitem(graph: Graph, node: Node, index: Sequence[Any]) -> Node:
    """Return a static index of a node. Items are FULL, NEW, an int or a (start, stop, step) with Python's meaning."""
    items = tuple(index)
    if all(item == FULL for item in items):
        return node
    if node.opcode in ("expand", "getitem") and len(node.operands) == 1:
        (source,) = node.operands
        composed = _composed(node.parameters["index"], items, source.shape)
        if composed is not None:
            return getitem(graph, source, composed)
    if node.opcode == "stack" and len(items) > node.parameters["axis"] and NEW not in items:
        axis = node.parameters["axis"]
        if isinstance(items[axis], int):
            return getitem(graph, node.operands[items[axis]], items[:axis] + items[axis + 1 :])
    if (part := _of_part(graph, node, items)) is not None:
        return part
    if _drops_unit_axes(node, items):
        table = node.parameters["constant"].array
        part = table.reshape([n for n, item in zip(table.shape, items, strict=True) if item == FULL])
        return graph.add(
            "array", (), element_type=node.element_type, interval=node.interval, constant=Constant.of(part)
        )
    node = strong(graph, node)
    opcode = "expand" if all(item is NEW or item == FULL for item in items) else "getitem"
    part = graph.add(opcode, (node,), index=items)
    return filled(graph, node.operands[0], part.shape) if is_of_one_number(node) and part.ndim else part


def only_element(graph: Graph, node: Node) -> Node | None:
    """Return the only element of an array of unit axes, if it is available as a scalar."""
    if not node.ndim or set(node.shape) != {1}:
        return None
    if node.opcode == "expand" or node.operation.is_filled:
        return node.operands[0] if not node.operands[0].ndim else None
    if node.opcode == "call":
        return getitem(graph, node, (0,) * node.ndim)
    if node.opcode == "getitem" and len(node.operands) == 1:
        number = getitem(graph, node, (0,) * node.ndim)
        return None if number.operands[0] is node else number
    return None


def read_index(index: Sequence[Any]) -> tuple[Any, ...]:
    """Return the index of a read for the index of a write: updates have one more operand before the indices."""

    def read(item: Any) -> Any:
        if isinstance(item, Slot):
            return Slot(item.index - 1)
        return tuple(map(read, item)) if isinstance(item, tuple) else item

    return tuple(map(read, index))


def _of_part(graph: Graph, node: Node, items: tuple[Any, ...]) -> Node | None:
    """Return the part of a concatenation or stack that an int along its axis selects, if that part is an ``expand``:
    ``np.array([x])``. None otherwise.
    """
    axis = node.parameters["axis"] if node.opcode == "concatenate" else node.ndim
    place = items[axis] if axis < len(items) and NEW not in items else None
    if not isinstance(place, int) or place < 0:
        return None
    for part in node.operands:
        if place < part.shape[axis]:
            if part.opcode != "expand":
                return None
            return getitem(graph, part, (*items[:axis], place, *items[axis + 1 :]))
        place -= part.shape[axis]
    return None


def _drops_unit_axes(node: Node, items: Sequence[Any]) -> bool:
    """Return whether an index only removes unit axes of a small constant array, and the result is still an array."""
    if node.opcode != "array" or node.parameters["constant"].array.size > MOST_COPIED or len(items) != node.ndim:
        return False
    units = all(item == FULL or (item == 0 and n == 1) for n, item in zip(node.shape, items, strict=True))
    return units and FULL in items


def _composed(inner: Sequence[Any], outer: Sequence[Any], shape: Sequence[int]) -> list[Any] | None:
    """Return the index equivalent to ``inner`` followed by ``outer`` on an array of ``shape``; None if no simple one
    exists.

    A unit axis that ``outer`` inserts where ``inner`` took one element is a slice of that element.
    """
    waiting = list(outer)
    composed: list[Any] = []
    axis = 0
    for item in inner:
        size = 1 if item is NEW else shape[axis]
        axis += item is not NEW
        if isinstance(item, int):
            composed.append(taken_positions(range(item, item + 1), size) if waiting and waiting[0] is NEW else item)
            if waiting and waiting[0] is NEW:
                waiting.pop(0)
            continue
        while waiting and waiting[0] is NEW:
            composed.append(waiting.pop(0))
        part = waiting.pop(0) if waiting else FULL
        if item is NEW:
            if part not in (FULL, 0):
                return None
            composed += [NEW] if part == FULL else []
        elif FULL in (item, part):
            composed.append(part if item == FULL else item)
        else:
            taken = range(size)[slice(*item)]
            taken = taken[part : part + 1] if isinstance(part, int) else taken[slice(*part)]
            if taken.step < 0:
                return None
            composed.append(taken.start if isinstance(part, int) else taken_positions(taken, size))
    return composed + waiting


def taken_positions(positions: range, size: int) -> Any:
    """Return the index item that selects these positions of an axis."""
    if positions == range(size):
        return FULL
    stop = positions.stop if positions.stop < size else None
    return positions.start or None, stop, positions.step if positions.step != 1 else None


def arranged(graph: Graph, value: Value, dimensions: Sequence[int]) -> Node:
    """Return the node with one axis for each of the given logical dimensions, in that order (size 1 if not mapped).

    ``dimensions`` must contain every mapped dimension. Leading unit axes are left to broadcasting.
    """
    axes = [value.axes[d] for d in dimensions]
    mapped = [axis for axis in axes if axis is not None]
    node = permute(graph, value.node, mapped)
    if len(mapped) == len(axes):
        return node
    index: list[Any] = [NEW if axis is None else FULL for axis in axes]
    while index and index[0] is NEW:
        index.pop(0)
    if NEW in index:
        node = getitem(graph, node, index)
    return node


def common_order(values: Sequence[Value]) -> list[int]:
    """Return the dimensions that any value maps: in the order of the axes if all values with axes agree, else in
    logical order.
    """
    orders = {_mapped_dimensions(axes) for axes in {value.axes for value in values}} - {()}
    return list(*orders) if len(orders) == 1 else sorted(set[int]().union(*orders))


@lru_cache(1024)
def _mapped_dimensions(axes: tuple[int | None, ...]) -> tuple[int, ...]:
    """Return the dimensions that an axis map maps, in the order of the axes."""
    return tuple(d for _, d in sorted((axis, d) for d, axis in enumerate(axes) if axis is not None))


def materialise(graph: Graph, value: Value) -> Node:
    """Return a node of exactly the logical shape."""
    node = value.node
    if value.is_plain:
        return node
    value = replace(value, node=strong(graph, node))
    if node.is_literal:
        return filled(graph, node, value.shape)
    node = arranged(graph, value, range(len(value.shape)))
    if node.shape == value.shape:
        return node
    lead = len(value.shape) - node.ndim
    if all(value.shape[d] == 1 for d in range(lead)) and node.shape == value.shape[lead:]:
        return getitem(graph, node, (NEW,) * lead + (FULL,) * node.ndim)
    return graph.add("broadcast_to", (node,), shape=value.shape)


def is_of_one_number(node: Node) -> bool:
    """Return whether a node is an array filled with one constant."""
    return node.operation.is_filled and bool(node.operands) and node.operands[0].is_literal


def filled(graph: Graph, literal: Node, shape: tuple[int, ...]) -> Node:
    """Return an array of one constant: ``np.zeros``, ``np.ones`` or ``np.full``."""
    value = literal_value(literal)
    parts = (value.real, value.imag) if value.dtype.kind == "c" else (value,)
    opcode = "full"
    if value in (0, 1) and not any(np.signbit(float(part)) for part in parts):
        opcode = "ones" if value else "zeros"
    return graph.add(opcode, (literal,), shape=shape)


def without_dimensions(graph: Graph, value: Value, dimensions: Sequence[int]) -> Value:
    """Return the value without some dimensions, whose axes must be unmapped or of size 1."""
    dropped = set(dimensions)
    axes_to_index = {value.axes[d] for d in dropped if value.axes[d] is not None}
    node = value.node
    if axes_to_index:
        node = getitem(graph, node, [0 if axis in axes_to_index else FULL for axis in range(node.ndim)])
    renumber: dict[int, int] = {}
    for axis in range(value.node.ndim):
        if axis not in axes_to_index:
            renumber[axis] = len(renumber)
    axes = tuple(renumber[axis] if axis is not None else None for d, axis in enumerate(value.axes) if d not in dropped)
    return Value(node, axes, tuple(size for d, size in enumerate(value.shape) if d not in dropped))
