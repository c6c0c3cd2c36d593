"""A row of integers that is converted is a row of the type: ``np.arange(24, dtype=np.float32)``."""

from __future__ import annotations

import numpy as np

from ...array.graph import Graph
from ...array.node import Node
from ...array.program import Function
from ...array.support import Support
from ...hlo.element_types import ElementType
from ..matching import Bindings
from ..rules import Rule, apply_rules

_COUNTED = {"f32": 2**24, "f64": 2**53}  # so many integers from 0 on are floats


def _is_counted(element_type: ElementType) -> bool:
    """NumPy counts in the type itself."""
    return element_type.name in _COUNTED or (element_type.is_integral and element_type.bits >= 8)


def _arange(graph: Graph, node: Node, found: Bindings) -> Node | None:
    row, stop = found["row"], found["stop"]
    most = _COUNTED.get(node.type.name) or int(np.iinfo(node.type.dtype).max)
    if stop >= most or row.interval is None or row.interval[1] >= most:
        return None
    return graph.add("arange", (), element_type=node.element_type, interval=node.interval, stop=stop)


RULES = (Rule("convert((row := arange(stop=stop)))", _arange, once=("row",), when=_is_counted),)


def aranges(function: Function, supports: Support) -> None:
    """Leave out the conversion, where nothing else reads the integers and all of them are of the type."""
    apply_rules(function, RULES, supports)
