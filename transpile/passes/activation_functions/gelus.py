"""``gelu``, from its ``tanh`` approximation and the derivative of that; ``exact_gelu``, from the complementary error
function.
"""

from __future__ import annotations

from ...array.graph import Graph
from ...array.node import Node
from ...array.program import Function
from ...array.rewriting import called
from ...array.support import Support
from ...hlo.element_types import F32
from ..rewriting.patterns import Bindings
from ..rewriting.rules import FloatRule, Make, Rule, apply_rules

_TANH = "(t := tanh(multiply((c := add(x, {cube})), 0.7978845608028654)))"
_CUBES = ("multiply(multiply(multiply(x, x), x), 0.044715)", "multiply(multiply(multiply(x, 0.044715), x), x)")
_BENT = f"add({_TANH}, 1)"
_GATE = f"(gate := {_BENT})"

# The derivative, alone or times the incoming gradient: it shares parts of the value, which is then a call too.
_BENDS = (
    "add((bend := multiply({half}, subtract(1, t))), multiply(bend, t))",
    "multiply({half}, multiply(add(t, 1), subtract(1, t)))",
)
_INNER = "(inner := multiply({bend}, 0.7978845608028654))"
_SLOPE = f"add(add({{gated}}, {_INNER}), multiply(multiply(inner, 0.044715), multiply(multiply(x, x), 3)))"
_SLOPES = (
    (f"multiply({_BENT}, 0.5)", "multiply(x, 0.5)"),
    (f"multiply(g, multiply({_BENT}, 0.5))", "multiply(multiply(x, g), 0.5)"),
)

_TAIL = "(tail := prelude.erfc({argument}))"
_ARGUMENTS = ("multiply(negate(x), 0.7071067811865476)", "multiply(x, -0.7071067811865476)")  # -x / sqrt(2)


def _call(name: str) -> Make:
    def make(graph: Graph, node: Node, found: Bindings) -> Node | None:
        return called(graph, name, (found["x"],), node)

    return make


def _slope(graph: Graph, node: Node, found: Bindings) -> Node | None:
    slope = called(graph, "gelu_slope", (found["x"],), node)
    return graph.add("multiply", (found["g"], slope)) if "g" in found else slope


SLOPES = tuple(
    FloatRule(_SLOPE.format(gated=gated.format(cube=_CUBES[0]), bend=bend.format(half=half)), _slope)
    for gated, half in _SLOPES
    for bend in _BENDS
)
RULES = (
    *(
        FloatRule(form.format(cube=cube), _call("gelu"), once=("t", "c", "gate"))
        for cube in _CUBES
        for form in (f"multiply(x, multiply({_GATE}, 0.5))", f"multiply(multiply(x, 0.5), {_GATE})")
    ),
    *(
        Rule(form.format(tail=_TAIL.format(argument=argument)), _call("exact_gelu"), once=("tail",), when=F32.__eq__)
        for argument in _ARGUMENTS
        for form in ("multiply(multiply(x, 0.5), {tail})", "multiply(x, multiply({tail}, 0.5))")
    ),
)


def gelus(function: Function, supports: Support) -> None:
    """Raise derivatives to calls, and values where nothing else reads their parts."""
    apply_rules(function, SLOPES, supports)
    apply_rules(function, RULES, supports)
