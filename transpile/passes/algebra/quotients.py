"""``x * (1 / s)`` is ``x / s``, as it was before XLA turned it round to divide less often."""

from __future__ import annotations

from ...array.program import Function
from ...array.support import Support
from ..rewriting.rules import Rule, apply_rules, is_full_float

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


def quotients(function: Function, supports: Support) -> None:
    """Raise products with reciprocals to quotients. A reciprocal that something else reads too stays one."""
    apply_rules(function, RULES, supports)
