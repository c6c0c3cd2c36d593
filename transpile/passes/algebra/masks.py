"""A mask becomes a number in one step: ``mask.astype(np.int32).astype(np.float32)`` is ``mask.astype(np.float32)``.
So does an integer that the type between can hold.

JAX takes the mean of a mask in two steps. A selection by a mask that is a known constant is dropped, and so is the test
of ``isclose`` for equality beside that for closeness.
"""

from __future__ import annotations

from ...array.graph import Graph
from ...array.intervals import fits
from ...array.node import Node, literal_value
from ...hlo.element_types import PRED
from ..rewriting.patterns import Bindings
from ..rewriting.rules import Rule, rule_pass


def _converted(graph: Graph, node: Node, found: Bindings) -> Node | None:
    mask, number = found["mask"], found["number"]
    is_mask = mask.element_type is PRED and node.element_type is not PRED
    if not is_mask and not _is_known(mask, number):
        return None
    if number.type.is_extension or node.type.is_extension:  # in which 0 or 1 may not be representable
        return None
    return graph.add("convert", (mask,), element_type=node.element_type, interval=node.interval)


def _is_known(x: Node, number: Node) -> bool:
    """Return whether integers stay the same in another integer type."""
    return x.type.is_integral and number.type.is_integral and x.interval is not None and fits(x.interval, number.type)


def _chosen(graph: Graph, node: Node, found: Bindings) -> Node | None:
    chosen = found["x"] if literal_value(found["M"]) else found["y"]
    if chosen.is_literal:
        return graph.add("full", (chosen,), shape=node.shape, element_type=node.element_type) if node.ndim else None
    if chosen.element_type is not node.element_type or chosen.is_python_int:
        return None
    return chosen if chosen.shape == node.shape else graph.add("broadcast_to", (chosen,), shape=node.shape)


def _near(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Numbers equal to 0 are within a distance of it too."""
    near: Node = found["near"]
    return near if literal_value(found["DISTANCE"]) >= 0 else None


RULES = (
    Rule("or_(compare(x, 0, direction='EQ'), (near := compare(abs(x), DISTANCE, direction='LE')))", _near),
    Rule("convert((number := convert(mask)))", _converted, once=("number",)),
    Rule("select(M, x, y)", _chosen),
)

masks = rule_pass(__name__, "Leave out the integers between masks and other numbers, and choices by a constant.", RULES)
