"""The values that gradients inside a program are those of: ``d_hidden`` for ``d_logits @ kernel.T``.

Reverse differentiation multiplies the gradient of a product with one of its factors, which gives that of the other. The
gradient of ``np.maximum(x, 0)`` is that of ``x`` where ``x > 0``, that of ``-x`` with the other sign, and what is
squared has itself in its gradient.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..array.graph import Graph
from ..array.node import Node, literal_value
from .naming.layers import unviewed
from .naming.scopes import is_gradient


def value_gradients(graph: Graph, nodes: Sequence[Node]) -> dict[Node, Node]:
    """Return by gradient the value that it is the gradient of; ``nodes`` are the live ones of a function, in order."""
    gradients = [node for node in nodes if any(map(is_gradient, graph.results.get(node, ())))]
    if not gradients:
        return {}
    others = _factors(nodes, set(gradients))
    squared = {value for node in nodes if (value := square_of(node)) is not None} - set(gradients)
    found: dict[Node, Node] = {}
    for node in gradients:
        of: set[Node] = set()
        if node.operation.is_product:
            of = {other for factor in node.operands for other in others.get(unviewed(factor), ())}
        elif node.opcode == "add":  # what several users of a value contribute
            of = {found[each] for each in node.operands if each in found}
        elif node.opcode == "select":
            of = _chosen(node)
        elif node.opcode == "multiply":
            of = {_scaled(node)} & squared
        elif node.opcode == "negate":
            less = found.get(node.operands[0])
            of = {less.operands[1]} if less is not None and less.opcode == "subtract" else of
        alike = [value for value in of if value.shape == node.shape and value.element_type is node.element_type]
        if len(alike) == 1:
            found[node] = alike[0]
    return found


def _factors(nodes: Sequence[Node], gradients: set[Node]) -> dict[Node, set[Node]]:
    """The factors that each value is multiplied with in products that are of no gradient."""
    found: dict[Node, set[Node]] = {}
    for node in nodes:
        if node.operation.is_product and node not in gradients and len(node.operands) == 2:
            a, b = map(unviewed, node.operands)
            found.setdefault(a, set()).add(b)
            found.setdefault(b, set()).add(a)
    return found


def _chosen(node: Node) -> set[Node]:
    """``np.where(x > 0, d_y, 0)`` is the gradient of the ``x`` of ``np.maximum(x, 0)``."""
    mask, _, otherwise = node.operands
    if mask.opcode != "compare" or mask.parameters["direction"] != "GT":
        return set()
    literals = [each for each in (mask.operands[1], otherwise) if each.is_literal and literal_value(each) == 0]
    return {mask.operands[0]} if len(literals) == 2 else set()


def square_of(node: Node) -> Node | None:
    """Return the value that a node squares, element by element; None for other nodes."""
    is_product = node.opcode == "multiply" and node.operands[0] is node.operands[1]
    return node.operands[0] if is_product or node.opcode == "square" else None


def _scaled(node: Node) -> Node:
    """Return what numbers are multiplied with."""
    while node.opcode == "multiply" and node.operands[1].is_literal:
        node = node.operands[0]
    return node
