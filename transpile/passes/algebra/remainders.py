"""Remainders with the sign of the divisor, as in Python: JAX corrects HLO's, which are truncated towards 0.

``x % y`` of integers is 0 where ``y`` is: JAX divides by 1 there. Of floats, ``np.mod`` gives 0 the divisor's sign too,
where JAX keeps the dividend's: it is used where the sign of 0 cannot be observed, as in ``np.mod(x + 2, 4) - 2``.
"""

from __future__ import annotations

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node, literal_value
from ...array.program import Function
from ...array.rewriting import called
from ...array.support import Support
from ..rewriting.patterns import Bindings
from ..rewriting.rules import FloatRule, Rule, apply_rules
from .signed_zeros import sign_matters

_DIVISOR = "(d := select(compare(y, 0, direction='EQ'), 1, y))"
_REST = f"(rest := prelude.int_remainder(x, {_DIVISOR}))"
_OTHER_SIGN = f"compare(compare({_REST}, 0, direction='LT'), compare(d, 0, direction='LT'), direction='NE')"


RULES = (
    Rule(
        f"select(and_({_OTHER_SIGN}, compare(rest, 0, direction='NE')), add(rest, d), rest)",
        "remainder(x, y)",
        when=lambda element_type: element_type.is_signed,
    ),
    Rule(
        f"prelude.int_remainder(x, {_DIVISOR})", "remainder(x, y)", when=lambda element_type: element_type.is_unsigned
    ),
)


_BY_NUMBER = "select(compare((rest := remainder(x, Y)), 0, direction='LT'), add(rest, Y), rest)"
_BY_ARRAY = (
    "select(and_(compare(compare((rest := remainder(x, y)), 0, direction='LT'), compare(y, 0, direction='LT'), "
    "direction='NE'), compare(rest, 0, direction='NE')), add(rest, y), rest)"
)


def _of_floats(live: LiveNodes, *, is_entry: bool) -> tuple[Rule, ...]:
    def mod(graph: Graph, node: Node, found: Bindings) -> Node | None:
        divisor = found["Y"] if "Y" in found else found["y"]
        if "Y" in found and not literal_value(divisor) > 0:
            return None
        if live.is_root(node) or sign_matters(live, node, is_entry=is_entry):
            return None
        return called(graph, "np.mod", (found["x"], divisor), node)

    return tuple(FloatRule(form, mod, once=("rest",)) for form in (_BY_NUMBER, _BY_ARRAY))


def remainders(function: Function, supports: Support) -> None:
    """Raise integer remainders by divisors that may be 0, and float remainders where 0 needs no sign."""
    live, is_entry = live_nodes(function), function.is_entry
    apply_rules(function, (*RULES, *_of_floats(live, is_entry=is_entry)), supports)
    if any(node.parameters["function"] == "mod" for node in live.of(("library",))):
        apply_rules(function, _of_floats(live, is_entry=is_entry), supports)  # dividends of what is raised now
