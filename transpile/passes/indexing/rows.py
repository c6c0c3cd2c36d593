"""Evenly spaced numbers, indexed: ``np.arange(7)[i]`` is ``i``, and ``np.arange(1, 7)[i]`` is ``i + 1``.

Libraries number the items to choose from, and look up the number of a choice.
"""

from __future__ import annotations

from ...array.graph import Graph
from ...array.node import Node, Slot
from ...array.program import Function
from ...array.rewriting import rewrite
from ...array.support import Support
from ..shapes.ranges import row_of


def rows(function: Function, supports: Support) -> None:
    """Replace the lookup of a number at a position known to be in range by arithmetic on the position."""
    if supports.features.sizes_are_fixed:
        rewrite(function, ("getitem", "take", "advanced_index"), lambda node: _at(function.graph, node), supports)


def _at(graph: Graph, node: Node) -> Node | None:
    if len(node.operands) != 2 or node.parameters.get("index", (Slot(1),)) != (Slot(1),):
        return None
    numbers, place = node.operands
    row = row_of(numbers) if numbers.opcode in ("arange", "array", "range", "add", "convert") else None
    if row is None or place.is_python_int or place.interval is None or not numbers.type.is_integral:
        return None
    if row.step != 1 or place.interval[0] < 0 or place.interval[1] >= len(row) or place.shape != node.shape:
        return None
    if place.element_type is not numbers.element_type:
        interval = place.interval
        place = graph.add("convert", (place,), element_type=numbers.element_type, interval=interval)
    return graph.add("add", (place, graph.literal(row.start, numbers.type))) if row.start else place
