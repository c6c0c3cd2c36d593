"""``(x * weights).sum(axis=-1)`` of many elements as ``x @ weights``, which makes no array of products."""

from __future__ import annotations

from math import prod

from ...array.graph import Graph
from ...array.node import Node
from ...array.program import Function
from ...array.support import Support
from ..rewriting.patterns import Bindings
from ..rewriting.rules import FloatRule, apply_rules

_MANY_ELEMENTS = 1 << 16


def _product(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return the product of an array with a vector along its last axis, or None."""
    weights, x = sorted(found["product"].operands, key=lambda operand: operand.ndim)
    is_last = found["axes"] == (x.ndim - 1,) and not found["kept"]
    is_vector = weights.ndim == 1 and x.ndim > 1 and weights.shape == x.shape[-1:]
    if not (is_last and is_vector) or prod(x.shape) < _MANY_ELEMENTS or node.element_type is not x.element_type:
        return None
    return graph.add("matmul", (x, weights))


RULES = (FloatRule("sum((product := multiply(x, y)), axes=axes, keepdims=kept)", _product, once=("product",)),)


def weighted_sums(function: Function, supports: Support) -> None:
    """Raise them if operations are passes over memory."""
    if supports.features.operations_are_passes:
        apply_rules(function, RULES, supports)
