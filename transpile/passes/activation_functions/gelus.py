"""``gelu``, from its approximation with ``tanh``, and ``exact_gelu``, by the complementary error function."""

from __future__ import annotations

from ...array.graph import Graph
from ...array.node import Node, Slot
from ...hlo.element_types import F32
from ..rewriting.patterns import Bindings
from ..rewriting.rules import Make, Rule, is_full_float, rule_pass

_TANH = "(t := tanh(multiply((c := add(x, {cube})), 0.7978845608028654)))"
_CUBES = ("multiply(multiply(multiply(x, x), x), 0.044715)", "multiply(multiply(multiply(x, 0.044715), x), x)")
_GATE = f"(gate := add({_TANH}, 1))"


_TAIL = "(tail := prelude.erfc({argument}))"
_ARGUMENTS = ("multiply(negate(x), 0.7071067811865476)", "multiply(x, -0.7071067811865476)")  # -x / sqrt(2)


def _call(name: str) -> Make:
    def make(graph: Graph, node: Node, found: Bindings) -> Node | None:
        x: Node = found["x"]
        return graph.add("prelude", (x,), function=name, arguments=(Slot(0),), keywords={})

    return make


RULES = (
    *(
        Rule(form.format(cube=cube), _call("gelu"), once=("t", "c", "gate"), when=is_full_float)
        for cube in _CUBES
        for form in (f"multiply(x, multiply({_GATE}, 0.5))", f"multiply(multiply(x, 0.5), {_GATE})")
    ),
    *(
        Rule(form.format(tail=_TAIL.format(argument=argument)), _call("exact_gelu"), once=("tail",), when=F32.__eq__)
        for argument in _ARGUMENTS
        for form in ("multiply(multiply(x, 0.5), {tail})", "multiply(x, multiply({tail}, 0.5))")
    ),
)

gelus = rule_pass(__name__, "Raise them to calls, where nothing else reads the parts.", RULES)
