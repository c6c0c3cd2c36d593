"""The strategy of products of two large arrays: a task computes a block, and loops over chunks of the contracted
axis.
"""

from __future__ import annotations

from math import ceil, prod

from ....transpile.array.node import Node
from ..planning.axis_classes import AxisClasses
from ..planning.chunks import Chunks
from ..planning.products import ProductStrategy, product_of
from ..planning.strategy import Lengths, Root
from ..writing.tracing import Trace


class KLoop(ProductStrategy):
    """A task reads the chunks of both operands that a block needs one after the other, and adds their products."""

    name = "k_loop"
    accumulates = True

    def propose(
        self, node: Node, classes: AxisClasses, sizes: Lengths, lengths: Lengths, needs: Lengths, target: int
    ) -> Lengths:
        """Return square blocks with short steps for a product of large matrices, so that both are read few times.

        A small product stays whole, and is cut along the contracted axis if that is the longest: its parts are added.
        If one operand is small, it stays whole, and the other is cut into rows or columns.
        """
        product = product_of(node) if node.operation.is_product else None
        if product is None or len(product.rows) != 1 or len(product.columns) != 1:
            return {}
        rows, columns = (node.shape[axis] for axis in (*product.rows, *product.columns))
        shortest, longest, width = min(rows, columns), max(rows, columns), node.type.dtype.itemsize
        summed = node.operands[0].shape[product.summed[0]]
        step = classes.find(node.operands[0], product.summed[0])
        if longest * summed * width <= target:
            return {}
        if rows * columns * width <= target // 4:
            if summed > longest and not product.batch:
                return {step: lengths.get(step, max(1, target // (width * longest)))}
            return {}
        if shortest * summed * width <= target // 8:
            return {}
        result = [classes.find(node, axis) for axis in (*product.rows, *product.columns)]
        now = {classes.find(node, axis): 1 for axis in product.batch if node.shape[axis] > 1}
        now.update({key: lengths.get(key, ceil(sizes.get(key, 1) / 2)) for key in result})
        while prod(now[key] for key in result) * width > target // 2:
            long = max(result, key=lambda key: now[key])
            now[long] = ceil(now[long] / 2)
        if step not in now:
            now[step] = lengths.get(step, max(1, target // 4 // (width * max(now.values()))))
        return {key: length for key, length in now.items() if length < sizes.get(key, 1)}

    def is_feasible(self, node: Node, chunks: Chunks) -> bool:
        return self.needs_only_summed(node, chunks) and any(chunks.followed(node)) and product_of(node) is not None

    def root(self, node: Node, trace: Trace) -> Root:
        return Root(node, self, trace.own_index(node))
