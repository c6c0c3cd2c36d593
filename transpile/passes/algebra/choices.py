"""Two numbers of which a mask leaves one 0, added up: the mask chooses between them.

Gradients of ``np.where`` are made of such sums. ``x + 0`` is taken as ``x``, as XLA does.
"""

from __future__ import annotations

from ...array.program import Function
from ...array.support import Support
from ...hlo.element_types import PRED, ElementType
from ..rules import Rule, apply_rules


def _is_number(element_type: ElementType) -> bool:
    return element_type is not PRED


_FIRST, _SECOND = "(a := select(m, x, 0))", "(b := select(m, 0, {}))"

RULES = tuple(
    Rule(f"add({parts})", given, once=("a", "b"), when=_is_number)
    for second, given in (("x", "x"), ("y", "select(m, x, y)"))
    for parts in (f"{_FIRST}, {_SECOND.format(second)}", f"{_SECOND.format(second)}, {_FIRST}")
)


def choices(function: Function, supports: Support) -> None:
    """Raise sums of what a mask leaves to what it chooses."""
    apply_rules(function, RULES, supports)
