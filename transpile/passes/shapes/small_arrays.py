"""Small arrays whose elements are known individually, written as a person would: ``np.array([[c, s], [-s, c]])`` for
rows that are joined, for elements that are written into zeros, and for one element with zeros around it.

They become a reshaped row of numbers, which libraries that take numbers in lists write as a list of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node, Slot
from ...array.program import Function
from ...array.rewriting import rewrite
from ...array.scalars import MOST_NUMBERS
from ...array.support import Support
from ...array.value import getitem, only_element

_DEEPEST = 4  # nested arrays
_MOST_AROUND = 8  # elements of a row with one that is not a number
_Elements = dict[tuple[int, ...], Node]  # by index


def small_arrays(function: Function, supports: Support) -> None:
    """Write arrays that are joined from single elements, or modified one by one, as a row of elements, reshaped."""
    graph, live = function.graph, live_nodes(function)

    def rule(node: Node) -> Node | None:
        if node.ndim not in (1, 2) or not 1 < prod(node.shape) <= MOST_NUMBERS or node.type.is_extension:
            return None
        found = _FOUND.get(node.opcode, _joined)(graph, live, node)
        if found is None or all(element.is_literal for element in found):
            return None
        row = graph.add("stack", tuple(found), axis=0)
        return row if node.ndim == 1 else graph.add("reshape", (row,), shape=node.shape)

    rewrite(function, ("concatenate", "stack", "setitem", "pad"), rule, supports)


def _padded(graph: Graph, live: LiveNodes, node: Node) -> list[Node] | None:
    """The elements of a row of one element, with numbers before and after it."""
    row, fill = node.operands
    if row.shape != (1,) or not fill.is_literal or node.shape[0] > _MOST_AROUND:
        return None
    ((before, after),) = node.parameters["widths"]
    return [fill] * before + (_elements(graph, row, _DEEPEST) or [getitem(graph, row, (0,))]) + [fill] * after


def _joined(graph: Graph, live: LiveNodes, node: Node) -> list[Node] | None:
    """The elements of operands joined along the first axis, if none is a part of a longer array."""
    if not _is_in_order(node) or (node.opcode == "stack" and node.ndim == 1):
        return None
    return _all_of(graph, node.operands, _DEEPEST)


def _is_in_order(node: Node) -> bool:
    """Whether the elements of the operands, one operand after another, are in the order of the result's elements."""
    return prod(node.shape[: node.parameters["axis"]]) == 1


def _all_of(graph: Graph, nodes: tuple[Node, ...], depth: int) -> list[Node] | None:
    found: list[Node] = []
    for node in nodes:
        own = _elements(graph, node, depth)
        if own is None:
            return None
        found += own
    return found


def _elements(graph: Graph, node: Node, depth: int) -> list[Node] | None:
    """The elements of an array in row-major order, or None."""
    if not node.ndim:
        return None if node.is_python_int else [node]
    if depth == 0 or not 0 < prod(node.shape) <= MOST_NUMBERS:
        return None
    if node.opcode == "array":
        return [graph.literal(value, node.type) for value in node.parameters["constant"].array.flat]
    if node.operation.is_filled and node.operands[0].is_literal:
        return [node.operands[0]] * prod(node.shape)
    if (number := only_element(graph, node)) is not None:
        return _elements(graph, number, depth)
    if node.opcode in ("expand", "reshape"):
        return _elements(graph, node.operands[0], depth - 1)
    if node.opcode in ("stack", "concatenate") and _is_in_order(node):
        return _all_of(graph, node.operands, depth - 1)
    return None


def _written(graph: Graph, live: LiveNodes, node: Node) -> list[Node] | None:
    """The elements of an array of zeros, or of another number, of which at least half are written one by one."""
    if any(user.opcode == "setitem" and user.operands[0] is node for user in live.users(node)):
        return None  # only the last update is considered
    written: _Elements = {}
    for place, value in _changes(live, node):
        written.setdefault(place, value)
        (node, *_) = node.operands
    places = list(np.ndindex(node.shape))
    if not (node.operation.is_filled and node.operands[0].is_literal) or not set(written) <= set(places):
        return None
    if 2 * len(written) < len(places) or len(written) < 2:
        return None
    return [written.get(place, node.operands[0]) for place in places]


def _changes(live: LiveNodes, node: Node) -> Iterator[tuple[tuple[int, ...], Node]]:
    """The index and value of each element that is written, last one first."""
    last = node
    while node.opcode == "setitem" and (node is last or live.count(node) == 1) and node.region is last.region:
        place, value = _place(node), node.operands[1]
        if place is None or value.ndim or value.is_python_int or value.element_type is not node.element_type:
            return
        yield place, value
        (node, *_) = node.operands


def _place(node: Node) -> tuple[int, ...] | None:
    """The index of the only element that is modified, if it is known."""
    index = node.parameters["index"]
    given = (node.operands[item.index].parameters.get("value") if isinstance(item, Slot) else item for item in index)
    place = tuple(item for item in given if isinstance(item, int))
    return place if len(place) == node.ndim else None


_FOUND = {"setitem": _written, "pad": _padded}
