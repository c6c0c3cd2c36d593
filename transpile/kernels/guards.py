"""Indices without guards, in a loop over an interval of positions: ``x[i - k]`` for ``k <= i``.

A guard counts a negative index from the end of its axis. Elements outside of the interval are not computed.
"""

from __future__ import annotations

from math import inf

from ..array.affine import Affine, combined, integer_value
from ..array.graph import Graph
from ..array.node import Node

_STAYING = frozenset("sum prod max min mean literal parameter arange".split())


def unguarded(graph: Graph, x: Node, position: Node, low: Node, behind: Node) -> Node:
    """Return a value without the guards that do nothing at positions from ``low`` to before ``behind``."""
    made: dict[Node, Node] = {}

    def without(node: Node) -> Node:
        if node in made:
            return made[node]
        place = _guarded(node)
        if place is not None and _is_positive(place, position, low, behind):
            made[node] = without(place)
        elif node.opcode in _STAYING or node.results:
            made[node] = node
        else:
            operands = tuple(map(without, node.operands))
            made[node] = node if operands == node.operands else _with_operands(graph, node, operands)
        return made[node]

    return without(x)


def _with_operands(graph: Graph, node: Node, operands: tuple[Node, ...]) -> Node:
    how = node.parameters
    made = graph.typed(node.opcode, operands, node.shape, node.element_type, interval=node.interval, **how)
    return graph.valued(made, node, graph)


def _guarded(node: Node) -> Node | None:
    """Return ``i`` for ``i + size if i < 0 else i``, or None."""
    if node.opcode != "select" or node.operands[0].opcode != "compare":
        return None
    test, _, place = node.operands
    is_guard = test.parameters["direction"] == "LT" and test.operands[0] is place
    return place if is_guard and integer_value(test.operands[1]) == 0 else None


def _is_positive(place: Node, position: Node, low: Node, behind: Node) -> bool:
    """Return whether a place is at least 0 at all positions."""
    terms, constant = _sum(place)
    factor = terms.get(position, 0)
    others = {term: each for term, each in terms.items() if term is not position}
    (at_end, number) = _sum(low) if factor > 0 else _sum(behind)
    if factor not in (1, -1):
        return False
    least = combined("add" if factor > 0 else "subtract", (others, constant), (at_end, number - (factor < 0)))
    assert least is not None
    return least[1] + sum(_least(*each) for each in least[0].items()) >= 0


def _least(term: Node, factor: int) -> float:
    return min(factor * bound for bound in term.interval or (-inf, inf))


def _sum(node: Node) -> Affine:
    """Return an integer as a sum; sums that may wrap around, and all other nodes, are terms of their own."""
    value = integer_value(node)
    if value is not None:
        return {}, value
    if node.opcode in ("add", "subtract") and node.interval is not None:
        return combined(node.opcode, *map(_sum, node.operands)) or ({node: 1}, 0)
    if node.opcode == "convert" and node.interval is not None and node.operands[0].type.is_integral:
        return _sum(node.operands[0])
    return {node: 1}, 0
