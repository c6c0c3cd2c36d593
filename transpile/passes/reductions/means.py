"""``x.sum(axis) / n`` over all n elements as ``x.mean(axis)``, also if XLA replaced the division by a
multiplication.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import prod

from ...array.live import live_nodes
from ...array.node import Node, literal_value
from ...array.program import Function
from ...array.rewriting import rewrite
from ...array.support import Support


def means(function: Function, supports: Support) -> None:
    """Raise quotients of sums to means. A sum with other users stays a sum."""
    graph, uses = function.graph, live_nodes(function).count

    def rule(node: Node) -> Node | None:
        position = _sum_of_mean(node, uses, supports.features.coincidental_numbers)
        if position is None:
            return None
        total = node.operands[position]
        return graph.add("mean", total.operands, **total.parameters)

    rewrite(function, ("divide", "multiply"), rule, supports)


def _sum_of_mean(node: Node, uses: Callable[[Node], int], by_chance: Collection[float]) -> int | None:
    """Return the position of the sum if a node divides it by the number of its terms, which must not be ``by_chance``;
    or None.
    """
    if node.element_type is None or not node.type.is_floating:
        return None
    candidates = (0,) if node.opcode == "divide" else (0, 1)
    for position in candidates:
        total, factor = node.operands[position], node.operands[1 - position]
        if total.opcode != "sum" or not factor.is_literal or uses(total) != 1 or total.shape != node.shape:
            continue
        terms = total.operands[0]
        count = prod(terms.shape[axis] for axis in total.parameters["axes"])
        wanted = count if node.opcode == "divide" else terms.type.dtype.type(1) / terms.type.dtype.type(count or 1)
        value = literal_value(factor)
        if count and value == wanted and float(value) not in by_chance and total.element_type is node.element_type:
            return position
    return None
