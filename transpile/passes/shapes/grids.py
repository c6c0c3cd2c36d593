"""``np.meshgrid``: rows that are repeated along each other's axes, and stacked as the coordinates of points."""

from __future__ import annotations

from ...array.graph import Graph
from ...array.node import Node
from ...array.program import Function
from ...array.rewriting import call_parameters, rewrite, with_operands
from ...array.support import Support
from ...array.value import NEW


def grids(function: Function, supports: Support) -> None:
    """Raise stacks of rows of which each is repeated along the axes of the others."""
    graph = function.graph
    rewrite(function, ("stack",), lambda node: _of_points(graph, node), supports)


def _of_points(graph: Graph, node: Node) -> Node | None:
    found = [_row(operand) for operand in node.operands]
    rows = [row for row, _ in filter(None, found)]
    axes = [axis for _, axis in filter(None, found)]
    count = len(node.operands)
    orders = {(1, 0, *range(2, count)): {}, tuple(range(count)): {"indexing": "ij"}}
    keywords = orders.get(tuple(axes))
    if count < 2 or len(rows) != count or node.operands[0].ndim != count or keywords is None:
        return None
    call = graph.add("library", tuple(rows), **call_parameters("meshgrid", rows, **keywords))
    items = (graph.add("item", (call,), index=k, interval=row.interval) for k, row in enumerate(rows))
    return with_operands(graph, node, tuple(items))


def _row(node: Node) -> tuple[Node, int] | None:
    """Return the array of one axis that is repeated along all others, and its axis; or None."""
    inner = node.operands[0] if node.opcode == "broadcast_to" else node
    index = inner.parameters["index"] if inner.opcode == "expand" else ()
    row = inner.operands[0] if inner.opcode == "expand" else inner
    if node.opcode != "broadcast_to" or row.ndim != 1 or any(item is NEW for item in index[:1]) or row.is_literal:
        return None
    axis = node.ndim - inner.ndim
    return (row, axis) if row.shape[0] == node.shape[axis] else None
