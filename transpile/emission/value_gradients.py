"""Matches gradients inside a program with values: ``d_hidden`` for ``d_logits @ kernel.T``.

Reverse differentiation multiplies the gradient of a product with one of its factors to get the gradient of the other.
``np.where(x > 0, d_y, 0)`` is the gradient of the ``x`` in ``np.maximum(x, 0)``; the gradient of ``-x`` has the other
sign; a squared value is a factor of its own gradient. The gradient of a slice is padded to that of the whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..array.graph import Graph
from ..array.node import Node, Region, literal_value
from ..array.traversal import unviewed
from ..array.value import FULL
from .naming.scopes import instructions_of, is_differentiated, is_gradient

# A slice of a value: the region, the shape of the value, the start of the slice, and its shape.
_Part = tuple[Region, tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def value_gradients(graph: Graph, nodes: Sequence[Node]) -> dict[Node, Node]:
    """Return, by gradient, the value that it is the gradient of; ``nodes`` are a function's live nodes, in order."""
    gradients = [node for node in nodes if any(map(is_gradient, instructions_of(graph, node)))]
    if not gradients:
        return {}
    others = _factors(nodes, set(gradients))
    wholes = _wholes(graph, nodes, set(gradients))
    squared = {value for node in nodes if (value := square_of(node)) is not None} - set(gradients)
    found: dict[Node, Node] = {}
    for node in gradients:
        of: set[Node] = set()
        if node.operation.is_product:
            of = {other for factor in node.operands for other in others.get(unviewed(factor), ())}
        elif node.opcode == "add":  # the sum over the users of a value
            of = {found[each] for each in node.operands if each in found}
        elif node.opcode == "pad":
            of = wholes.get(_padded_part(node), set())
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
    """Return the factors that each value is multiplied with in products outside of gradients."""
    found: dict[Node, set[Node]] = {}
    for node in nodes:
        if node.operation.is_product and node not in gradients and len(node.operands) == 2:
            a, b = map(unviewed, node.operands)
            found.setdefault(a, set()).add(b)
            found.setdefault(b, set()).add(a)
    return found


def _wholes(graph: Graph, nodes: Sequence[Node], gradients: set[Node]) -> dict[_Part, set[Node]]:
    """Return the values that differentiated slices are taken from, by slice."""
    found: dict[_Part, set[Node]] = {}
    for node in nodes:
        if (
            node.opcode == "getitem"
            and node not in gradients
            and any(map(is_differentiated, graph.results.get(node, ())))
        ):
            (whole, *others), index = node.operands, node.parameters["index"]
            starts = _starts(index, whole.shape) if not others and node.ndim == whole.ndim else None
            if starts is not None:
                found.setdefault((node.region, whole.shape, starts, node.shape), set()).add(whole)
    return found


def _starts(index: Sequence[object], shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the starts of the slices in an index, or None if it has other items, or steps."""
    found = [0] * len(shape)
    for axis, item in enumerate(index):
        if isinstance(item, tuple):
            found[axis], _, step = slice(*item).indices(shape[axis])
            if step != 1:
                return None
        elif item != FULL:
            return None
    return tuple(found)


def _padded_part(node: Node) -> _Part:
    """Return the slice of a value in whose place a pad puts its operand."""
    widths: Sequence[tuple[int, int]] = node.parameters["widths"]
    return node.region, node.shape, tuple(before for before, _ in widths), node.operands[0].shape


def _chosen(node: Node) -> set[Node]:
    """Return the ``x`` of ``np.maximum(x, 0)`` for its gradient ``np.where(x > 0, d_y, 0)``; else an empty set."""
    mask, _, otherwise = node.operands
    if mask.opcode != "compare" or mask.parameters["direction"] != "GT":
        return set()
    literals = [each for each in (mask.operands[1], otherwise) if each.is_literal and literal_value(each) == 0]
    return {mask.operands[0]} if len(literals) == 2 else set()


def square_of(node: Node) -> Node | None:
    """Return the value that a node squares element by element, or None."""
    is_product = node.opcode == "multiply" and node.operands[0] is node.operands[1]
    return node.operands[0] if is_product or node.opcode == "square" else None


def _scaled(node: Node) -> Node:
    """Return a product's factor that is not a number."""
    while node.opcode == "multiply" and node.operands[1].is_literal:
        node = node.operands[0]
    return node
