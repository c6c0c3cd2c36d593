"""The strategy of small products of long operands: each chunk of the contracted axis gives a part, and dask adds the
parts.
"""

from __future__ import annotations

from ....transpile.array.graph import Graph
from ....transpile.array.node import Node
from ..planning.chunks import Chunks
from ..planning.products import ProductStrategy, is_product
from ..planning.strategy import Root
from ..writing.tracing import Trace


class SplitK(ProductStrategy):
    """A block function multiplies blocks along the contracted axis; its results are stacked and added in a tree."""

    name = "split_k"
    gives_parts = True

    def is_feasible(self, node: Node, chunks: Chunks) -> bool:
        return self.needs_only_summed(node, chunks) and is_product(node) and not any(chunks.followed(node))

    def root(self, node: Node, trace: Trace) -> Root:
        summed = tuple(dict.fromkeys(self.summed_symbols(node, trace).values()))
        return Root(node, self, (*summed, *trace.own_index(node)), tuple(range(len(summed))))

    def combined(self, root: Root, graph: Graph, parts: Node) -> Node:
        node = root.node
        return graph.typed(
            "combine", (parts,), node.shape, node.element_type, pinned=True, method="sum", axes=root.summed,
            keepdims=False, stands_for=node,
        )  # fmt: skip
