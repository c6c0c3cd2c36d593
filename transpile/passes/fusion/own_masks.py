"""Masks of positions are computed where they are used: kernels that see them can restrict loops to intervals. So are
places that are counted, ``i - k``: kernels that see them may read without guards.
"""

from __future__ import annotations

from functools import partial

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node
from ...array.program import Function
from ...array.rewriting import copied, rewrite, with_operands
from ...kernels.intervals import conjuncts


def own_masks(function: Function) -> None:
    """Give each selection in a loop that compares positions a mask of its own, and each read its own places."""
    rewrite(function, ("select",), partial(_with_own, function.graph, live_nodes(function)))
    rewrite(function, ("take",), partial(_with_own_places, function.graph, live_nodes(function)))


def _with_own(graph: Graph, live: LiveNodes, node: Node) -> Node | None:
    mask, *values = node.operands
    parts = conjuncts(mask)
    is_own = live.count(mask) == 1 and all(part.region is node.region for part in (mask, *parts))
    if is_own or not node.region.is_in_loop or not all(map(_compares_positions, parts)):
        return None
    with graph.inside(node.region):
        return graph.typed("select", (_copied(graph, mask), *values), node.shape, node.element_type)


def _with_own_places(graph: Graph, live: LiveNodes, node: Node) -> Node | None:
    x, places = node.operands
    is_counted = places.opcode in ("add", "subtract") and all(
        k.opcode == "arange" or not k.ndim for k in places.operands
    )
    if not is_counted or live.count(places) == 1 or not node.region.is_in_loop:
        return None
    with graph.inside(node.region):
        return with_operands(graph, node, (x, _copied(graph, places)))


def _compares_positions(mask: Node) -> bool:
    return mask.opcode == "compare" and {x.opcode == "arange" or not x.ndim for x in mask.operands} == {True}


def _copied(graph: Graph, node: Node) -> Node:
    operands = tuple(_copied(graph, x) if x.opcode in ("and", "compare") else x for x in node.operands)
    return copied(graph, node, operands, node.interval, node.parameters, pinned=True)
