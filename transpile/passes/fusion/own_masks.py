"""Masks of positions are computed where they are used: kernels that see them can restrict loops to intervals."""

from __future__ import annotations

from functools import partial

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node
from ...array.program import Function
from ...array.rewriting import rewrite
from ...kernels.intervals import conjuncts


def own_masks(function: Function) -> None:
    """Give each selection in a loop that compares positions with numbers a mask of its own."""
    rewrite(function, ("select",), partial(_with_own, function.graph, live_nodes(function)))


def _with_own(graph: Graph, live: LiveNodes, node: Node) -> Node | None:
    mask, *values = node.operands
    is_own = live.count(mask) == 1 and mask.region is node.region
    if is_own or not node.region.is_in_loop or not all(map(_compares_positions, conjuncts(mask))):
        return None
    with graph.inside(node.region):
        return graph.typed("select", (_copied(graph, mask), *values), node.shape, node.element_type)


def _compares_positions(mask: Node) -> bool:
    return mask.opcode == "compare" and {x.opcode == "arange" or not x.ndim for x in mask.operands} == {True}


def _copied(graph: Graph, mask: Node) -> Node:
    operands = tuple(_copied(graph, x) if x.opcode in ("and", "compare") else x for x in mask.operands)
    return graph.typed(mask.opcode, operands, mask.shape, mask.element_type, pinned=True, **mask.parameters)
