"""Two numbers of which a mask leaves one 0, added up: the mask chooses between them. So it does in a difference.

Gradients of ``np.where`` are made of such sums, those of ``abs`` of such differences. Of floats the sum is never -0, as
one part is +0: where the choice may be -0 and somebody can tell, 0 is added to it. A number taken away from 0 stays so.
"""

from __future__ import annotations

import numpy as np

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node, literal_value
from ...array.program import Function
from ...array.support import Support
from ...hlo.element_types import PRED, ElementType
from ..rewriting.patterns import Bindings
from ..rewriting.rules import Rule, apply_rules
from .magnitudes import has_no_sign
from .signed_zeros import sign_is_told

_FIRST, _SECOND = "(a := select(m, x, ZERO))", "(b := select(m, ZERO, {}))"


def _is_number(element_type: ElementType) -> bool:
    return element_type is not PRED


def _is_zero(literal: Node) -> bool:
    """Tell whether a literal is 0, but not -0."""
    zero = literal_value(literal)
    return bool(zero == 0 and not np.signbit(zero.real) and not np.signbit(zero.imag))


def _rules(live: LiveNodes) -> tuple[Rule, ...]:
    def choice(graph: Graph, node: Node, found: Bindings) -> Node | None:
        if not _is_zero(found["ZERO"]):
            return None
        first: Node = found["x"]
        second: Node = found.get("y", first)
        chosen = first if second is first else graph.add("select", (found["m"], first, second))
        is_exact = node.type.is_integral or (has_no_sign(first) and has_no_sign(second))
        if is_exact or not sign_is_told(live, node):
            return chosen
        return graph.add("add", (chosen, found["ZERO"]))

    return tuple(
        Rule(f"{opcode}({parts})", make, once=("a", "b"), when=_is_number)
        for opcode, make in (("add", choice), ("subtract", _difference))
        for second in ("x", "y")
        for parts in (f"{_FIRST}, {_SECOND.format(second)}", f"{_SECOND.format(second)}, {_FIRST}")
    )


def _difference(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Choose between the number that is left and what is taken away, with the other sign."""
    if not _is_zero(found["ZERO"]):
        return None
    first: Node = found["x"]
    second: Node = found.get("y", first)
    if node.operands[0] is found["a"]:
        second = graph.add("subtract", (found["ZERO"], second))
    else:
        first = graph.add("subtract", (found["ZERO"], first))
    return graph.add("select", (found["m"], first, second))


def choices(function: Function, supports: Support) -> None:
    """Raise sums of what a mask leaves to what it chooses."""
    apply_rules(function, _rules(live_nodes(function)), supports)
