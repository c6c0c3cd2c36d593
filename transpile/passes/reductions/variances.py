"""``((x - x.mean()) ** 2).mean()`` as ``x.var()``, and its square root as ``x.std()``."""

from __future__ import annotations

from math import prod

from ...array.graph import Graph
from ...array.live import live_nodes
from ...array.node import Node, literal_value
from ...array.program import Function
from ...array.support import Support
from ..rewriting.patterns import Bindings
from ..rewriting.rules import FloatRule, apply_rules

_MANY_ELEMENTS = 1 << 16  # for which another pass costs more than another line of code
_SQUARE = "(square := multiply((d := subtract(x, mean(x, axes=axes, keepdims=kept))), d))"


def _is_centred(found: Bindings) -> bool:
    """Return whether the subtracted mean is along the same axes: kept, or the first ones."""
    axes = tuple(found["axes"])
    return bool(found["kept"]) or axes == tuple(range(len(axes)))


def _variance(graph: Graph, node: Node, found: Bindings) -> Node | None:
    if not _is_centred(found):
        return None
    return graph.add("var", (found["x"],), **node.parameters)


def _sample_variance(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return the variance for a sum that is divided by fewer than its terms, or None."""
    total, divisor, x = found["total"], found["DIVISOR"], found["x"]
    if not _is_centred(found) or total.shape != node.shape:
        return None
    count = prod(x.shape[axis] for axis in found["axes"])
    correction = count - float(literal_value(divisor))
    if correction not in (1, 2) or correction >= count:
        return None
    return graph.add("var", (x,), ddof=int(correction), **total.parameters)


def _deviation(graph: Graph, node: Node, found: Bindings) -> Node:
    (x,) = found["v"].operands
    return graph.add("std", (x,), **found["v"].parameters)


RULES = (
    FloatRule(f"mean({_SQUARE}, axes=axes)", _variance, once=("square",)),
    FloatRule(f"divide((total := sum({_SQUARE}, axes=axes)), DIVISOR)", _sample_variance, once=("square", "total")),
    FloatRule("sqrt((v := var(x)))", _deviation, once=("v",)),
)


def variances(function: Function, supports: Support) -> None:
    """Raise means of squared differences from the mean to variances, and their roots to standard deviations."""
    apply_rules(function, RULES, supports, _read_again(function) if supports.features.operations_are_passes else ())


def _read_again(function: Function) -> set[Node]:
    """Return the reductions of squares of many differences that have other users: a variance would recompute these."""
    live = live_nodes(function)
    squares = (node for node in live.of(("multiply",)) if node.operands[0] is node.operands[1])
    again = {node for node in squares if live.count(node.operands[0]) > 2 and prod(node.shape) >= _MANY_ELEMENTS}
    return {node for node in live.of(("mean", "divide")) if again & {*node.operands, *node.operands[0].operands}}
