"""``np.linalg.norm``: roots of sums of squares along an axis, over matrices or a whole array, and the largest sum of
magnitudes along the columns or rows of a matrix.
"""

from __future__ import annotations

import numpy as np

from ...array.graph import Graph
from ...array.node import Node
from ...array.rewriting import along, called
from ..rewriting.patterns import Bindings
from ..rewriting.rules import FloatRule, rule_pass


def _root(graph: Graph, node: Node, found: Bindings) -> Node | None:
    x, total = found["x"], found["total"]
    axes = total.parameters["axes"]
    if x.ndim == 0 or (len(axes) > 2 and len(axes) != x.ndim) or 0 in x.shape:
        return None
    return called(graph, "np.linalg.norm", (x,), node, **along(total))


def _complex_root(graph: Graph, node: Node, found: Bindings) -> Node | None:
    x: Node = found["x"]
    return _root(graph, node, found) if x.type.is_complex else None


def _largest_sum(graph: Graph, node: Node, found: Bindings) -> Node | None:
    x, (axis,) = found["x"], found["total"].parameters["axes"]
    if x.ndim != 2 or 0 in x.shape or node.ndim:
        return None
    order = graph.literal(1 if axis == 0 else np.inf, node.type)
    return called(graph, "np.linalg.norm", (x, order), node)


RULES = (
    FloatRule("sqrt((total := sum((product := multiply(x, x)))))", _root, once=("total", "product")),
    FloatRule(
        "sqrt((total := sum((real := real((product := multiply(x, (conj := np.conj(x)))))))))",
        _complex_root,
        once=("total", "real", "product", "conj"),
    ),
    *(
        FloatRule(f"max((total := sum((size := abs(x)), axes={axes})))", _largest_sum, once=("total", "size"))
        for axes in ("(0,)", "(1,)")
    ),
)

norms = rule_pass(__name__, "Raise them, where nothing else reads the squares or their sum.", RULES)
