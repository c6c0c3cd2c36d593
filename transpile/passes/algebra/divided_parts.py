"""Parts of an array that are divided: ``x[i] / y``, where JAX divides all of x by an array of ones with y at i.

This is ``x.at[i].divide(y)``. A quotient by 1 is the number itself, so nothing else changes.
"""

from __future__ import annotations

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node
from ...array.program import Function
from ...array.rewriting import rewrite
from ...array.support import Support
from ...array.value import getitem, read_index
from ..rewriting.patterns import is_number


def divided_parts(function: Function, supports: Support) -> None:
    """Divide only the part of an array at which the divisor is not 1."""
    if supports.features.arrays_are_mutable:
        graph, live = function.graph, live_nodes(function)
        rewrite(function, ("divide",), lambda node: _divided(graph, live, node), supports)


def _divided(graph: Graph, live: LiveNodes, node: Node) -> Node | None:
    x, divisor = node.operands
    if divisor.opcode != "setitem" or x.shape != node.shape or live.count(divisor) > 1:
        return None
    ones, value, *places = divisor.operands
    index = divisor.parameters["index"]
    is_of_ones = ones.operation.is_filled and is_number(ones.operands[0], 1)
    if not is_of_ones or any(place.ndim for place in places) or any(isinstance(item, tuple) for item in index):
        return None
    part = graph.add("getitem", (x, *places), index=read_index(index)) if places else getitem(graph, x, index)
    by = value.operands[0] if value.opcode == "broadcast_to" and not value.operands[0].ndim else value
    return graph.add("setitem", (x, graph.add("divide", (part, by)), *places), index=index)
