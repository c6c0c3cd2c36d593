"""Arrays in other chunks, by way of files."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate, pairwise, product
from math import isqrt, prod
from typing import Any

import dask.array as da
import numpy as np

from .arrays_in_files import FileArray, in_one_piece
from .chunked_names import name_for, phase_of
from .chunked_tasks import array_of_tasks
from .memory import MEMORY
from .tiles import put_part
from .tiles_in_files import Stored, in_files

Sizes = tuple[int, ...]  # of the chunks along an axis
Overlaps = list[tuple[int, slice, slice]]  # of a chunk with others, along an axis
MOST_PARTS = 16  # of old chunks in a new one; with more, arrays are recut in two steps
MOST_PIECES = 8192  # that both steps read, unless chunks between them became too large
MOST_LARGER = 16  # the ratio, at most, of chunks between two steps to the others


def recut(x: da.Array, chunks: tuple[Sizes, ...]) -> da.Array:
    """Return the array in other chunks. The old blocks lie in files until all tasks
    have read their parts of them. If each task had to read very many parts, parts that
    lie close together are put into larger files first.
    """
    stored = in_files(x)
    if pieces(x.chunks, chunks) > MOST_PARTS * max(
        x.npartitions, prod(map(len, chunks))
    ):
        stored = assembled(joined_in_file, stored, halfway(x.chunks, chunks))
    return assembled(joined, stored, chunks)


def assembled(
    join: Callable[..., Any], stored: da.Array, chunks: tuple[Sizes, ...]
) -> da.Array:
    """Return the array of blocks in files in other chunks, each made by ``join``."""
    name = name_for(phase_of(stored), join, stored, chunks)
    along = [overlaps(*pair) for pair in zip(stored.chunks, chunks, strict=True)]
    tasks: dict[Any, Any] = {}
    for place in np.ndindex(*map(len, chunks)):
        shape = tuple(sizes[k] for sizes, k in zip(chunks, place, strict=True))
        found = [parts[k] for parts, k in zip(along, place, strict=True)]
        numbers = product(*([number for number, _, _ in parts] for parts in found))
        keys = [(stored.name, *number) for number in numbers]
        tasks[name, *place] = (partial(join, shape, found), keys)
    return array_of_tasks(name, tasks, [stored], chunks, stored.dtype)


def joined(shape: Sizes, found: list[Overlaps], blocks: Sequence[Stored]) -> np.ndarray:
    """Return a block made of parts of others, which were ``found`` along each axis."""
    result = MEMORY.room(shape, blocks[0].dtype)
    for target, block, source in parts_of(found, blocks):
        put_part(result[target], block, source)
    return result


def joined_in_file(
    shape: Sizes, found: list[Overlaps], blocks: Sequence[Stored]
) -> Stored:
    """Return such a block, made in a file: none of it has to stay in memory. The file
    has its full size at once, so that a disk without room for it raises OSError.
    """
    result = Stored(np.zeros(shape, blocks[0].dtype))
    for target, block, source in parts_of(found, blocks):
        write_part(result.array, target, block[source].read())
    return result


def write_part(array: FileArray, index: tuple[slice, ...], part: np.ndarray) -> None:
    """Write a part of an array in a file."""
    with open(array.path, "r+b") as file:
        for at, there, here in array.pieces(index, part):
            if in_one_piece(there, here):
                file.seek(at)
                file.write(np.ravel(here).view(np.uint8).data)
            else:
                array.pages(at, there, "r+")[...] = here


def parts_of(found: list[Overlaps], blocks: Sequence[Stored]) -> Iterator[Any]:
    """Yield the parts of blocks that were ``found`` along each axis: the place in the
    new block, the old block, and the place there.
    """
    for block, parts in zip(blocks, product(*found), strict=True):
        target = tuple(target for _, _, target in parts)
        yield target, block, tuple(source for _, source, _ in parts)


def overlaps(old: Sizes, new: Sizes) -> list[Overlaps]:
    """Return for each new chunk along an axis the old chunks that overlap it: their
    numbers, the places in the old chunks, and those in the new one.
    """
    edges = list(accumulate(old, initial=0))
    found = []
    for start, stop in pairwise(accumulate(new, initial=0)):
        numbers = range(bisect_right(edges, start) - 1, bisect_left(edges, stop))
        shared = [
            (k, edges[k], max(edges[k], start), min(edges[k + 1], stop))
            for k in numbers
        ]
        found.append(
            [
                (k, slice(i - a, j - a), slice(i - start, j - start))
                for k, a, i, j in shared
                if i < j
            ]
        )
    return found


def halfway(old: tuple[Sizes, ...], new: tuple[Sizes, ...]) -> tuple[Sizes, ...]:
    """Return chunks between the old and the new ones: as long along each axis as their
    geometric mean, or longer if there would be too many pieces.
    """
    room = MOST_LARGER * max(prod(map(max, old)), prod(map(max, new)))
    lengths = [isqrt(max(a) * max(b)) for a, b in zip(old, new, strict=True)]
    while True:
        chunks = tuple(map(cut_into, map(sum, new), lengths))
        is_enough = pieces(old, chunks) + pieces(chunks, new) <= MOST_PIECES
        if is_enough or 2 * prod(map(max, chunks)) > room:
            return chunks
        most = max(range(len(chunks)), key=lambda k: len(chunks[k]))
        if len(chunks[most]) == 1:
            return chunks
        lengths[most] *= 2


def pieces(old: tuple[Sizes, ...], new: tuple[Sizes, ...]) -> int:
    """Return into how many pieces two ways to cut an array divide it together."""
    pairs = zip(old, new, strict=True)
    return prod(len({*accumulate(a), *accumulate(b)}) for a, b in pairs)


def whole_along(chunks: tuple[Sizes, ...], axis: int, room: int) -> tuple[Sizes, ...]:
    """Return chunks that are whole along an axis, and cut further along the others, the
    longest first, until no chunk has more elements than there is ``room`` for.
    """
    new = [*chunks[:axis], (sum(chunks[axis]),), *chunks[axis + 1 :]]
    while (size := prod(map(max, new))) > room:
        others = [k for k, sizes in enumerate(new) if k != axis and max(sizes) > 1]
        if not others:
            break
        longest = max(others, key=lambda k: max(new[k]))
        length = max(1, max(new[longest]) * room // size)
        new[longest] = cut_into(sum(new[longest]), length)
    return tuple(new)


def cut_into(size: int, length: int) -> Sizes:
    """Return chunks of ``length`` along an axis of ``size``, and the rest."""
    return (length,) * (size // length) + ((size % length,) if size % length else ())
