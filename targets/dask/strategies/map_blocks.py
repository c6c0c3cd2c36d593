"""The strategy of blocks that need only the blocks of their operands at the same position, as ``map_blocks`` does."""

from __future__ import annotations

from collections.abc import Iterator

from ....transpile.array.graph import Graph
from ....transpile.array.node import Node
from ..planning.axis_classes import Axis, AxisClasses
from ..planning.chunks import Chunks
from ..planning.nodes import shape_of
from ..planning.strategy import BlockStrategy, Root
from ..writing.tracing import Index, Trace


class MapBlocks(BlockStrategy):
    """A block function computes a block from the blocks at the same position, and from whole arrays.

    It is always feasible: an operand that is needed whole is given whole.
    """

    name = "map_blocks"

    def same_chunks(self, node: Node, classes: AxisClasses) -> Iterator[tuple[Axis, Axis]]:
        for operand, axis_map in zip(node.operands, classes.axis_maps[node], strict=True):
            for axis, place in enumerate(axis_map):
                if place is not None and shape_of(operand)[axis] == shape_of(node)[place] != 1:
                    yield (operand, axis), (node, place)

    def is_feasible(self, node: Node, chunks: Chunks) -> bool:
        return True

    def root(self, node: Node, trace: Trace) -> Root:
        return Root(node, self, trace.own_index(node))

    def operands(self, root: Root, trace: Trace) -> list[tuple[Node, Index]]:
        return [(root.node, root.index)]

    def follow(self, root: Root, trace: Trace) -> None:
        trace.follow(root.node, root.index)

    def last_step(self, root: Root, graph: Graph, operands: tuple[Node, ...]) -> Node:
        return operands[0]
