"""``min(high, max(low, x))`` between two constants is ``np.clip``, as are two choices between them; values bounded that
way are converted to integers by ``astype``.
"""

from __future__ import annotations

from ...array.graph import Graph
from ...array.intervals import cut_interval
from ...array.node import Node, literal_value
from ...array.program import Function
from ...array.rewriting import called, rewrite
from ...array.support import Support
from ...hlo.element_types import PRED, ElementType
from ..rewriting.patterns import Bindings
from ..rewriting.rules import Rule, apply_rules


def _is_clipped(element_type: ElementType) -> bool:
    """Whether NumPy clips in the type itself, and all its numbers are ordered."""
    return not element_type.is_extension and not element_type.is_complex and element_type is not PRED


def _chosen(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """A bound that is 0 may have another sign than the zero that is chosen."""
    is_zero = not literal_value(found["LOW"]) or not literal_value(found["HIGH"])
    return None if is_zero and node.type.is_floating else _clip(graph, node, found)


def _clip(graph: Graph, node: Node, found: Bindings) -> Node | None:
    low, x, high = found["LOW"], found["x"], found["HIGH"]
    if not literal_value(low) <= literal_value(high):
        return None
    return graph.add("clamp", (low, x, high), interval=node.interval)


_ABOVE, _BELOW = "compare(x, HIGH, direction='GT')", "compare(x, LOW, direction='LT')"
RULES = (
    Rule("minimum(HIGH, (m := maximum(LOW, x)))", _clip, once=("m",), when=_is_clipped),
    Rule("maximum(LOW, (m := minimum(HIGH, x)))", _clip, once=("m",), when=_is_clipped),
    Rule(f"select({_ABOVE}, HIGH, (m := select({_BELOW}, LOW, x)))", _chosen, once=("m",), when=_is_clipped),
    Rule(f"select({_BELOW}, LOW, (m := select({_ABOVE}, HIGH, x)))", _chosen, once=("m",), when=_is_clipped),
)


def clips(function: Function, supports: Support) -> None:
    """Raise minima of maxima, in either order, to one clip, and conversions of values within an integer's range to
    ``astype``.
    """
    apply_rules(function, RULES, supports)
    graph = function.graph

    def cut(node: Node) -> Node | None:
        if node.parameters["function"] != "to_int":
            return None
        (x,) = node.operands
        interval = cut_interval(x, node.type)
        if interval is None or x.is_literal or x.type.is_extension or node.type.is_extension:
            return None
        numbers = called(graph, "np.nan_to_num", (x,), x)  # NaN becomes 0, and nothing is infinite
        if not supports(numbers):
            return None
        return graph.add("convert", (numbers,), element_type=node.type, interval=interval)

    rewrite(function, ("prelude",), cut, supports)
