"""``x[t] @ w`` in every iteration of a loop as row ``t`` of ``x @ w``: one product before the loop takes less time than
many small ones.
"""

from __future__ import annotations

from math import inf, prod

from ...array.graph import Graph
from ...array.live import live_nodes
from ...array.node import Node, Region
from ...array.program import Function, Loop
from ...array.rewriting import rewrite
from ...array.support import Support
from ...array.traversal import is_inside
from ...array.value import permute
from ..loops.loop_rows import is_row, row_at

_MOST_BYTES = 2**26  # of all products of a loop, which are stored


def projections(function: Function, supports: Support) -> None:
    """Hoist products with a row that a loop counts, if the loop changes neither factor."""
    if not supports.features.arrays_fit_memory:
        return
    most_bytes = _MOST_BYTES if supports.features.sizes_are_fixed else inf
    loops: dict[Region, Loop] = {}
    for node in live_nodes(function).of(("loop",)):
        loop: Loop = node.parameters["loop"]
        loops[loop.region] = loop

    def rule(node: Node) -> Node | None:
        return _projected(function.graph, node, loops, most_bytes)

    rewrite(function, ("matmul",), rule, supports)


def _projected(graph: Graph, node: Node, loops: dict[Region, Loop], most_bytes: float) -> Node | None:
    left, right = node.operands
    for row, weights in ((left, right), (right, left)):
        loop = loops.get(row.region)
        if loop is None or is_inside(weights.region, loop.region) or not _is_row_of_round(row, loop):
            continue
        x = row.operands[0]
        size = prod((x.shape[0], *node.shape)) * node.type.bits // 8
        if weights.ndim > 2 or size > most_bytes:
            return None
        if row is right:
            if row.ndim > 1 or weights.ndim < 2:
                return None
            weights = permute(graph, weights, (1, 0))
        whole = graph.typed("matmul", (x, weights), (x.shape[0], *node.shape), node.element_type, **node.parameters)
        return row_at(graph, whole, row.operands[1])
    return None


def _is_row_of_round(row: Node, loop: Loop) -> bool:
    """Return whether a node is a row of an array from outside of a loop, which reads at least half of the rows."""
    if not is_row(row) or not row.ndim or not loop.is_fixed:
        return False
    x, place = row.operands
    is_of_round = place.region is loop.region and not is_inside(x.region, loop.region)
    return is_of_round and 2 * loop.trip_count >= x.shape[0] > 1
