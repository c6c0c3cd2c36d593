"""Derivatives by their rule: the larger of two numbers, the slopes of softplus and of ``logaddexp``."""

from __future__ import annotations

from ...array.graph import Graph
from ...array.node import Node
from ...array.rewriting import called
from ..rewriting.patterns import Bindings
from ..rewriting.rules import FloatRule, Make, rule_pass
from .magnitudes import has_no_sign


def _of_known_sign(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """A quotient that is NaN where its divisor has no sign that is known."""
    ratio: Node = found["ratio"]
    return ratio if has_no_sign(found["size"]) else None


def _greater(one: str, other: str) -> Make:
    """Return what makes a call that tells how much of the larger of two numbers the first one is."""
    return lambda graph, node, found: called(graph, "greater_or_half", (found[one], found[other]), node)


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
    FloatRule("add((a := multiply(x, y)), (b := multiply(y, x)))", "multiply(multiply(x, y), 2)", once=("a", "b")),
)

derivatives = rule_pass(__name__, "Raise what derivatives are made of.", RULES)
