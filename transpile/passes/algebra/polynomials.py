"""``np.polyval``: Horner's rule over all elements of an array of coefficients, from 0 on, as NumPy computes it."""

from __future__ import annotations

from collections.abc import Iterator

from ...array.graph import Graph
from ...array.node import Node, literal_value
from ...array.program import Function
from ...array.rewriting import called
from ...array.support import Support
from ..matching import Bindings, pattern
from ..rules import Rule, apply_rules, is_full_float

_STEP = pattern("add(multiply(rest, x), getitem(p, index=place))")


def _polynomial(graph: Graph, node: Node, found: Bindings) -> Node | None:
    x, p = found["x"], found["p"]
    if p.ndim != 1 or x.shape != node.shape or x.ndim == 0:
        return None
    places = list(_places(node, x, p))
    return called(graph, "np.polyval", (p, x), node) if places == list(reversed(range(p.shape[0]))) else None


def _places(node: Node, x: Node, p: Node) -> Iterator[int | None]:
    """Return which coefficients are added, the last one first, or None where the sum does not begin with 0."""
    while (found := _STEP.match(node)) is not None and found["x"] is x and found["p"] is p and len(found["place"]) == 1:
        yield found["place"][0]
        node = found["rest"]
        if node.is_literal and not literal_value(node):
            return
    yield None


RULES = (Rule(_STEP.text, _polynomial, when=is_full_float),)


def polynomials(function: Function, supports: Support) -> None:
    """Raise polynomials."""
    apply_rules(function, RULES, supports)
