"""Large scatters of values that are computed for them alone: a loop that runs once, and is compiled as a whole,
computes each value where it is placed.

``zeros.at[index].add(values * x[columns])`` then stores neither the products nor the indices.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node
from ...array.program import Carry, Function, Loop
from ...array.rewriting import rewrite
from ...array.traversal import topological
from ...kernels.gathers import gather_of
from ...kernels.operations import takes_long_alone
from ...target import Kernels
from .compiled_loops import compiled_loops

_MOST_OPERATIONS = 32


def scatter_loops(function: Function, kernels: Kernels) -> None:
    """Let loops that run once compute the large scatters into new arrays, with their values and indices."""
    live = live_nodes(function)
    made: dict[Node, Node] = {}  # by the loop's result: the scatter

    def rule(node: Node) -> Node | None:
        if node.region.depth or kernels.own_function is None or kernels.own_function(node) is None:
            return None
        own = _computed_for(node, live, kernels)
        if not own:
            return None
        item = _loop(function.graph, node, own)
        made[item] = node
        return item

    rewrite(function, ("prelude", "update_at"), rule)
    compiled = set(compiled_loops(function, kernels, with_forms=True))
    rewrite(function, ("item",), lambda node: made.get(node) if node.operands[0] not in compiled else None)


def _computed_for(node: Node, live: LiveNodes, kernels: Kernels) -> list[Node]:
    """The operations on elements whose results only a scatter reads, operands first; none if there are too many."""
    call = kernels.loop_function(node)
    if call is None or not call.is_operation or call.operands is None or not call.operands[0].operation.is_filled:
        return []
    _, value, *indices = call.operands
    batch = np.broadcast_shapes(*(index.shape for index in indices))

    def is_own(part: Node) -> bool:
        is_alone = not live.is_root(part) and all(user is node or user in found for user in live.users(part))
        is_element = part.operation.is_elementwise or gather_of(part) is not None
        is_here = part.region is node.region and bool(part.ndim) and not part.is_python_int
        return is_alone and is_here and is_element and not part.operation.joins and kernels.fuses(part)

    found: set[Node] = set()
    starts = [part for part in (value, *indices) if part.shape in (batch, value.shape)]
    for part in reversed(topological(starts)):
        if (part in starts or any(user in found for user in live.users(part))) and is_own(part):
            found.add(part)
    is_short = len(found) <= _MOST_OPERATIONS and not any(map(takes_long_alone, found))
    return [part for part in topological(starts) if part in found] if is_short else []


def _loop(graph: Graph, node: Node, own: Sequence[Node]) -> Node:
    """The result of a loop that runs once and computes a scatter and some of what it reads."""
    body = node.region.enclosed()
    new: dict[Node, Node] = {}
    with graph.inside(body):
        for part in (*(part for part in node.operands if part.operation.is_filled), *own, node):
            operands = tuple(new.get(operand, operand) for operand in part.operands)
            with graph.standing_for(part, graph):
                new[part] = graph.typed(
                    part.opcode,
                    operands,
                    part.shape,
                    part.element_type,
                    interval=part.interval,
                    pinned=True,
                    **part.parameters,
                )
    initial = graph.add("empty", (), shape=node.shape, element_type=node.element_type, pinned=True)
    parameter = graph.parameter(node.shape, node.element_type, body)
    loop = Loop(body, [Carry(initial, parameter, new[node])])
    whole = graph.typed("loop", (initial,), results=((node.shape, node.element_type),), pinned=True, loop=loop)
    with graph.coming_as(node, graph):
        return graph.typed("item", (whole,), node.shape, node.element_type, index=0, stands_for=node)
