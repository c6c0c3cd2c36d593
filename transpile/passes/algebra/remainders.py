"""``x % y`` of integers, which is 0 where ``y`` is: JAX divides by 1 there, and corrects what HLO cuts towards 0."""

from __future__ import annotations

from ...array.program import Function
from ...array.support import Support
from ...hlo.element_types import ElementType
from ..rules import Rule, apply_rules

_DIVISOR = "(d := select(compare(y, 0, direction='EQ'), 1, y))"
_REST = f"(rest := prelude.int_remainder(x, {_DIVISOR}))"
_OTHER_SIGN = f"compare(compare({_REST}, 0, direction='LT'), compare(d, 0, direction='LT'), direction='NE')"


def _has_sign(element_type: ElementType) -> bool:
    return element_type.is_signed


def _has_no_sign(element_type: ElementType) -> bool:
    return element_type.is_unsigned


RULES = (
    Rule(
        f"select(and_({_OTHER_SIGN}, compare(rest, 0, direction='NE')), add(rest, d), rest)",
        "remainder(x, y)",
        when=_has_sign,
    ),
    Rule(f"prelude.int_remainder(x, {_DIVISOR})", "remainder(x, y)", when=_has_no_sign),
)


def remainders(function: Function, supports: Support) -> None:
    """Raise remainders by what may be 0."""
    apply_rules(function, RULES, supports)
