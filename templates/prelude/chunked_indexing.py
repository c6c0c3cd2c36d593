"""Indexing along an axis that is cut: each chunk gives or takes the elements in it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

import dask.array as da
import numpy as np

from .arrays_in_files import FileArray
from .chunked import Chunked, as_chunked, spans_of
from .chunked_names import name_for
from .indexing import clamp_start
from .memory import MEMORY
from .tiles_in_files import flat, in_files

PAGES_BYTES = 1 << 16  # that the system maps for an element that is looked up
MOST_PAGES = 64  # that are mapped at the same time
Found = tuple[
    tuple[Any, ...], np.ndarray
]  # an index into the result, and the elements there


def take_in_chunks(x: Chunked | da.Array, index: Any, axis: int = 0) -> da.Array:
    """Return ``np.take(x, index, axis, mode="clip")`` of an array that is cut along
    ``axis``. A tuple of indices applies to as many axes, from that one on.
    """
    x = as_chunked(x)
    indices = index if isinstance(index, tuple) else (index,)
    if len(indices) > 1:  # dask loses blocks of blockwise where a unit axis is repeated
        indices = da.broadcast_arrays(*indices)
    letters = "ijklmnopqr"[: x.array.ndim]
    batch = "abcdefgh"[: max(i.ndim for i in indices)]
    found = letters[:axis] + batch + letters[axis + len(indices) :]
    blocks = [part for i in indices for part in (i, batch[len(batch) - i.ndim :])]
    return look_up(find_elements, x, axis, letters, found, blocks)


def take_along_axis_in_chunks(
    x: Chunked | da.Array, order: da.Array, axis: int = 0
) -> da.Array:
    """Return ``np.take_along_axis(x, order, axis)`` of an array that is cut along
    ``axis``.
    """
    x = as_chunked(x)
    letters = "ijklmnopqr"[: x.array.ndim]
    found = letters[:axis] + "a" + letters[axis + 1 :]
    return look_up(find_along, x, axis, letters, found, [order, found])


def look_up(
    find: Callable[..., Found],
    x: Chunked,
    axis: int,
    letters: str,
    found: str,
    blocks: list[Any],
) -> da.Array:
    """Return the elements that ``find`` takes for ``blocks`` of indices; ``letters``
    are the axes of ``x``, ``found`` those of the result.

    A task reads only the elements that its indices name, from a file or from the files
    of the blocks of a computed array.
    """
    meta = np.empty(0, x.array.dtype)
    if isinstance(x.array, da.Array):
        task = partial(find_in_blocks, find, axis, x.chunks[axis])
        taken: da.Array = da.blockwise(
            task, found, in_files(x.read()), letters, *blocks, meta=meta
        )
        return taken
    kept = [k for k, letter in enumerate(letters) if letter in found]
    others: list[Any] = []
    for k in kept:
        others += da.arange(x.array.shape[k], chunks=(x.chunks[k],)), letters[k]
    lengths = x.chunks[axis]
    task = partial(find_in_file, find, axis, x.array, lengths, kept)
    name = name_for("take", find, axis, x, blocks)
    taken = da.blockwise(task, found, *others, *blocks, name=name, meta=meta)
    return taken


def find_in_blocks(
    find: Callable[..., Found],
    axis: int,
    lengths: Sequence[int],
    blocks: Any,
    first: np.ndarray,
    *others: np.ndarray,
) -> np.ndarray:
    """Return the elements that indices name in blocks of these ``lengths`` along an
    axis.
    """
    first = np.asarray(clamp_start(first, sum(lengths) - 1))

    def parts() -> Iterator[Found]:
        for block, along in zip(flat(blocks), spans_of(lengths), strict=True):
            index, own = list(block.index), block.index[axis]
            begin = along.start - own.start
            edges = edges_of_pages(block.array, axis, own, first - begin)
            yield from found_at(
                find, block.array, edges, begin, index, axis, first, *others
            )

    return join_found(parts())


def find_in_file(
    find: Callable[..., Found],
    axis: int,
    array: Any,
    lengths: Sequence[int],
    kept: Sequence[int],
    *blocks: np.ndarray,
) -> np.ndarray:
    """Return the elements that indices name in an array that is not read yet, one chunk
    after the other. The first blocks are the places along the ``kept`` axes.
    """
    first, *others = blocks[len(kept) :]
    first = np.asarray(clamp_start(first, array.shape[axis] - 1))
    index = [slice(None)] * len(array.shape)
    for k, places in zip(kept, blocks, strict=False):
        index[k] = slice(places[0], places[-1] + 1) if len(places) else slice(0)
    edges = [*accumulate(lengths, initial=0)]
    if hasattr(array, "mapped"):
        edges = edges_of_pages(array, axis, slice(0, edges[-1]), first)
    return join_found(found_at(find, array, edges, 0, index, axis, first, *others))


def found_at(
    find: Callable[..., Found],
    array: Any,
    edges: Sequence[int],
    begin: int,
    index: list[slice],
    axis: int,
    first: np.ndarray,
    *others: np.ndarray,
) -> Iterator[Found]:
    """Yield the elements that indices name between every two ``edges`` of an array
    along an axis; the array begins at the place ``begin``.
    """
    for start, stop in pairwise(edges):
        wanted = first[(first >= begin + start) & (first < begin + stop)] - begin
        if wanted.size:
            index[axis] = slice(int(wanted.min()), int(wanted.max()) + 1)
        elif first.size or begin + start:
            continue
        else:
            index[axis] = slice(0, 0)
        source = array.mapped() if hasattr(array, "mapped") else array
        part = np.asarray(source[tuple(index)])
        yield find(part, begin + index[axis].start, axis, first, *others)


def edges_of_pages(
    array: FileArray, axis: int, part: slice, places: np.ndarray
) -> list[int]:
    """Return edges in a part of an axis such that few pages of the file are looked up
    between two edges: pages stay mapped until the next edge.
    """
    stride = array.mapped().strides[axis]
    inside = places[(places >= part.start) & (places < part.stop)].astype(np.int64)
    pages = np.unique(inside * stride // PAGES_BYTES)
    ends = -(-pages[MOST_PAGES::MOST_PAGES] * PAGES_BYTES // stride)
    return [part.start, *ends.tolist(), part.stop]


def find_elements(
    part: np.ndarray, start: int, axis: int, first: np.ndarray, *others: np.ndarray
) -> Found:
    """Return the elements, or rows, that indices name in a ``part`` that begins at
    ``start``, after their index in the result.
    """
    places, *rest = np.broadcast_arrays(first, *others)
    inside = (places >= start) & (places < start + part.shape[axis])
    sizes, before = part.shape[axis + 1 :], (slice(None),) * axis
    inner = [clamp_start(i[inside], n - 1) for i, n in zip(rest, sizes, strict=False)]
    return (*before, inside), part[(*before, places[inside] - start, *inner)]


def find_along(part: np.ndarray, start: int, axis: int, order: np.ndarray) -> Found:
    """Return the elements that ``np.take_along_axis`` takes from a ``part`` that begins
    at ``start``, after their index in the result.
    """
    inside = (order >= start) & (order < start + part.shape[axis])
    index = list(np.nonzero(inside))
    index[axis] = order[inside] - start
    return (inside,), part[tuple(index)]


def join_found(parts: Iterable[Found]) -> np.ndarray:
    """Return the result that several parts make up."""
    result: np.ndarray | None = None
    for place, values in parts:
        *before, inside = place
        if result is None:
            k = len(before)
            shape = values.shape[:k] + inside.shape + values.shape[k + 1 :]
            if inside.all():
                return values.reshape(shape)
            result = MEMORY.room(shape, values.dtype)
        result[place] = values
    assert result is not None
    return result
