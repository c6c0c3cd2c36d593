"""Gathers of element-wise results: the operands are gathered instead, so that the result is not stored.

The elements of a log-softmax that labels select need only the logits there, and the maximum and sum of each row.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ...array.graph import Graph
from ...array.live import live_nodes
from ...array.node import Node, Slot
from ...array.program import Function
from ...array.rewriting import rewrite
from ...array.value import FULL, NEW, getitem
from ...hlo.element_types import PRED
from ...kernels.gathers import Gather, counted_axis, gather_of, index_type, is_within

_FEWER = 4  # at most one in this many elements is gathered
_MOST_OPERATIONS = 8  # computed from gathered elements


def early_gathers(function: Function, fuses: Callable[[Node], bool]) -> None:
    """Move gathers of single elements, with a fill value for indices out of bounds, before operations whose result only
    they read.
    """
    live = live_nodes(function)

    def rule(node: Node) -> Node | None:
        gather = gather_of(node)
        if gather is None:
            return None
        array = gather.array
        is_own = live.count(array) == 1 and array.region is node.region
        if not is_own or prod(node.shape) * _FEWER > prod(array.shape):
            return None
        if node.opcode == "take_along_axis":
            return _of_each_line(function.graph, node, fuses)
        if gather.fill is None or len(gather.indices) != array.ndim:
            return None
        return _Moved(function.graph, node, gather, fuses).made()

    rewrite(function, ("prelude", "take_along_axis"), rule)
    rewrite(function, ("take",), lambda node: _taken_at_once(function.graph, node))


def _taken_at_once(graph: Graph, node: Node) -> Node | None:
    """Two takes along adjacent axes become one index: ``x[:, rows[:, None], columns]``."""
    (inner, outer_index), outer_axis = node.operands, node.parameters["axis"]
    if inner.opcode != "take":
        return None
    (x, inner_index), inner_axis = inner.operands, inner.parameters["axis"]
    by_axis = sorted([(inner_axis, inner_index), (outer_axis, outer_index)], key=lambda pair: pair[0])
    (first, rows), (second, columns) = by_axis
    are_within = all(index.ndim == 1 and is_within(index, 0, x.shape[axis]) for axis, index in by_axis)
    if second != first + 1 or not are_within:
        return None
    places = (FULL,) * first + (Slot(1), Slot(2))
    return graph.add("advanced_index", (x, _in_column(graph, rows), columns), index=places)


def _in_column(graph: Graph, index: Node) -> Node:
    """An index of shape [n, 1]; a counted index is computed in that shape, so that a kernel can compute it beside
    another one.
    """
    if not index.operation.is_elementwise or not all(x.is_literal or x.opcode == "arange" for x in index.operands):
        return getitem(graph, index, [FULL, NEW])
    operands = tuple(x if x.is_literal else getitem(graph, x, [FULL, NEW]) for x in index.operands)
    return graph.typed(index.opcode, operands, (*index.shape, 1), index.element_type, **index.parameters)


def _of_each_line(graph: Graph, node: Node, fuses: Callable[[Node], bool]) -> Node | None:
    """Elements along each line of a value computed from one array and from per-line numbers, computed from that array's
    elements.
    """
    (array, index), axis = node.operands, node.parameters["axis"] % node.ndim
    operations = arrays = 0

    def gathered(x: Node) -> Node | None:
        """An operand at the indices; None where gathering it costs more than it saves."""
        nonlocal operations, arrays
        behind = axis - (array.ndim - x.ndim)
        if behind < 0 or x.shape[behind] == 1:
            return x
        if x.shape != array.shape:
            return None
        if not _is_computed(x, fuses):
            arrays += x.opcode != "parameter"
            return graph.add("take_along_axis", (x, index), axis=axis) if arrays <= 1 else None
        operations += 1
        operands = tuple(map(gathered, x.operands)) if operations <= _MOST_OPERATIONS else (None,)
        known = tuple(operand for operand in operands if operand is not None)
        if len(known) < len(operands):
            return None
        return graph.typed(x.opcode, known, node.shape, x.element_type, **x.parameters)

    return gathered(array) if _is_computed(array, fuses) else None


def _is_computed(x: Node, fuses: Callable[[Node], bool]) -> bool:
    return x.operation.is_elementwise and not x.operation.joins and gather_of(x) is None and fuses(x)


class _Moved:
    """One gather, replaced by gathers of the operands of its array."""

    def __init__(self, graph: Graph, node: Node, gather: Gather, fuses: Callable[[Node], bool]) -> None:
        self.graph, self.node, self.gather, self.fuses = graph, node, gather, fuses
        self.shape = gather.array.shape
        self.counted = {
            axis: counted_axis(index, self.shape[axis], node.ndim) for axis, index in gather.indices.items()
        }
        self.operations = self.arrays = 0
        self.places: tuple[Node, ...] = ()

    def made(self) -> Node | None:
        array = self.gather.array
        if not _is_computed(array, self.fuses) or not self._fits(array):
            return None
        tests: list[Node] = []
        self.places = tuple(self._place(axis, index, tests) for axis, index in self.gather.indices.items())
        value = self._gathered(array)
        for test in tests:
            value = self.graph.add("select", (test, value, self.graph.literal(self.gather.fill, self.node.type)))
        return value

    def _fits(self, x: Node) -> bool:
        """Whether everything an array is computed from can be gathered, and includes at most one array that may have to
        be stored.
        """
        if not x.ndim or self._of_rows(x) is not None:
            return True
        if x.shape != self.shape:
            return False
        if not _is_computed(x, self.fuses):
            self.arrays += x.opcode != "parameter"
            return self.arrays <= 1
        self.operations += 1
        is_whole = any(operand.shape == self.shape for operand in x.operands)
        return self.operations <= _MOST_OPERATIONS and is_whole and all(map(self._fits, x.operands))

    def _of_rows(self, x: Node) -> list[int] | None:
        """The axes of the result along which the indices into an operand's axes count; None if an axis is indexed
        otherwise.
        """
        own = range(len(self.shape) - x.ndim, len(self.shape))
        axes = [self.counted[axis] for axis, size in zip(own, x.shape, strict=True) if size != 1]
        found = [axis for axis in axes if axis is not None]
        return found if len(found) == len(axes) and found == sorted(set(found)) else None

    def _place(self, axis: int, index: Node, tests: list[Node]) -> Node:
        """An index clipped to its axis; its bounds tests are appended to ``tests``."""
        size, kind, graph = self.shape[axis], index_type(index), self.graph
        if is_within(index, 0, size):
            return index
        place = index if index.type is kind else graph.add("convert", (index,), element_type=kind)
        first, last = graph.literal(0, kind), graph.literal(size - 1, kind)
        if index.type.is_signed:
            behind = graph.add("add", (place, graph.literal(size, kind)))
            place = graph.add("select", (graph.add("compare", (place, first), direction="LT"), behind, place))
        is_inside = [graph.add("compare", (place, first), direction="GE")] if index.type.is_signed else []
        is_inside.append(graph.add("compare", (place, last), direction="LE"))
        tests.append(is_inside[0] if len(is_inside) == 1 else graph.add("and", tuple(is_inside)))
        assert tests[-1].type is PRED
        return graph.add("clamp", (first, place, last), interval=(0, size - 1))

    def _gathered(self, x: Node) -> Node:
        graph = self.graph
        if not x.ndim:
            return x
        along = self._of_rows(x)
        if along is not None:
            part = getitem(graph, x, [FULL if size != 1 else 0 for size in x.shape])
            missing = [FULL if axis in along else NEW for axis in range(min(along, default=0), self.node.ndim)]
            return getitem(graph, part, missing) if along and NEW in missing else part
        if not _is_computed(x, self.fuses):
            return graph.add("advanced_index", (x, *self.places), index=tuple(map(Slot, range(1, x.ndim + 1))))
        operands = tuple(map(self._gathered, x.operands))
        return graph.typed(x.opcode, operands, self.node.shape, x.element_type, **x.parameters)
