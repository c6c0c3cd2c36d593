"""A mask becomes a number in one step: ``mask.astype(np.int32).astype(np.float32)`` is ``mask.astype(np.float32)``.

JAX takes the mean of a mask in two steps.
"""

from __future__ import annotations

from ...array.graph import Graph
from ...array.node import Node
from ...array.program import Function
from ...array.support import Support
from ...hlo.element_types import PRED
from ..matching import Bindings
from ..rules import Rule, apply_rules


def _converted(graph: Graph, node: Node, found: Bindings) -> Node | None:
    mask, number = found["mask"], found["number"]
    if mask.element_type is not PRED or node.element_type is PRED:
        return None
    if number.type.is_extension or node.type.is_extension:  # which may have no 0, or no 1
        return None
    return graph.add("convert", (mask,), element_type=node.element_type, interval=node.interval)


RULES = (Rule("convert((number := convert(mask)))", _converted, once=("number",)),)


def masks(function: Function, supports: Support) -> None:
    """Leave out the integers between masks and other numbers."""
    apply_rules(function, RULES, supports)
