"""The values that gradients inside a program are those of: ``d_hidden`` for ``d_logits @ kernel.T``.

Reverse differentiation multiplies the gradient of a product with one of its factors, which gives that of the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..array.graph import Graph
from ..array.node import Node
from .context_names import is_gradient
from .layer_names import unviewed


def value_gradients(graph: Graph, nodes: Sequence[Node]) -> dict[Node, Node]:
    """Return by gradient the value that it is the gradient of; ``nodes`` are the live ones of a function, in order."""
    gradients = [node for node in nodes if any(map(is_gradient, graph.results.get(node, ())))]
    others = _factors(nodes, set(gradients)) if gradients else {}
    found: dict[Node, Node] = {}
    for node in gradients:
        if node.operation.is_product:
            of = {other for factor in node.operands for other in others.get(unviewed(factor), ())}
        else:  # what several users of a value contribute
            of = {found[each] for each in node.operands if each in found} if node.opcode == "add" else set()
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
