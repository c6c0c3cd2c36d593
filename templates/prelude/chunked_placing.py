"""Rolls, concatenations, pads and slices of lazy arrays along axes that are cut: the
task of a chunk takes the pieces that lie in it, and nothing is joined or cut before.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, product
from math import prod
from typing import Any

import dask.array as da
import numpy as np

from .chunked import Chunked, as_chunked, spans_of
from .chunked_names import name_for
from .chunked_neighbours import overlap
from .chunked_tasks import array_of_tasks
from .memory import MEMORY
from .tiles import Unread, block_of, is_in_file, left_in_file, put_part

Box = tuple[slice, ...]
# An array, and its index at the first element of the result: outside of the array where
# the array begins later or has ended before.
Placed = tuple[Any, Sequence[int]]


def roll_in_chunks(
    x: Any,
    shift: Sequence[int],
    axis: Sequence[int],
    *,
    chunks: Sequence[int],
    task: "type[Placing] | None" = None,
) -> da.Array:
    """Return ``np.roll`` of a lazy array, which is placed twice along each axis that
    moves.
    """
    shape = as_chunked(x).array.shape
    starts: list[tuple[int, ...]] = [(0,)] * len(shape)
    for k, by in zip(axis, shift, strict=True):
        starts[k] = -by % shape[k], -by % shape[k] - shape[k]
    placed = [(x, start) for start in product(*starts)]
    return placed_in_chunks("roll", placed, shape, chunks, task=task)


def concatenate_in_chunks(
    *parts: Any,
    axis: int = 0,
    chunks: Sequence[int],
    task: "type[Placing] | None" = None,
) -> da.Array:
    """Return ``np.concatenate`` of lazy arrays."""
    shape, placed = list(as_chunked(parts[0]).array.shape), []
    shape[axis] = 0
    for x in parts:
        start = [0] * len(shape)
        start[axis] = -shape[axis]
        placed.append((x, start))
        shape[axis] += as_chunked(x).array.shape[axis]
    return placed_in_chunks("concatenate", placed, shape, chunks, task=task)


def pad_in_chunks(
    x: Any,
    fill: Any,
    widths: Sequence[tuple[int, int]],
    *,
    chunks: Sequence[int],
    task: "type[Placing] | None" = None,
) -> da.Array:
    """Return ``np.pad`` of a lazy array with a number."""
    sizes = zip(as_chunked(x).array.shape, widths, strict=True)
    shape = [low + n + high for n, (low, high) in sizes]
    placed = [(x, [-low for low, _ in widths])]
    return placed_in_chunks("pad", placed, shape, chunks, fill, task=task)


def slice_in_chunks(
    x: Any,
    starts: Sequence[int],
    shape: Sequence[int],
    steps: Sequence[int] = (),
    *,
    chunks: Sequence[int],
    task: "type[Placing] | None" = None,
) -> da.Array:
    """Return the box of a ``shape`` that begins at ``starts`` of a lazy array. The box
    takes every n-th element along each axis, as ``steps`` say.
    """
    placed = [(x, starts)]
    return placed_in_chunks("slice", placed, shape, chunks, 0, steps, task=task)


def update_slice_in_chunks(
    x: Any,
    update: Any,
    starts: Sequence[int],
    *,
    chunks: Sequence[int],
    task: "type[Placing] | None" = None,
) -> da.Array:
    """Return a lazy array with another written into it, which begins at ``starts``."""
    shape = as_chunked(x).array.shape
    placed = [(x, (0,) * len(shape)), (update, [-start for start in starts])]
    return placed_in_chunks("update_slice", placed, shape, chunks, task=task)


def placed_in_chunks(
    name: str,
    placed: Sequence[Placed],
    shape: Sequence[int],
    chunks: Sequence[int],
    fill: Any = 0,
    steps: Sequence[int] = (),
    *,
    task: "type[Placing] | None" = None,
) -> da.Array:
    """Return the array that placed arrays make up, the later ones over those before.
    Elements that no array covers are ``fill``. All arrays go in ``steps``, which may be
    negative. A ``task`` makes each chunk, ``Placing`` by default.

    Along axes that are as long as those of the first array, the result has its chunks,
    and else ``chunks`` of so many elements.
    """
    arrays = [(as_chunked(x), starts) for x, starts in placed]
    edges = [edges_of(x) for x, _ in arrays]
    first, sizes, steps = arrays[0][0], tuple(shape), steps or (1,) * len(shape)
    planned = da.core.normalize_chunks(tuple(chunks), sizes)
    cuts = tuple(
        own if n == size else plan
        for own, plan, n, size in zip(
            first.chunks, planned, first.array.shape, sizes, strict=True
        )
    )
    spans = [spans_of(cut) for cut in cuts]
    kind, dtype = task or Placing, first.array.dtype
    key = name_for(name, arrays, cuts, steps, fill, kind.__name__)
    tasks: dict[Any, Any] = {}
    for place in np.ndindex(*map(len, spans)):
        box = tuple(span[k] for span, k in zip(spans, place, strict=True))
        pieces = [
            piece
            for (x, starts), ends in zip(arrays, edges, strict=True)
            for piece in pieces_in(x, ends, starts, steps, box)
        ]
        for k, (own, _, _) in enumerate(pieces):
            if own == whole_of(box):  # it hides the pieces before it
                pieces = pieces[k:]
        parts = [piece[:2] for piece in pieces]
        placing = kind(name, parts, steps, box, dtype, fill)
        tasks[key, *place] = (placing, *(source for _, _, source in pieces))
    return array_of_tasks(key, tasks, [x.array for x, _ in arrays], cuts, dtype)


def whole_of(box: Box) -> Box:
    """Return a box relative to its own first element."""
    return tuple(slice(0, part.stop - part.start) for part in box)


def edges_of(x: Chunked) -> list[list[int]]:
    """Return for each axis of an array the edges of the blocks that a task may take; an
    array that is not lazy is one block.
    """
    cuts = x.array.chunks if isinstance(x.array, da.Array) else zip(x.array.shape)
    return [list(accumulate(cut, initial=0)) for cut in cuts]


def pieces_in(
    x: Chunked,
    edges: Sequence[list[int]],
    starts: Sequence[int],
    steps: Sequence[int],
    box: Box,
) -> Iterator[tuple[Box, Box, Any]]:
    """Yield the pieces of an array in a box, block by block if the array is lazy: the
    place in the box, the place in the source, and the source.
    """
    reached = []
    for part, ends, start, step in zip(box, edges, starts, steps, strict=True):
        found, size, sign = [], abs(step), 1 if step > 0 else -1
        # Place p of the result has the element ``start + step * p`` of the axis.
        one, other = start + step * part.start, start + step * (part.stop - 1)
        begin = max(1, bisect_right(ends, min(one, other))) - 1
        stop = min(bisect_left(ends, max(one, other) + 1), len(ends) - 1)
        for number in range(begin, stop):
            inside = ends[number], ends[number + 1] - 1
            first, last = sorted((edge - start) * sign for edge in inside)
            low = max(part.start, -(-first // size))
            high = min(part.stop, last // size + 1)
            if low < high:
                own = slice(low - part.start, high - part.start)
                reads = (start - ends[number] + step * at for at in (low, high - 1))
                first, last = sorted(reads)
                found.append((number, own, slice(first, last + 1, size)))
        reached.append(found)
    is_lazy = isinstance(x.array, da.Array)
    for parts in product(*reached):
        source = (x.array.name, *(k for k, _, _ in parts)) if is_lazy else x.array
        places = tuple(own for _, own, _ in parts)
        yield places, tuple(inner for _, _, inner in parts), source


class Placing:
    """The task of a chunk, which puts pieces of sources where they belong, reversed
    along axes whose steps are negative.
    """

    def __init__(
        self,
        name: str,
        pieces: Sequence[Any],
        steps: Sequence[int],
        box: Box,
        dtype: Any,
        fill: Any,
    ) -> None:
        self.pieces, self.dtype, self.fill = pieces, dtype, fill
        self.order = tuple(slice(None, None, -1 if n < 0 else 1) for n in steps)
        self.box = whole_of(box)
        self.__name__ = name  # for dask's progress bars and dashboard

    def __call__(self, *sources: Any) -> Any:
        parts = [
            (own, left_in_file(source), inner)
            for (own, inner), source in zip(self.pieces, sources, strict=True)
        ]
        if len(parts) == 1 and parts[0][0] == self.box:
            ((_, source, inner),) = parts
            return np.asarray(block_of(source[inner]))[self.order]
        shape = [part.stop for part in self.box]
        result = MEMORY.room(shape, self.dtype)
        if sum(result[own].size for own, _, _ in parts) < result.size:
            result[...] = self.fill
        for own, source, inner in parts:
            put_part(result[own][self.order], source, inner)
        return result


class PlacingUnread(Placing):
    """A task that leaves files unread, for others that read a few rows at a time."""

    def __call__(self, *sources: Any) -> Any:
        found = [left_in_file(source) for source in sources]
        is_turned = any(along.step < 0 for along in self.order)
        if is_turned or not all(map(is_in_file, found)):
            return super().__call__(*sources)
        parts = [
            (own, source[inner] if hasattr(source, "read") else Unread(source, inner))
            for (own, inner), source in zip(self.pieces, found, strict=True)
        ]
        return Unread(PlacedParts(parts, self.box, self.dtype, self.fill), self.box)


class PlacedParts:
    """A box with parts of arrays in files, the later ones over those before. Elements
    of the parts are read when they are requested.
    """

    def __init__(
        self, parts: Sequence[tuple[Box, Any]], box: Box, dtype: Any, fill: Any
    ) -> None:
        self.parts, self.dtype, self.fill = parts, dtype, fill
        self.shape = tuple(part.stop for part in box)

    def __getitem__(self, index: Box) -> np.ndarray:
        found = self.parts_in(index)
        if len(found) == 1 and found[0][0] == whole_of(index):
            ((_, part),) = found
            return np.asarray(part.read())
        result = MEMORY.room([part.stop - part.start for part in index], self.dtype)
        self.read_into(result, index)
        return result

    def read_into(self, result: np.ndarray, index: Box) -> None:
        """Write a part of the box to an array in memory."""
        found = self.parts_in(index)
        if sum(prod(part.shape) for _, part in found) < result.size:
            result[...] = self.fill
        for own, part in found:
            put_part(result[own], part.array, part.index)

    def parts_in(self, index: Box) -> list[tuple[Box, Any]]:
        """Return the parts that overlap a box, each with its place in that box."""
        found: list[tuple[Box, Any]] = []
        for places, part in self.parts:
            inside, own = overlap(index, places, index)
            if inside == whole_of(index):  # it hides the pieces before it
                found = []
            if all(along.start < along.stop for along in inside):
                found.append((inside, part[own]))
        return found
