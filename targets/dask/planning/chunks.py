"""Chunks: the axes that are cut, and the lengths of their chunks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import ceil, prod

from ....transpile.array.node import Node
from ....transpile.dataclass import dataclass
from .axis_classes import Axis, AxisClasses
from .nodes import is_argument, shape_of


@dataclass(frozen=True, slots=True)
class Chunks:
    """The chunks of all arrays of a function.

    ``lengths`` has the chunk length of each class of axes to cut. ``is_cut_along`` tells for each node which axes of
    its result are cut. ``fused`` are the nodes that block functions compute together with their users, block by block.
    """

    classes: AxisClasses
    lengths: Mapping[Axis, int]
    is_cut_along: Mapping[Node, tuple[bool, ...]]
    fused: frozenset[Node] = frozenset()

    def is_cut(self, node: Node) -> bool:
        """Return whether a node has several chunks."""
        return any(self.is_cut_along[node])

    def is_planned(self, node: Node, axis: int) -> bool:
        """Return whether an axis belongs to a class that is to be cut."""
        return shape_of(node)[axis] > 1 and self.classes.find(node, axis) in self.lengths

    def unmet(self, node: Node) -> set[tuple[int, int]]:
        """Return the (operand, axis) pairs of a node that are cut although the node needs them whole."""
        rows = zip(node.operands, self.classes.axis_maps[node], strict=True)
        axes = ((k, axis, place) for k, (_, axis_map) in enumerate(rows) for axis, place in enumerate(axis_map))
        return {(k, axis) for k, axis, place in axes if place is None and self.is_cut_along[node.operands[k]][axis]}

    def followed(self, node: Node) -> tuple[bool, ...]:
        """Return which axes of a result are cut: those that are cut in an operand and, for a new array, those to be
        cut.
        """
        found = list(self.is_cut_along[node])
        for operand, axis_map in zip(node.operands, self.classes.axis_maps[node], strict=True):
            for axis, place in enumerate(axis_map):
                if place is not None and self.is_cut_along[operand][axis]:
                    found[place] = True
        is_carried = node.opcode == "parameter" and "argument" not in node.parameters
        if (node.operation.is_source or node.opcode == "broadcast_to") and not is_carried:
            found = [is_cut or self.is_planned(node, axis) for axis, is_cut in enumerate(found)]
        return tuple(found)

    def length(self, node: Node, axis: int) -> int:
        """Return the length of the longest chunk of an axis at the sizes of the plan; the size of an axis that is not
        cut.
        """
        if not self.is_cut_along[node][axis]:
            return shape_of(node)[axis]
        size = self.classes.planned_shape(node)[axis]
        return min(size, self.lengths.get(self.classes.find(node, axis), size))

    def lengths_of(self, node: Node) -> tuple[int, ...]:
        """Return the chunk length of each axis, -1 for an axis that is not cut."""
        return tuple(self.length(node, axis) if cut else -1 for axis, cut in enumerate(self.is_cut_along[node]))

    def block_shape(self, node: Node) -> tuple[int, ...]:
        """Return the shape of the largest chunk."""
        return tuple(self.length(node, axis) for axis in range(len(shape_of(node))))

    def block_bytes(self, node: Node) -> int:
        """Return the bytes of the largest chunk; 0 for a node that is not an array."""
        return prod(self.block_shape(node)) * node.type.dtype.itemsize if node.element_type is not None else 0

    def count(self, node: Node, without: Collection[Axis] = ()) -> int:
        """Return the number of chunks of an array, not counting the axes of the classes ``without``."""
        find, sizes = self.classes.find, enumerate(shape_of(node))
        return prod(ceil(n / max(1, self.length(node, k))) for k, n in sizes if find(node, k) not in without)

    def given_bytes(self, nodes: Iterable[Node], *, by_rows: bool = False) -> int:
        """Return the bytes of a block of each node, without those of ``main``'s arguments if they are read
        ``by_rows``.
        """
        return sum(self.block_bytes(x) for x in nodes if not (by_rows and is_argument(x) and self.is_cut(x)))
