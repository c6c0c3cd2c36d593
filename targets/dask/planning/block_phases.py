"""The phases that a block function computes: their arrays, the cost of their tasks, and their tiling into rows."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from math import ceil, prod

from ....templates.prelude.tiles import TILE_BYTES
from ....transpile.array.node import Node, Region
from ....transpile.dataclass import dataclass
from ..writing.tracing import INNER, CutAxis, IndexSymbol, Place, Trace
from .nodes import is_argument, is_plain_number, name_of, shape_of
from .strategy import Cost, Root

MUCH = 16  # times the size of an argument
WHOLE_ELEMENTS = 1 << 15  # at most, that are recomputed for each tile
CACHE_LINE = 64  # bytes


@dataclass(frozen=True, slots=True)
class Tiles:
    """The rows of a block that one call of a block function takes.

    The rows are along ``symbol``, which is the axis ``cut`` in each source, None if the source does not have it. For
    each result, ``joined`` is the axis along which the rows are concatenated, or NumPy's function that combines them.
    ``rows`` limits the rows of a call that makes large intermediate arrays of small rows.
    """

    symbol: IndexSymbol
    cut: tuple[int | None, ...]
    joined: tuple[int | str, ...]
    rows: int | None


@dataclass(frozen=True)
class BlockPhase:
    """Nodes that one block function computes together: they are ready at the same time and have the same chunks."""

    region: Region
    roots: tuple[Root, ...]
    trace: Trace

    @property
    def first(self) -> Node:
        """The array that gives the phase its name."""
        return self.roots[0].node

    @property
    def accumulates(self) -> bool:
        """Whether the block function is called for one chunk of the summed axis at a time."""
        return any(root.strategy.accumulates for root in self.roots)

    @cached_property
    def note(self) -> str:
        """A description of the operations that need whole arrays, or ""."""
        return self.trace.needed_whole()

    @cached_property
    def tiles(self) -> Tiles | None:
        """Rows along the first cut axis.

        None if too much would be recomputed for each tile, if rows would be columns of a few bytes, for products that
        accumulate or that only multiply arrays, and for transposes, which are views.
        """
        if self.accumulates or self._is_plain_product() or self._is_turned():
            return None
        sources = list(self.trace.sources.values())
        for symbol in (symbol for symbol in self.roots[0].index if symbol.is_cut):
            cut = tuple(
                source.index.index(symbol) if symbol in source.index and not is_plain_number(source.node) else None
                for source in sources
            )
            if any(axis is not None for axis in cut):
                break
        else:
            return None
        if self._reads_scattered:
            return None
        again = [node for node, key in self.trace.order if symbol.cut not in key]
        if any(node.results or "branches" in node.parameters for node in again):
            return None
        if sum(prod(self.trace.chunks.classes.planned_shape(node)) for node in again) > WHOLE_ELEMENTS:
            return None
        ways = [_joined(root, symbol) for root in self.roots]
        joined = tuple(way for way in ways if way is not None)
        return Tiles(symbol, cut, joined, self._most_rows(symbol.cut)) if len(joined) == len(ways) else None

    @property
    def takes_pieces(self) -> bool:
        """Whether the tasks take a few rows of their blocks at a time, and so may read blocks from files."""
        return self.tiles is not None and not self.accumulates and not self.note

    def _most_rows(self, cut: CutAxis | None) -> int | None:
        """Return the number of rows that fit the cache if a block function makes much larger arrays than it is given,
        else None.
        """
        assert cut is not None
        given, made = (self._largest(places, cut) for places in (self.trace.sources, self.trace.order))
        if made <= max(TILE_BYTES, MUCH * given):
            return None
        return max(1, TILE_BYTES // INNER * self.trace.chunks.length(*cut[0]) // made)

    @cached_property
    def _reads_scattered(self) -> bool:
        """Whether rows would be columns of a few bytes. A block is then read at once, and dask copies it."""
        symbols = [symbol for symbol in self.roots[0].index if symbol.is_cut]
        pairs = ((source, symbol.cut) for symbol in symbols for source in self.trace.sources)
        return any(self._is_scattered(source, cut) for source, cut in pairs if cut in source[1])

    def _is_scattered(self, place: Place, cut: CutAxis | None) -> bool:
        """Return whether the rows of a call are stored in pieces that are shorter than a cache line."""
        sizes, axis = self.trace.sizes_at(place), place[1].index(cut)
        rows = max(1, sizes[axis] * TILE_BYTES // max(1, self.trace.bytes_at(place)))
        piece = rows * prod(sizes[axis + 1 :]) * place[0].type.dtype.itemsize
        return rows < sizes[axis] and prod(sizes[:axis]) > 1 and piece < CACHE_LINE

    def _largest(self, places: Iterable[Place], cut: CutAxis | None) -> int:
        return max((self.trace.bytes_at(place) for place in places if cut in place[1]), default=0)

    def _is_plain_product(self) -> bool:
        """Return whether the phase multiplies arrays without other work: BLAS does its own blocking."""
        before = [node for node, _ in self.trace.order if node is not self.first]
        is_alone = len(self.roots) == 1 and self.first.opcode == "matmul"
        return is_alone and all(node.opcode == "transpose" and node.ndim == 2 for node in before)

    @property
    def is_transpose(self) -> bool:
        """Whether the phase is only a transpose of a matrix."""
        nodes = {self.first, *(node for node, _ in self.trace.order)}
        return len(nodes) == len(self.roots) == 1 and self.first.opcode == "transpose" and self.first.ndim == 2

    def _is_turned(self) -> bool:
        """Return whether the phase only transposes or expands its blocks."""
        nodes = [root.node for root in self.roots] + [node for node, _ in self.trace.order]
        return all(node.opcode in ("transpose", "expand") for node in nodes)

    @cached_property
    def cost(self) -> Cost:
        """The cost of the tasks: the blocks that they are given, their results, and intermediate arrays, for a tile at
        a time.
        """
        chunks, sources = self.trace.chunks, [source.node for source in self.trace.sources.values()]
        parts = sum(chunks.block_bytes(root.node) for root in self.roots if root.strategy.gives_parts)
        blocks = sum(chunks.block_bytes(root.node) for root in self.roots if not root.strategy.gives_parts)
        held, share, tiles = parts, 1.0, self.tiles
        if self.accumulates:
            held += 2 * blocks  # the sum and a summand
        if tiles is not None:
            cut = tiles.symbol.cut
            assert cut is not None
            largest = self._largest(self.trace.sources if tiles.rows is None else self.trace.order, cut)
            row = 1 / chunks.length(*cut[0])
            share = min(1.0, max(row, max(TILE_BYTES, held) / max(1, largest)))
            held += blocks
        held += self.trace.made_bytes(tiles.symbol.cut if tiles is not None else None, share)
        return Cost(
            name_of(self.first),
            tasks=self._tasks(),
            task_bytes=held + self.trace.given_bytes(),
            file_task_bytes=held + self.trace.given_bytes(by_rows=tiles is not None),
            sources=tuple(x for x in sources if x.ndim),
            passes=tuple(x for x in sources if is_argument(x) and chunks.is_cut(x)),
            handed_on_bytes=blocks,
            part_bytes=parts,
            note=self.note,
        )

    def _tasks(self) -> int:
        found = {symbol.cut for root in self.roots for symbol in root.index if symbol.cut is not None}
        return prod(ceil(shape_of(x)[axis] / self.trace.chunks.length(x, axis)) for (x, axis), _ in found)


def _joined(root: Root, symbol: IndexSymbol) -> int | str | None:
    """Return how the results of all tiles become one block; None for sums of narrow floats, where each partial sum
    would round.
    """
    axis = root.index.index(symbol)
    if axis not in root.summed:
        return axis
    element_type = root.node.type
    return None if element_type.is_floating and element_type.bits < 32 else root.strategy.ufunc(root.node)
