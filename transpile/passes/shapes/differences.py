"""``x[1:] - x[:-1]`` is ``np.diff(x)``, and the ``np.diff`` of that is ``np.diff(x, n=2)``."""

from __future__ import annotations

from ...array.graph import Graph
from ...array.node import Node
from ...array.rewriting import called
from ...hlo.element_types import PRED, ElementType
from ..rewriting.patterns import Bindings
from ..rewriting.rules import Rule, rule_pass
from .joins import part_of_axis


def _is_number(element_type: ElementType) -> bool:
    return not element_type.is_extension and element_type is not PRED


def _difference(graph: Graph, node: Node, found: Bindings) -> Node | None:
    x: Node = found["x"]
    changed = [axis for axis in range(x.ndim) if x.shape[axis] != node.shape[axis]] if x.ndim == node.ndim else []
    if len(changed) != 1:
        return None
    (axis,) = changed
    size = x.shape[axis]
    later, earlier = (part_of_axis(found[name], axis, size) for name in ("later", "earlier"))
    if later != range(1, size) or earlier != range(size - 1):
        return None
    keywords = {} if axis == x.ndim - 1 else {"axis": axis}
    return called(graph, "np.diff", (x,), node, **keywords)


def _again(graph: Graph, node: Node, found: Bindings) -> Node | None:
    (x,), inner, outer = found["inner"].operands, found["inner"].parameters["keywords"], node.parameters["keywords"]
    if inner.get("axis") != outer.get("axis"):
        return None
    times = inner.get("n", 1) + outer.get("n", 1)
    keywords = {key: value for key, value in inner.items() if key != "n"}
    return called(graph, "np.diff", (x,), node, n=times, **keywords)


RULES = (Rule("subtract(getitem(x, index=later), getitem(x, index=earlier))", _difference, when=_is_number),)
TOGETHER = (Rule("np.diff((inner := np.diff(x)))", _again, once=("inner",)),)

differences = rule_pass(__name__, "Raise differences of neighbours.", RULES, TOGETHER)
