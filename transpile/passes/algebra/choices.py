"""A sum of two numbers, of which a mask sets one or the other to 0, is a selection by the mask; likewise a difference.

Gradients of ``np.where`` contain such sums, those of ``abs`` such differences; another term may have been added before
the second, and slopes of lines scale what is left. A float sum is never -0, as one term is +0: if the selection may be
-0 and something can observe it, 0 is added to it. In a selection from a difference, the second part is still subtracted
from 0.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node, literal_value
from ...array.program import Function
from ...array.rewriting import rewrite
from ...array.support import Support
from ...dataclass import dataclass
from ...hlo.element_types import PRED
from .magnitudes import has_no_sign
from .signed_zeros import is_never_minus_zero, sign_is_told

_DEEPEST = 3  # nested multiplications by slopes


@dataclass(frozen=True, slots=True)
class _Part:
    """A number that is ``left`` where a mask is ``where``, and 0 elsewhere."""

    mask: Node
    where: bool
    left: Node


def choices(function: Function, supports: Support) -> None:
    """Raise sums of masked values to selections."""
    made = partial(_chosen, function.graph, live_nodes(function))
    rewrite(function, ("add", "subtract"), made, supports)


def _chosen(graph: Graph, live: LiveNodes, node: Node) -> Node | None:
    """A sum or difference of two parts as a selection; None for others."""
    if node.element_type is None or node.type is PRED or node.type.is_complex:
        return None
    for before, first, second in _terms(graph, live, node):
        if first is None or second is None or first.mask is not second.mask or first.where is second.where:
            continue
        chosen = _choice(graph, first, second, is_sum=node.opcode == "add")
        if before is not None:
            chosen = graph.add("add", (before, chosen))
        if chosen.shape != node.shape:
            continue
        is_exact = node.opcode == "subtract" or node.type.is_integral or (before and is_never_minus_zero(before))
        if is_exact or has_no_sign(chosen) or not sign_is_told(live, node):
            return chosen
        return graph.add("add", (chosen, graph.literal(0, node.type)))
    return None


def _terms(graph: Graph, live: LiveNodes, node: Node) -> list[tuple[Node | None, _Part | None, _Part | None]]:
    """All ways to read a sum or a difference as (what was added before, the first part, the second part)."""
    one, other = node.operands
    part = partial(_part, graph, live)
    found: list[tuple[Node | None, _Part | None, _Part | None]] = [(None, part(one), part(other))]
    orders = ((one, other), (other, one)) if node.opcode == "add" else ((one, other),)
    for total, last in orders:
        if total.opcode == "add" and live.count(total) == 1 and (second := part(last)) is not None:
            a, b = total.operands
            found += [(a, part(b), second), (b, part(a), second)]
    return found


def _part(graph: Graph, live: LiveNodes, node: Node, depth: int = _DEEPEST) -> _Part | None:
    """A masked number that nothing else reads; None for other nodes."""
    if live.count(node) != 1 or node.is_literal:
        return None
    if node.opcode == "convert" and node.operands[0].element_type is PRED and not node.type.is_extension:
        return _Part(node.operands[0], True, graph.literal(1, node.type))
    if node.opcode == "select":
        mask, one, other = node.operands
        sides = [(True, one)] * _is_zero(other) + [(False, other)] * _is_zero(one)
        return _Part(mask, *sides[0]) if len(sides) == 1 else None
    if node.opcode != "multiply" or not depth or not _is_slope(node.operands[1]):
        return None
    inner = _part(graph, live, node.operands[0], depth - 1)
    return inner and _Part(inner.mask, inner.where, graph.add("multiply", (inner.left, node.operands[1])))


def _is_zero(node: Node) -> bool:
    """Whether a node is the literal 0, but not -0."""
    return node.is_literal and not literal_value(node).any() and not np.signbit(literal_value(node)).any()


def _is_slope(node: Node) -> bool:
    """Whether multiplication by a node keeps 0, with its sign."""
    return node.is_literal and node.type.is_floating and bool(0 < literal_value(node) < np.inf)


def _choice(graph: Graph, first: _Part, second: _Part, *, is_sum: bool) -> Node:
    """Select the first part, or the second with its sign."""
    last = second.left if is_sum else graph.add("subtract", (graph.literal(0, second.left.type), second.left))
    sides = (first.left, last) if first.where else (last, first.left)
    return first.left if sides[0] is sides[1] else graph.add("select", (first.mask, *sides))
