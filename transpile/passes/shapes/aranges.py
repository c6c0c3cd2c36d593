"""A converted ``arange`` is an ``arange`` of the type: ``np.arange(24, dtype=np.float32)``."""

from __future__ import annotations

import numpy as np

from ...array.graph import Graph
from ...array.node import Node
from ...array.program import Function
from ...array.support import Support
from ...hlo.element_types import ElementType
from ..rewriting.patterns import Bindings
from ..rewriting.rules import Rule, apply_rules

_COUNTED = {"f32": 2**24, "f64": 2**53}  # integers below this are exactly representable


def _is_counted(element_type: ElementType) -> bool:
    """Whether NumPy counts exactly in the type itself."""
    return element_type.name in _COUNTED or (element_type.is_integral and element_type.bits >= 8)


def _arange(graph: Graph, node: Node, found: Bindings) -> Node | None:
    most = _COUNTED.get(node.type.name) or int(np.iinfo(node.type.dtype).max)
    return None if found["stop"] >= most else _of_any_size(graph, node, found)


def _of_any_size(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """The float ``arange``, however long it is: a library that does not work in chunks rounds each element as a
    conversion does.
    """
    row, kind = found["row"], node.type
    if row.interval is None or (kind.is_integral and row.interval[1] >= int(np.iinfo(kind.dtype).max)):
        return None
    return graph.add("arange", (), element_type=kind, interval=node.interval, stop=found["stop"])


_ROW = "convert((row := arange(stop=stop)))"
RULES = (Rule(_ROW, _arange, once=("row",), when=_is_counted),)
OF_ANY_SIZE = (Rule(_ROW, _of_any_size, once=("row",), when=_is_counted),)


def aranges(function: Function, supports: Support) -> None:
    """Remove the conversion, if nothing else reads the integers and all of them are representable in the type."""
    is_any = not supports.features.sizes_are_fixed and supports.features.arrays_fit_memory
    apply_rules(function, OF_ANY_SIZE if is_any else RULES, supports)
