"""Choices that are known where they are read: by the same mask once more, or by a comparison that tells them apart.

``where(m, x, where(m, y, z))`` never takes ``y``. ``where(isnan(x), 0, x) == inf`` holds where ``x == inf`` does, since
neither NaN nor 0 is inf: the gradient of ``nan_to_num`` asks so. And ``stack([a, b, False]).any()`` is ``a | b``.
"""

from __future__ import annotations

from typing import Any

from ...array.graph import Graph
from ...array.node import Node, literal_value
from ...array.program import Function
from ...array.rewriting import rewrite
from ...array.support import Support
from ...hlo.element_types import PRED
from ..matching import Bindings, pattern
from ..rules import Rule, apply_rules

_MOST_MASKS = 4  # that are joined by operators
_DEEPEST = 4  # choices within each other
_JOINED_BY = {"any": "or", "all": "and"}


def _compared(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Compare what the choice is made from, where that decides."""
    number = literal_value(found["B"])
    source = _source(found["choice"], number, _DEEPEST)
    if source is found["choice"] or number != number or source.shape != node.shape:
        return None
    return graph.add("compare", (source, found["B"]), direction="EQ")


def _source(node: Node, number: Any, depth: int) -> Node:
    """Return the array that is a number where a node is: without choices of other numbers for its NaN, or for other
    numbers of its.
    """
    while node.opcode == "select" and depth:
        mask, chosen, other = node.operands
        tested = _tested(mask, number)
        if tested is None or not chosen.is_literal or literal_value(chosen) == number:
            return node
        depth -= 1
        if _source(tested, number, depth) is not _source(other, number, depth):
            return node
        node = other
    return node


def _tested(mask: Node, number: Any) -> Node | None:
    """Return the array of which a mask tells where it is NaN, or another number than this; None for other masks."""
    if mask.opcode == "isnan":
        return mask.operands[0]
    found = _IS_NUMBER.match(mask)
    return found["x"] if found is not None and literal_value(found["C"]) != number else None


_IS_NUMBER = pattern("compare(x, C, direction='EQ')")
RULES = (
    Rule("compare((choice := select(m, A, x)), B, direction='EQ')", _compared),
    Rule("select(m, x, select(m, y, z))", "select(m, x, z)"),
    Rule("select(m, select(m, x, y), z)", "select(m, x, z)"),
)


def known_choices(function: Function, supports: Support) -> None:
    """Leave out choices that make no difference, and stacks of a few masks."""
    apply_rules(function, RULES, supports)
    rewrite(function, tuple(_JOINED_BY), lambda node: _joined(function.graph, node), supports)


def _joined(graph: Graph, node: Node) -> Node | None:
    """Return a few masks joined by an operator, without those that change nothing."""
    (stack,) = node.operands
    if stack.opcode != "stack" or stack.element_type is not PRED or stack.ndim != 1 or node.ndim:
        return None
    neutral = node.opcode == "all"
    masks = [mask for mask in stack.operands if not (mask.is_literal and bool(literal_value(mask)) is neutral)]
    masks = list(dict.fromkeys(masks))
    if not 1 <= len(masks) <= _MOST_MASKS or any(mask.is_literal for mask in masks):
        return None
    joined, *others = masks
    for mask in others:
        joined = graph.add(_JOINED_BY[node.opcode], (joined, mask))
    return joined
