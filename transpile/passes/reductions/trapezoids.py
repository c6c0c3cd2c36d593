"""``np.trapezoid``: half of the sum of all steps times the sums of the values at both ends."""

from __future__ import annotations

from ...array.graph import Graph
from ...array.node import Node
from ...array.rewriting import called
from ..rewriting.patterns import Bindings
from ..rewriting.rules import FloatRule, rule_pass
from ..shapes.joins import part_of_axis


def _trapezoid(graph: Graph, node: Node, found: Bindings) -> Node | None:
    x, y, total = found["x"], found["y"], found["total"]
    last = y.ndim - 1
    size = y.shape[last] if y.ndim else 0
    is_along = tuple(total.parameters["axes"]) == (last,) and not total.parameters.get("keepdims")
    parts = [part_of_axis(found[name], last, size) for name in ("later", "earlier")]
    if not is_along or parts != [range(1, size), range(size - 1)] or x.shape not in ((size,), y.shape):
        return None
    return called(graph, "np.trapezoid", (y, x), node) if found["steps"].parameters["keywords"] == {} else None


_HEIGHTS = "add(getitem(y, index=later), getitem(y, index=earlier))"
_AREAS = f"(areas := multiply((steps := np.diff(x)), {_HEIGHTS}))"

RULES = (
    FloatRule(f"multiply((total := sum({_AREAS})), 0.5)", _trapezoid, once=("total", "areas")),
    FloatRule(f"(total := sum(multiply({_AREAS}, 0.5)))", _trapezoid, once=("areas",)),
)

trapezoids = rule_pass(__name__, "Raise them.", RULES)
