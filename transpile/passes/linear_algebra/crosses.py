"""``np.cross``: JAX computes each component of the product of three-dimensional vectors by itself."""

from __future__ import annotations

from ...array.graph import Graph
from ...array.node import Node
from ...array.rewriting import called
from ...array.value import FULL
from ..rewriting.patterns import Bindings, pattern
from ..rewriting.rules import FloatRule, rule_pass

_NUMBER = pattern(
    "subtract(multiply(getitem(x, index=a), getitem(y, index=b)), multiply(getitem(x, index=c), getitem(y, index=d)))"
)


def _product(graph: Graph, node: Node, found: Bindings) -> Node | None:
    stacked = found.get("stacked", node)
    if stacked.parameters["axis"] != (0 if "stacked" in found else node.ndim - 1):
        return None
    if "stacked" in found and tuple(node.parameters["axes"]) != (*range(1, node.ndim), 0):
        return None
    factors: set[tuple[Node, Node]] = set()
    for k, part in enumerate(stacked.operands):
        number = _NUMBER.match(part)
        if number is None:
            return None
        one, other = (k + 1) % 3, (k + 2) % 3
        places: tuple[object, ...] = tuple(_last(number[name], number["x"].ndim) for name in "abcd")
        pairs: dict[tuple[object, ...], tuple[str, str]] = {
            (one, other, other, one): ("x", "y"),
            (other, one, one, other): ("y", "x"),
        }
        names = pairs.get(places)
        if names is None:
            return None
        factors.add((number[names[0]], number[names[1]]))
    if len(factors) != 1:
        return None
    ((x, y),) = factors
    return called(graph, "np.cross", (x, y), node) if x.shape == y.shape == node.shape else None


def _last(index: tuple[object, ...], ndim: int) -> object:
    """Return the index along the last axis if it is the only one, or None."""
    return index[-1] if len(index) == ndim and all(item == FULL for item in index[:-1]) else None


RULES = (
    FloatRule("transpose((stacked := stack(a, b, c)))", _product, once=("stacked",)),
    FloatRule("stack(a, b, c)", _product),
)

crosses = rule_pass(__name__, "Raise them.", RULES)
