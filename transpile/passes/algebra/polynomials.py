"""``np.polyval``: Horner's rule over all elements of an array of coefficients, starting from 0, as NumPy
computes it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...array.graph import Graph
from ...array.node import Node, literal_value
from ...array.rewriting import called
from ..rewriting.patterns import Bindings, pattern
from ..rewriting.rules import FloatRule, rule_pass

_STEP = pattern("add(multiply(rest, x), getitem(p, index=place))")


def _polynomial(graph: Graph, node: Node, found: Bindings) -> Node | None:
    p = found["p"]
    for x in (found["x"], found["rest"]):
        if p.ndim == 1 and x.shape == node.shape and x.ndim:
            places = list(_places(node, x, p))
            if len(places) == p.shape[0] and places == list(reversed(range(len(places)))):
                return called(graph, "np.polyval", (p, x), node)
    return None


def _places(node: Node, x: Node, p: Node) -> Iterator[int | None]:
    """The indices of the coefficients that are added, last one first; ends with None if the sum does not start
    with 0.
    """
    while (found := _STEP.match(node)) is not None and found["p"] is p and len(found["place"]) == 1:
        factors = found["rest"], found["x"]
        if x not in factors:
            break
        yield found["place"][0]
        node = factors[1] if factors[0] is x else factors[0]
        if node.is_literal and not literal_value(node):
            return
    yield None


RULES = (FloatRule(_STEP.text, _polynomial),)

polynomials = rule_pass(__name__, "Raise polynomials.", RULES)
