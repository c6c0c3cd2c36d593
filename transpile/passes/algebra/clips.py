"""``min(high, max(low, x))`` between two constants is ``np.clip``."""

from __future__ import annotations

from ...array.graph import Graph
from ...array.node import Node, literal_value
from ...array.program import Function
from ...array.support import Support
from ...hlo.element_types import PRED, ElementType
from ..matching import Bindings
from ..rules import Rule, apply_rules


def _is_clipped(element_type: ElementType) -> bool:
    """NumPy clips it in its own type, and all its numbers are ordered."""
    return not element_type.is_extension and not element_type.is_complex and element_type is not PRED


def _clip(graph: Graph, node: Node, found: Bindings) -> Node | None:
    low, x, high = found["LOW"], found["x"], found["HIGH"]
    if not literal_value(low) <= literal_value(high):
        return None
    return graph.add("clamp", (low, x, high), interval=node.interval)


RULES = (
    Rule("minimum(HIGH, (m := maximum(LOW, x)))", _clip, once=("m",), when=_is_clipped),
    Rule("maximum(LOW, (m := minimum(HIGH, x)))", _clip, once=("m",), when=_is_clipped),
)


def clips(function: Function, supports: Support) -> None:
    """Raise minima of maxima, in either order, to one clip."""
    apply_rules(function, RULES, supports)
