"""Selections whose outcome is known where they are read: by the same mask again, or by a comparison that distinguishes
the alternatives.

``where(m, x, where(m, y, z))`` never takes ``y``, and ``m & ~m`` holds nowhere. ``where(x == 2, 2, x)`` is ``x``; that
of 0 is, if it is an integer. ``where(isnan(x), 0, x) == inf`` holds where ``x == inf`` does, since neither NaN nor 0 is
inf: the gradient of ``nan_to_num`` contains this. ``where(m, a, where(n, a, x))`` is ``where(m | n, a, x)``, and
``where(m, a, where(m, 0, b) * x)`` is ``where(m, a, b * x)``. And ``stack([a, b, False]).any()`` is ``a | b``.

Selections that give the sign of the gamma function are a call.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Constant, Node, literal_value
from ...array.program import Function
from ...array.rewriting import called, rewrite
from ...array.support import Support
from ...array.value import filled
from ...hlo.element_types import PRED
from ..rewriting.patterns import Bindings, pattern
from ..rewriting.rules import FloatRule, Rule, apply_rules

_MOST_MASKS = 4  # that are combined by operators
_DEEPEST = 4  # nested selections
_JOINED_BY = {"any": "or", "all": "and"}


def _compared(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Compare the source of a selection instead, if that decides."""
    number = literal_value(found["B"])
    source = _source(found["choice"], number, _DEEPEST)
    if source is found["choice"] or number != number or source.shape != node.shape:
        return None
    return graph.add("compare", (source, found["B"]), direction="EQ")


def _source(node: Node, number: Any, depth: int) -> Node:
    """The array that equals a number exactly where a node does: without selections that replace NaN or other numbers by
    other numbers.
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
    """The array that a mask tests for NaN, or for numbers other than this; None for other masks."""
    if mask.opcode == "isnan":
        return mask.operands[0]
    if mask.opcode == "or":
        one, other = (_tested(part, number) for part in mask.operands)
        return one if one is other else None
    found = _IS_NUMBER.match(mask)
    return found["x"] if found is not None and literal_value(found["C"]) != number else None


def _one_or_other(graph: Graph, node: Node, found: Bindings) -> Node:
    """Select once if either of two masks leads to the same value."""
    masks = [*_joined_masks(found["m"]), *_joined_masks(found["n"])]
    source = _infinite_or_nan(masks)
    if source is not None:
        return graph.add("select", (graph.add("is-finite", (source,)), found["x"], found["a"]))
    joined, *others = masks
    for mask in others:
        joined = graph.add("or", (joined, mask))
    return graph.add("select", (joined, found["a"], found["x"]))


def _same_anyway(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """The other value of a selection that replaces a number by itself; None for 0 of floats, which -0 equals."""
    is_same = node.type.is_integral or (node.type.is_floating and literal_value(found["C"]) != 0)
    return found["x"] if is_same else None


def _joined_masks(mask: Node) -> Iterator[Node]:
    """The masks that are combined by ``|``."""
    if mask.opcode == "or":
        for part in mask.operands:
            yield from _joined_masks(part)
    else:
        yield mask


def _infinite_or_nan(masks: list[Node]) -> Node | None:
    """The array that is not finite exactly where one of the masks holds, or None."""
    tests = [(mask.operands[0], np.nan) if mask.opcode == "isnan" else _compared_with(mask) for mask in masks]
    sources, numbers = {source for source, _ in tests}, {str(number) for _, number in tests}
    return tests[0][0] if len(sources) == 1 and len(masks) == 3 and numbers == {"nan", "inf", "-inf"} else None


def _compared_with(mask: Node) -> tuple[Node | None, Any]:
    """The array and the number that a mask compares; None for other masks."""
    found = _IS_NUMBER.match(mask)
    return (found["x"], literal_value(found["C"])) if found is not None else (None, None)


def _decided(graph: Graph, node: Node, found: Bindings) -> Node:
    """The result of combining a mask with its negation: false everywhere for "and", true everywhere for "or"."""
    is_any = node.opcode == "or"
    answer = graph.literal(is_any, PRED)
    return graph.add("ones" if is_any else "zeros", (answer,), shape=node.shape) if node.ndim else answer


def _of_itself(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return what a comparison with itself gives everywhere, for numbers that are never NaN; or None."""
    if not _is_never_nan(found["x"]):
        return None
    answer = graph.literal(found.get("direction") in ("EQ", "GE", "LE"), PRED)
    return filled(graph, answer, node.shape)


def _is_never_nan(node: Node) -> bool:
    """Return whether a node holds integers, also converted ones."""
    source = node.operands[0] if node.opcode == "convert" else node
    return source.element_type is not None and (source.type.is_integral or source.type is PRED)


def _sign_of_gamma(graph: Graph, node: Node, found: Bindings) -> Node | None:
    _, divisor = found["rest"].parameters["arguments"]
    is_two = isinstance(divisor, Constant) and bool(divisor.array == 2)
    return called(graph, "gammasgn", (found["x"],), node) if is_two else None


_BELOW_ZERO = "(below := compare(x, 0, direction='LT'))"
_IS_ODD = "compare((rest := np.mod(whole)), 0, direction='NE')"
_SIGN_OF_GAMMA = (
    f"select(or_(and_({_BELOW_ZERO}, compare(x, (whole := floor(x)), direction='EQ')), isnan(x)), nan, "
    f"select(or_(and_(below, {_IS_ODD}), and_(compare(x, 0, direction='EQ'), np.signbit(x))), -1, 1))"
)
_IS_NUMBER = pattern("compare(x, C, direction='EQ')")
RULES = (
    Rule("compare((choice := select(m, A, x)), B, direction='EQ')", _compared),
    Rule("select(m, x, select(m, y, z))", "select(m, x, z)"),
    Rule("select(m, select(m, x, y), z)", "select(m, x, z)"),
    Rule("select(m, x, select(not_(m), y, z))", "select(m, x, y)"),
    Rule("select(m, select(not_(m), x, y), z)", "select(m, y, z)"),
    Rule("not_(not_(m))", "m"),
    Rule("and_(x, x)", "x"),
    Rule("or_(x, x)", "x"),
    Rule("select(compare(x, C, direction='EQ'), C, x)", _same_anyway),
    Rule("select(compare(x, C, direction='NE'), x, C)", _same_anyway),
    Rule("compare(x, x, direction=direction)", _of_itself),
    FloatRule(_SIGN_OF_GAMMA, _sign_of_gamma),
    Rule("isnan(x)", _of_itself),
    Rule("and_(m, not_(m))", _decided, when=PRED.__eq__),
    Rule("or_(m, not_(m))", _decided, when=PRED.__eq__),
    Rule("select(m, a, (inner := select(n, a, x)))", _one_or_other, once=("inner",)),
    Rule("select(m, (inner := select(n, x, a)), a)", "select(and_(m, n), x, a)", once=("inner",)),
)


def known_choices(function: Function, supports: Support) -> None:
    """Remove selections that make no difference, and stacks of a few masks."""
    apply_rules(function, RULES, supports)
    graph, live = function.graph, live_nodes(function)
    rewrite(function, ("select",), lambda node: _without_same_mask(graph, live, node), supports)
    rewrite(function, tuple(_JOINED_BY), lambda node: _joined(function.graph, node), supports)


def _without_same_mask(graph: Graph, live: LiveNodes, node: Node) -> Node | None:
    """A selection without further selections by the same mask in the factors of its operands."""
    mask, *sides = node.operands
    new = [_known(graph, live, side, mask, place) for place, side in enumerate(sides, 1)]
    made = graph.add("select", (mask, *new)) if new != sides else None
    return made if made is not None and made.shape == node.shape else None


def _known(graph: Graph, live: LiveNodes, node: Node, mask: Node, place: int, depth: int = _DEEPEST) -> Node:
    """A product whose selections by a mask are replaced by their operand at a place."""
    if live.count(node) != 1 or not depth or node.opcode != "multiply":
        return node
    factors = [
        factor.operands[place]
        if factor.opcode == "select" and factor.operands[0] is mask and live.count(factor) == 1
        else _known(graph, live, factor, mask, place, depth - 1)
        for factor in node.operands
    ]
    return graph.add("multiply", tuple(factors)) if tuple(factors) != node.operands else node


def _joined(graph: Graph, node: Node) -> Node | None:
    """A few masks combined by an operator, without those that change nothing."""
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
