"""``gelu``, from its approximation with ``tanh``."""

from __future__ import annotations

from ..array.node import Graph, Node, Slot
from ..array.program import Function
from .matching import Bindings
from .rules import Rule, apply_rules, is_full_float

_TANH = "(t := tanh(multiply((c := add(x, {cube})), 0.7978845608028654)))"
_CUBES = ("multiply(multiply(multiply(x, x), x), 0.044715)", "multiply(multiply(multiply(x, 0.044715), x), x)")
_GATE = f"(gate := add({_TANH}, 1))"


def _gelu(graph: Graph, node: Node, found: Bindings) -> Node | None:
    x: Node = found["x"]
    return graph.add("prelude", (x,), node.shape, node.element_type, function="gelu", arguments=(Slot(0),), keywords={})


RULES = tuple(
    Rule(form.format(cube=cube), _gelu, once=("t", "c", "gate"), when=is_full_float)
    for cube in _CUBES
    for form in (f"multiply(x, multiply({_GATE}, 0.5))", f"multiply(multiply(x, 0.5), {_GATE})")
)


def gelus(function: Function) -> None:
    """Raise it to a call, where nothing else reads the parts."""
    apply_rules(function, RULES)
