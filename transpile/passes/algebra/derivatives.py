"""Derivatives by their rule: the larger of two numbers, the slopes of clips, of softplus and of ``logaddexp``."""

from __future__ import annotations

import numpy as np

from ...array.graph import Graph
from ...array.node import Node, literal_value
from ...array.program import Function
from ...array.rewriting import called
from ...array.support import Support
from ..rewriting.patterns import Bindings
from ..rewriting.rules import FloatRule, Make, apply_rules
from .clips import clips
from .magnitudes import has_no_sign


def _of_known_sign(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """A quotient that is NaN where its divisor has no sign that is known."""
    ratio: Node = found["ratio"]
    return ratio if has_no_sign(found["size"]) else None


def _greater(one: str, other: str) -> Make:
    """Return what makes a call that tells how much of the larger of two numbers the first one is."""

    def made(graph: Graph, node: Node, found: Bindings) -> Node:
        x, y = found[one], found[other]
        return called(graph, "greater_or_half", (_unbounded(x, y), _unbounded(y, x)), node)

    return made


def _unbounded(x: Node, other: Node) -> Node:
    """Return what a number bounds, if the bound decides nothing of how it compares with another number."""
    bound = next((operand for operand in x.operands if operand.is_literal), None)
    if x.opcode not in ("maximum", "minimum") or bound is None or not other.is_literal or not other.type.is_floating:
        return x
    ends = (bound, other) if x.opcode == "maximum" else (other, bound)
    inner: Node = x.operands[1] if x.operands[0] is bound else x.operands[0]
    return inner if literal_value(ends[0]) < literal_value(ends[1]) else x


def _doubled(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return twice a multiple, as one multiple."""
    x, number = found["x"], found["y"]
    number = number.operands[0] if number.operation.is_filled else number
    if not number.is_literal or x.shape != node.shape:
        return None
    with np.errstate(over="ignore"):
        twice = literal_value(number) * node.type.dtype.type(2)
    if not np.isfinite(twice):
        return None
    return x if twice == 1 else graph.add("multiply", (x, graph.literal(twice, node.type)))


_SHARE = (
    "divide(convert(compare(x, (chosen := {0}(x, y)), direction='EQ')), "
    "select(compare(y, chosen, direction='EQ'), 2, 1))"
)
_LARGER = "select(compare({0}, direction='GT'), 1, select(compare({0}, direction='EQ'), 0.5, 0))"
_FINITE = "select(compare({0}, inf, direction='EQ'), 0, {1})"
_SOFTPLUS = _FINITE.format("(sum := logaddexp(x, 0))", "sum")
_SUM = _FINITE.format("(sum := logaddexp(a, b))", "sum")

RULES = (
    FloatRule(_SHARE.format("maximum"), _greater("x", "y")),
    FloatRule(_SHARE.format("minimum"), _greater("y", "x")),
    FloatRule(_SHARE.format("maximum"), _LARGER.format("x, y")),
    FloatRule(_SHARE.format("minimum"), _LARGER.format("y, x")),
    FloatRule(f"exponential(subtract({_FINITE.format('x', 'x')}, {_SOFTPLUS}))", "logistic(x)"),
    FloatRule(f"exponential(subtract({_FINITE.format('x', 'x')}, {_SUM}))", "prelude.logaddexp_slope(x, sum)"),
    *(
        FloatRule(f"select(compare(size, 0, direction='GE'), (ratio := divide(x, size)), {minus})", _of_known_sign)
        for minus in ("subtract(0, ratio)", "negate(ratio)")
    ),
    FloatRule("multiply(x, (r := logistic(s)))", "divide(x, add(exponential(negate(s)), 1))", once=("r",)),
    *(FloatRule(f"add((m := multiply({pair})), m)", _doubled, once=("m",)) for pair in ("x, y", "y, x")),
    *(
        FloatRule(f"add((m := {product}(x, y)), m)", "multiply(m, 2)", once=("m",))
        for product in ("matmul", "tensordot")
    ),
    FloatRule("add((a := multiply(x, y)), (b := multiply(y, x)))", "multiply(multiply(x, y), 2)", once=("a", "b")),
)


def derivatives(function: Function, supports: Support) -> None:
    """Raise what derivatives are made of, then the clips of which no slope reads a part any more."""
    apply_rules(function, RULES, supports)
    clips(function, supports)
