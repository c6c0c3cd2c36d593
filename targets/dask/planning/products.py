"""Products of two arrays that are both cut: the roles of their axes, and the common part of both strategies for
them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ....transpile.array.graph import Graph
from ....transpile.array.node import Node
from ....transpile.array.value import FULL, NEW, getitem
from ....transpile.dataclass import dataclass
from ..writing.tracing import Index, IndexSymbol, Trace
from .axis_classes import Axis, AxisClasses
from .axis_maps import axis_maps
from .chunks import Chunks
from .nodes import shape_of
from .product_axes import contracted
from .strategy import BlockStrategy, OperandAxis, Root, every_axis


def is_product(node: Node) -> bool:
    """Return whether the parts of a product, one for each chunk of the contracted axis, may be added."""
    return node.operation.is_product or (bool(contracted(node)) and node.type.bits >= 32)


@dataclass(frozen=True, slots=True)
class Product:
    """The axes of a product: ``batch``, ``rows`` and ``columns`` are the axes of the result that come from both
    operands, from the left one, and from the right one. ``summed`` are the contracted axes of the left and the right
    operand.
    """

    batch: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    summed: tuple[int, int]


def product_of(node: Node) -> Product | None:
    """Return the axes of a product with one contracted axis whose partial sums may be added in the type of the result;
    None for any other node.
    """
    pairs = contracted(node)
    if len(pairs) != 1 or node.type.bits < 32:
        return None
    left, right = ({place for place in axis_map if place is not None} for axis_map in axis_maps(node))
    batch, rows, columns = (tuple(sorted(axes)) for axes in (left & right, left - right, right - left))
    return Product(batch, rows, columns, pairs[0])


class ProductStrategy(BlockStrategy):
    """A strategy for products whose contracted axis has several chunks."""

    def same_chunks(self, node: Node, classes: AxisClasses) -> Iterator[tuple[Axis, Axis]]:
        for left, right in contracted(node):
            yield (node.operands[0], left), (node.operands[1], right)

    def divides(self, node: Node) -> list[OperandAxis]:
        return every_axis(node) if is_product(node) else []

    def needs_only_summed(self, node: Node, chunks: Chunks) -> bool:
        """Return whether the axes that are needed whole but cut are all contracted."""
        summed = {(k, pair[k]) for pair in contracted(node) for k in (0, 1)}
        unmet = chunks.unmet(node) if summed else set()
        return bool(unmet) and unmet <= summed

    def summed_symbols(self, node: Node, trace: Trace) -> dict[OperandAxis, IndexSymbol]:
        """Return the index symbols of contracted axes that are cut, by (operand, axis)."""
        chunks = trace.chunks
        first, second = node.operands
        is_cut, find = chunks.is_cut_along, chunks.classes.find
        counts = Counter(find(node, axis) for axis, cut in enumerate(is_cut[node]) if cut)
        found: dict[OperandAxis, IndexSymbol] = {}
        for left, right in contracted(node):
            if is_cut[first][left] or is_cut[second][right]:
                of = find(first, left)
                found[0, left] = found[1, right] = trace.cut_symbol(first, left, counts[of])
                counts[of] += 1
        return found

    def operands(self, root: Root, trace: Trace) -> list[tuple[Node, Index]]:
        node = root.node
        summed, own = self.summed_symbols(node, trace), root.index[len(root.index) - node.ndim :]
        found = []
        for k, (operand, axis_map) in enumerate(zip(node.operands, trace.chunks.classes.axis_maps[node], strict=True)):
            index = [summed.get((k, axis), IndexSymbol()) for axis in range(len(axis_map))]
            for axis, target in enumerate(axis_map):
                if target is not None and shape_of(operand)[axis] == node.shape[target]:
                    index[axis] = own[target]
            found.append((operand, tuple(index)))
        return found

    def last_step(self, root: Root, graph: Graph, operands: tuple[Node, ...]) -> Node:
        node = root.node
        product = graph.typed(node.opcode, operands, node.shape, node.element_type, **node.parameters)
        count = len(root.index) - node.ndim  # axes of parts
        return getitem(graph, product, [NEW] * count + [FULL] * node.ndim) if count else product
