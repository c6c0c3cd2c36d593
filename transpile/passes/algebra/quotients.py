"""``x * (1 / s)`` is ``x / s``, as it was before XLA rewrote it to divide less often."""

from __future__ import annotations

from ..rewriting.rules import FloatRule, rule_pass

RULES = (
    FloatRule("multiply(x, (r := divide(1, s)))", "divide(x, s)", once=("r",)),
    FloatRule("multiply(x, (r := rsqrt(s)))", "divide(x, sqrt(s))", once=("r",)),
    FloatRule("multiply(x, (r := logistic(s)))", "divide(x, add(exponential(negate(s)), 1))", once=("r",)),
)

quotients = rule_pass(
    __name__,
    "Raise products with reciprocals to quotients. A reciprocal that something else reads too stays one.",
    RULES,
)
