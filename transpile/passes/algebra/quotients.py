"""``x * (1 / s)`` is ``x / s``, as it was before XLA rewrote it to divide less often."""

from __future__ import annotations

from ..rewriting.rules import Rule, is_full_float, rule_pass

RULES = (
    Rule("multiply(x, (r := divide(1, s)))", "divide(x, s)", once=("r",), when=is_full_float),
    Rule("multiply(x, (r := rsqrt(s)))", "divide(x, sqrt(s))", once=("r",), when=is_full_float),
    Rule(
        "multiply(x, (r := logistic(s)))",
        "divide(x, add(exponential(negate(s)), 1))",
        once=("r",),
        when=is_full_float,
    ),
)

quotients = rule_pass(
    __name__,
    "Raise products with reciprocals to quotients. A reciprocal that something else reads too stays one.",
    RULES,
)
