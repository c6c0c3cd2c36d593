"""Transposes that cancel out: ``-x`` for ``(-x.T).T``, ``x.sum(axis=1)`` for ``x.T.sum(axis=0)``, and no transpose of
``x + x.T``, which is symmetric.

Gradients of matrix equations have them.
"""

from __future__ import annotations

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node
from ...array.operations import OPERATIONS
from ...array.program import Function
from ...array.rewriting import rewrite, with_operands
from ...array.support import Support
from ...array.value import permute

_DEEPEST = 4  # nested operations that are followed
_SWAPPED = (1, 0)


def transposes(function: Function, supports: Support) -> None:
    """Remove transposes that cancel out."""
    graph, live = function.graph, live_nodes(function)
    rewrite(function, ("transpose",), lambda node: _without(graph, live, node), supports)
    rewrite(function, ("diagonal",), lambda node: _diagonal(graph, node), supports)
    rewrite(function, _REDUCTIONS, lambda node: _reduced(graph, live, node), supports)


def _without(graph: Graph, live: LiveNodes, node: Node) -> Node | None:
    """Return what a transpose gives without it: the operand if that is symmetric, or an element-wise operation on what
    its operands are transposes of; one transpose for two.
    """
    axes, (x,) = tuple(node.parameters["axes"]), node.operands
    if x.opcode == "transpose":
        return permute(graph, x, axes)
    if axes == _SWAPPED and _is_symmetric(x):
        return x
    if not x.operation.is_elementwise or live.count(x) > 1 or x.stands_alone:
        return None
    arrays = [operand for operand in x.operands if operand.ndim]
    is_back = all(
        operand.opcode == "transpose"
        and operand.shape == x.shape
        and [operand.parameters["axes"][axis] for axis in axes] == list(range(x.ndim))
        for operand in arrays
    )
    if not arrays or not is_back:
        return None
    operands = tuple(operand.operands[0] if operand.ndim else operand for operand in x.operands)
    return graph.add(x.opcode, operands, element_type=x.element_type, interval=x.interval, **x.parameters)


def _is_symmetric(node: Node, depth: int = _DEEPEST) -> bool:
    """Return whether a matrix is known to be its own transpose, in every bit."""
    if node.ndim != 2 or node.shape[0] != node.shape[1]:
        return False
    if node.opcode == "add" and _are_transposes(*node.operands):
        return True
    if node.opcode in ("multiply", "divide", "negate", "add", "subtract") and depth:
        return all(not operand.ndim or _is_symmetric(operand, depth - 1) for operand in node.operands)
    if node.opcode in ("setitem", "update_at") and len(node.operands) == 4:  # on the diagonal
        start, _, row, column = node.operands
        return row is column and row.ndim == 1 and (start.operation.is_filled or _is_symmetric(start, depth - 1))
    return node.opcode == "eye" and not node.parameters.get("diagonal")


def _are_transposes(x: Node, y: Node) -> bool:
    return any(
        other.opcode == "transpose" and other.operands[0] is one and tuple(other.parameters["axes"]) == _SWAPPED
        for one, other in ((x, y), (y, x))
    )


def _diagonal(graph: Graph, node: Node) -> Node | None:
    """Return the diagonal of a matrix for that of its transpose."""
    (turned,), is_main = node.operands, not node.parameters.get("offset")
    is_turned = turned.opcode == "transpose" and tuple(turned.parameters["axes"]) == _SWAPPED
    return with_operands(graph, node, turned.operands) if is_turned and is_main and turned.ndim == 2 else None


_REDUCTIONS = [opcode for opcode, row in OPERATIONS.items() if row.is_reduction and "keepdims" in row.parameters]


def _reduced(graph: Graph, live: LiveNodes, node: Node) -> Node | None:
    """Return the reduction of what is transposed, if nothing else reads the transpose and the other axes stay in
    order.
    """
    (turned,) = node.operands
    if turned.opcode != "transpose" or live.count(turned) > 1 or node.parameters.get("keepdims"):
        return None
    order = turned.parameters["axes"]
    reduced = tuple(sorted(order[axis] for axis in node.parameters["axes"]))
    left = [axis for axis in order if axis not in reduced]
    if left != sorted(left):
        return None
    return with_operands(graph, node, turned.operands, axes=reduced)
