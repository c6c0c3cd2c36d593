"""Masks of positions are computed where something is chosen by them: kernels that see them may go over intervals."""

from __future__ import annotations

from functools import partial

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node
from ...array.program import Function
from ...array.rewriting import rewrite
from ...kernels.intervals import conjuncts


def own_masks(function: Function) -> None:
    """Have each choice in a loop by positions and numbers use a mask of its own."""
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
