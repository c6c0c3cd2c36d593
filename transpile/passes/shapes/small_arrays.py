"""Small arrays whose elements are known one by one, as a person writes them: ``np.array([[c, s], [-s, c]])`` for rows
that are joined, and for elements that are written into zeros.

They are a row of numbers in another shape, which libraries that take numbers in lists write as a list of rows.
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
from ...array.value import getitem

_DEEPEST = 4  # arrays of arrays
_Elements = dict[tuple[int, ...], Node]  # by their places


def small_arrays(function: Function, supports: Support) -> None:
    """Write what is joined of single elements, or changed one by one, as a row of its elements in its shape."""
    graph, live = function.graph, live_nodes(function)

    def rule(node: Node) -> Node | None:
        if node.ndim not in (1, 2) or not 1 < prod(node.shape) <= MOST_NUMBERS or node.type.is_extension:
            return None
        found = _written(graph, live, node) if node.opcode == "setitem" else _joined(graph, node)
        if found is None or all(element.is_literal for element in found):
            return None
        row = graph.add("stack", tuple(found), axis=0)
        return row if node.ndim == 1 else graph.add("reshape", (row,), shape=node.shape)

    rewrite(function, ("concatenate", "stack", "setitem"), rule, supports)


def _joined(graph: Graph, node: Node) -> list[Node] | None:
    """Return the elements of what is joined along its first axis, where none of them is a part of a longer array."""
    if not _is_in_order(node) or (node.opcode == "stack" and node.ndim == 1):
        return None
    return _all_of(graph, node.operands, _DEEPEST)


def _is_in_order(node: Node) -> bool:
    """Tell whether the elements of what is joined follow each other as those of the whole do."""
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
    """Return the elements of an array in the order of its rows, or None."""
    if not node.ndim:
        return None if node.is_python_int else [node]
    if depth == 0 or not 0 < prod(node.shape) <= MOST_NUMBERS:
        return None
    if node.opcode == "array":
        return [graph.literal(value, node.type) for value in node.parameters["constant"].array.flat]
    if node.operation.is_filled and node.operands[0].is_literal:
        return [node.operands[0]] * prod(node.shape)
    if node.opcode == "getitem" and prod(node.shape) == 1 and len(node.operands) == 1:
        number = getitem(graph, node, (0,) * node.ndim)
        return None if number.operands[0] is node else [number]
    if node.opcode in ("expand", "reshape"):
        return _elements(graph, node.operands[0], depth - 1)
    if node.opcode in ("stack", "concatenate") and _is_in_order(node):
        return _all_of(graph, node.operands, depth - 1)
    return None


def _written(graph: Graph, live: LiveNodes, node: Node) -> list[Node] | None:
    """Return the elements of zeros, or another number, of which at least half are written one by one."""
    if any(user.opcode == "setitem" and user.operands[0] is node for user in live.users(node)):
        return None  # the last of them
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
    """Each place that is written, and its element, the last first."""
    last = node
    while node.opcode == "setitem" and (node is last or live.count(node) == 1) and node.region is last.region:
        place, value = _place(node), node.operands[1]
        if place is None or value.ndim or value.is_python_int or value.element_type is not node.element_type:
            return
        yield place, value
        (node, *_) = node.operands


def _place(node: Node) -> tuple[int, ...] | None:
    """The place of the only element that is changed, if that is known."""
    index = node.parameters["index"]
    given = (node.operands[item.index].parameters.get("value") if isinstance(item, Slot) else item for item in index)
    place = tuple(item for item in given if isinstance(item, int))
    return place if len(place) == node.ndim else None
