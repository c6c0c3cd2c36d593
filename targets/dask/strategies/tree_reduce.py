"""The strategy of reductions along axes with several chunks: each block gives a part, and dask combines parts in a
tree.
"""

from __future__ import annotations

from math import prod

from ....transpile.array.graph import Graph
from ....transpile.array.node import Node
from ..planning.chunks import Chunks
from ..planning.strategy import BlockStrategy, OperandAxis, Root, every_axis
from ..writing.tracing import Index, Trace

# The ufuncs for booleans, where those for integers have other names.
LOGICAL = {"or": "logical_or", "and": "logical_and"}


def folding(node: Node) -> str:
    """Return the ufunc that combines parts of a reduction; "" for other nodes, and for reductions that parts do not
    determine.
    """
    folds = "add" if node.opcode == "mean" else node.operation.folds if node.operation.is_reduction else ""
    return LOGICAL.get(folds, folds)


class TreeReduce(BlockStrategy):
    """A block function reduces its block to a part with one element along each reduced axis; all parts are reduced once
    more.
    """

    name = "tree_reduce"
    gives_parts = True

    def divides(self, node: Node) -> list[OperandAxis]:
        return every_axis(node) if folding(node) else []

    def is_feasible(self, node: Node, chunks: Chunks) -> bool:
        return bool(folding(node)) and bool(chunks.unmet(node))

    def root(self, node: Node, trace: Trace) -> Root:
        return Root(node, self, trace.own_index(node.operands[0]), tuple(node.parameters["axes"]))

    def operands(self, root: Root, trace: Trace) -> list[tuple[Node, Index]]:
        return [(root.node.operands[0], root.index)]

    def last_step(self, root: Root, graph: Graph, operands: tuple[Node, ...]) -> Node:
        node = root.node
        shape = tuple(1 if axis in root.summed else n for axis, n in enumerate(operands[0].shape))
        parameters = {**node.parameters, "keepdims": True}
        return graph.typed(_method(node), operands, shape, node.element_type, **parameters)

    def part_shape(self, root: Root) -> tuple[int, ...]:
        return tuple(1 if axis in root.summed else n for axis, n in enumerate(root.node.operands[0].shape))

    def ufunc(self, node: Node) -> str:
        return folding(node)

    def combined(self, root: Root, graph: Graph, parts: Node) -> Node:
        node = root.node
        is_mean = node.opcode == "mean"
        made = graph.typed(
            "combine", (parts,), node.shape, node.element_type, pinned=True, method=_method(node), axes=root.summed,
            keepdims=bool(node.parameters.get("keepdims")), stands_for=None if is_mean else node,
        )  # fmt: skip
        if not is_mean:
            return made
        count = graph.literal(prod(node.operands[0].shape[axis] for axis in root.summed), node.type)
        return graph.typed("divide", (made, count), node.shape, node.type, stands_for=node)


def _method(node: Node) -> str:
    return "sum" if node.opcode == "mean" else node.opcode
