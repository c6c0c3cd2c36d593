"""A loop that stores all elements of an array apart stores the array: ``ys[i] = y``, read as ``ys[i, 0]``, for
``preys[i] = y[0]`` and ``predators[i] = y[1]``.

Gradients save what a step reads, which are elements where the step takes its state apart.
"""

from __future__ import annotations

from functools import partial
from math import prod

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node, Region
from ...array.program import Function, Loop
from ...array.rewriting import rewrite
from ...array.support import Support
from ...array.traversal import is_inside
from ...array.value import getitem
from .dead_carries import unread_carries
from .loop_rows import is_row, of_all_rounds, read_by_rows, row_at

_Elements = dict[Node, tuple[Node, Node]]  # by the item of an element: the item of the rows, and the stored element
_Rows = dict[tuple[Node, Node, Region], Node]  # by the item of the rows, the counter, and where it is read


def whole_rows(function: Function, supports: Support) -> None:
    """Store arrays, in place of all their elements apart, where only other loops read them, by rows."""
    if not supports.features.arrays_are_mutable:
        return
    live = live_nodes(function)
    elements: _Elements = {}
    for node in live.of(("loop",)):
        for source, items in _stored_apart(node, live).items():
            rows = of_all_rounds(function.graph, node, source, next(iter(items.values())).shape[0])
            elements.update((item, (rows, stored)) for stored, item in items.items())
    if elements:
        function.live = None
        rewrite(function, ("getitem",), partial(_of_rows, function.graph, elements, {}))
        unread_carries(function, supports)


def _stored_apart(node: Node, live: LiveNodes) -> dict[Node, dict[Node, Node]]:
    """Return the arrays all of whose elements a loop stores: the items of its outputs by the stored elements."""
    loop: Loop = node.parameters["loop"]
    found: dict[Node, dict[Node, Node]] = {}
    for value, item in read_by_rows(node, live).items():
        if _is_element(value) and is_inside(value.operands[0].region, loop.region):
            found.setdefault(value.operands[0], {})[value] = item
    return {source: items for source, items in found.items() if 1 < len(items) == prod(source.shape)}


def _is_element(value: Node) -> bool:
    return (
        value.opcode == "getitem"
        and len(value.operands) == 1
        and value.ndim == 0
        and all(isinstance(place, int) and place >= 0 for place in value.parameters["index"])
    )


def _of_rows(graph: Graph, elements: _Elements, known: _Rows, node: Node) -> Node | None:
    """Return an element of a row in place of a row of elements."""
    if node.operands[0] not in elements or not is_row(node):
        return None
    rows, stored = elements[node.operands[0]]
    key = rows, node.operands[1], node.region
    if key not in known:
        known[key] = row_at(graph, rows, node.operands[1])
    with graph.coming_as(stored, graph):
        return graph.valued(getitem(graph, known[key], stored.parameters["index"]), stored, graph)
