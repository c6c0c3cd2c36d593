"""Traces: the nodes of a block function, which computes a block of some arrays from blocks of others.

A trace starts at the wanted arrays (the roots) and follows axis maps back to arrays that exist (the sources). Each axis
gets an index symbol, which axes that are the same share.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from math import prod
from typing import Any

from ....transpile.array.node import Node, Region
from ....transpile.array.traversal import body_and_captured, is_inside
from ....transpile.dataclass import dataclass
from ..planning.axis_classes import Axis
from ..planning.chunks import Chunks
from ..planning.nodes import is_argument, name_of, shape_of
from ..planning.product_axes import contracted

INNER = 4  # arrays of the size of its result that a prelude function may hold

CutAxis = tuple[Axis, int]  # the class of a cut axis, and a number that tells apart two axes of one array in a class


def is_free(node: Node) -> bool:
    """Return whether a node takes no memory of its own."""
    return node.operation.is_light or node.operation.is_view


@dataclass(frozen=True, eq=False, slots=True)
class IndexSymbol:
    """An axis in the index of a block function. ``cut`` is None if it is not cut."""

    cut: CutAxis | None = None

    @property
    def is_cut(self) -> bool:
        return self.cut is not None


Index = tuple[IndexSymbol, ...]
Key = tuple[Any, ...]  # the CutAxis of each axis, or None
Place = tuple[Node, Key]  # a node, and the blocks of it that an index selects


def key_of(index: Index) -> Key:
    """Return the key of an index: indices with the same key select the same blocks of a node."""
    return tuple(symbol.cut for symbol in index)


@dataclass(slots=True)
class Source:
    """An array that a block function takes, and its index."""

    node: Node
    index: Index


@dataclass(slots=True)
class Trace:
    """The nodes of a block function, operands first, each with its index."""

    chunks: Chunks
    region: Region
    symbols: dict[CutAxis, IndexSymbol] = field(default_factory=dict)
    sources: dict[Place, Source] = field(default_factory=dict)
    order: list[Place] = field(default_factory=list)
    operands: dict[Place, list[Place]] = field(default_factory=dict)

    def cut_symbol(self, node: Node, axis: int, count: int) -> IndexSymbol:
        """Return the symbol of a cut axis: the same for all axes of its class."""
        cut = (self.chunks.classes.find(node, axis), count)
        return self.symbols.setdefault(cut, IndexSymbol(cut))

    def own_index(self, node: Node) -> Index:
        """Return the index of an array at which a trace starts."""
        seen: dict[Axis, int] = {}
        result = []
        for axis, is_cut in enumerate(self.chunks.is_cut_along[node]):
            if not is_cut:
                result.append(IndexSymbol())
                continue
            of = self.chunks.classes.find(node, axis)
            result.append(self.cut_symbol(node, axis, seen.get(of, 0)))
            seen[of] = seen.get(of, 0) + 1
        return tuple(result)

    def follow(self, node: Node, index: Index, *, is_root: bool = True) -> None:
        """Add a node and all nodes that it is computed from, without recursion."""
        stack: list[tuple[Node, Index, bool, bool]] = [(node, index, False, is_root)]
        while stack:
            node, index, ready, root = stack.pop()
            place = (node, key_of(index))
            if ready:
                self.order.append(place)
                continue
            if place in self.operands or place in self.sources:
                continue
            if not root and self._is_source(node, index):
                self.sources[place] = Source(node, index)
                continue
            children = list(self._children(node, index))
            self.operands[place] = [(child, key_of(inner)) for child, inner in children]
            stack.append((node, index, True, root))
            stack.extend((child, inner, False, False) for child, inner in reversed(children))

    def _is_source(self, node: Node, index: Index) -> bool:
        if node.opcode == "parameter":
            return True
        if node.is_literal or node.opcode == "integer":
            return False
        if node.opcode == "item" and (node.operands[0].opcode == "parameter" or is_argument(node)):
            return True
        if node not in self.chunks.fused:
            return True
        if node.results:
            return False
        if node.region is not self.region and not is_inside(self.region, node.region):
            return False  # inside a body that is copied whole
        cut = self.chunks.is_cut_along[node]
        if node.region is not self.region and not (any(cut) or node.operation.is_source or node.is_python_int):
            return True  # only cut arrays are recomputed in each step of a loop, since they may not fit into memory
        asked = tuple(symbol.is_cut for symbol in index)
        return cut != asked or (node.operation.is_source and any(asked))

    def _children(self, node: Node, index: Index) -> Iterator[tuple[Node, Index]]:
        cut = self.chunks.is_cut_along
        summed: dict[tuple[int, int], IndexSymbol] = {}  # of contracted axes, by (operand, axis)
        for left, right in contracted(node):
            if cut[node.operands[0]][left] == cut[node.operands[1]][right]:
                summed[0, left] = summed[1, right] = IndexSymbol()
        for k, (operand, axis_map) in enumerate(zip(node.operands, self.chunks.classes.axis_maps[node], strict=True)):
            inner = tuple(
                summed.get((k, axis)) or IndexSymbol()
                if place is None or shape_of(operand)[axis] != shape_of(node)[place]
                else index[place]
                for axis, place in enumerate(axis_map)
            )
            yield operand, inner
        if node.operation.has_body:
            for outer in body_and_captured(node)[1]:
                yield outer, tuple(IndexSymbol() for _ in shape_of(outer))

    # -- what a task of it holds

    def needed_whole(self) -> str:
        """Return the operations that are not done in chunks and their axes, as in ``one chunk: sort along axis 0``; ""
        if there are none.
        """
        found: dict[str, None] = {}
        for place in self.order:
            for operand in self.operands[place]:
                source = self.sources.get(operand)
                if source is None:
                    continue
                cut = self.chunks.is_cut_along[source.node]
                axes = [k for k, symbol in enumerate(source.index) if cut[k] and not symbol.is_cut]
                if axes:
                    many = "axes" if len(axes) > 1 else "axis"
                    found[f"{name_of(place[0])} along {many} {', '.join(map(str, axes))}"] = None
        return f"one chunk: {', '.join(found)}" if found else ""

    def bytes_at(self, place: Place) -> int:
        """Return the bytes of the part of a node that a block function makes or takes."""
        element_type = place[0].element_type
        return 0 if element_type is None else prod(self.sizes_at(place)) * element_type.dtype.itemsize

    def sizes_at(self, place: Place) -> list[int]:
        """Return the shape of the part of a node that a block function makes or takes."""
        node, key = place
        lengths = self.chunks.lengths
        return [
            min(size, lengths.get(cut[0], size)) if cut is not None else size
            for size, cut in zip(self.chunks.classes.planned_shape(node), key, strict=False)
        ]

    def given_bytes(self, *, by_rows: bool = False) -> int:
        """Return the bytes of the blocks that a task takes.

        If arguments of ``main`` are read ``by_rows``, their blocks count only if several are joined.
        """
        return sum(
            self.bytes_at(place)
            for place, source in self.sources.items()
            if not (by_rows and is_argument(source.node) and self.chunks.is_cut(source.node)) or self._is_joined(source)
        )

    def _is_joined(self, source: Source) -> bool:
        """Return whether a task takes several chunks of an array as one."""
        cut = self.chunks.is_cut_along[source.node]
        return any(is_cut and not symbol.is_cut for is_cut, symbol in zip(cut, source.index, strict=True))

    def made_bytes(self, rows: CutAxis | None = None, share: float = 1.0) -> int:
        """Return the peak of the intermediate arrays of a task, with the arrays that prelude functions hold.

        Of arrays that are cut along ``rows``, only the ``share`` of a tile counts.
        """

        def size_of(place: Place) -> int:
            size = self.bytes_at(place)
            return int(size * share) if rows is not None and rows in place[1] else size

        last: dict[Place, int] = {}
        for at, place in enumerate(self.order):
            for operand in self.operands[place]:
                last[operand] = at
        alive = peak = 0
        dying: dict[int, int] = {}
        for at, place in enumerate(self.order):
            size = 0 if is_free(place[0]) else size_of(place)
            alive += size
            inner = 0
            if place[0].opcode == "prelude":
                inner = INNER * max(map(size_of, (place, *self.operands[place])))
            elif place[0].opcode == "argsort":  # NumPy's places have 64 bits
                inner = size * 8 // place[0].type.dtype.itemsize
            peak = max(peak, alive + inner)
            end = last.get(place, len(self.order))
            dying[end] = dying.get(end, 0) + size
            alive -= dying.pop(at, 0)
        return peak
