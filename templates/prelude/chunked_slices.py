"""Slices that start at places known only at run time, along axes that are cut."""

from collections.abc import Sequence
from functools import partial
from itertools import accumulate, pairwise, product
from typing import Any

import dask.array as da
import numpy as np

from .chunked import as_chunked, slices_along
from .chunked_indexing import take_in_chunks
from .indexing import clamp_start
from .tiles import block_of, left_in_file, own_block
from .tiles_in_files import flat


def dynamic_slice_in_chunks(
    x: Any, starts: Sequence[Any], sizes: Sequence[int], chunks: Sequence[int]
) -> Any:
    """Return ``dynamic_slice`` of a lazy array, in ``chunks`` of so many elements."""
    for axis, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        n = as_chunked(x).array.shape[axis]
        if size < n:
            places = clamped(start, n - size) + da.arange(size, chunks=chunks[axis])
            x = take_in_chunks(x, places, axis)
    return x


def dynamic_update_slice_in_chunks(
    x: Any, update: Any, starts: Sequence[Any]
) -> da.Array:
    """Return ``dynamic_update_slice`` of a lazy array: the task of a chunk takes the
    chunks of the update that overlap it.
    """
    x, update = as_chunked(x), as_chunked(update)
    shape, sizes = x.array.shape, update.array.shape
    letters = "ijklmnopqr"[: len(shape)]
    moved = [axis for axis, n in enumerate(shape) if sizes[axis] < n]
    own, chunks = list(letters), list(x.chunks)
    for axis in moved:
        own[axis], chunks[axis] = "abcdefgh"[axis], update.chunks[axis]
    update = update.recut(tuple(chunks))
    is_cut = any(len(chunks[axis]) > 1 for axis in moved)
    pairs: list[Any] = [x.pieces(), letters]
    pairs += update.in_files() if is_cut else update.read(), "".join(own)
    for axis in moved:
        limit = shape[axis] - sizes[axis]
        pairs += slices_along(x.chunks[axis]), letters[axis]
        pairs += clamped(starts[axis], limit), ""
    places = [accumulate(chunks[axis], initial=0) for axis in moved]
    parts = list(product(*(pairwise(ends) for ends in places)))
    task = partial(update_part, moved, parts)
    meta = np.empty(0, x.array.dtype)
    result: da.Array = da.blockwise(
        task, letters, *pairs, align_arrays=False, meta=meta
    )
    return result


def update_part(
    axes: Sequence[int], parts: Sequence[Any], x: Any, update: Any, *places: Any
) -> np.ndarray:
    """Return a chunk with the ``parts`` of an update that overlap it. ``places`` are,
    for each of the ``axes`` along which the update moves, the chunk's slice and the
    update's start.
    """
    result = own_block(x)
    for part, block in zip(parts, flat(update), strict=True):
        inside, taken = ([slice(None)] * result.ndim for _ in range(2))
        for axis, (low, high), along, start in zip(
            axes, part, places[::2], places[1::2], strict=True
        ):
            begin, end = along.start - start, along.stop - start
            first, last = max(low, begin), max(low, begin, min(high, end))
            inside[axis] = slice(first - begin, last - begin)
            taken[axis] = slice(first - low, last - low)
        if result[tuple(inside)].size:
            result[tuple(inside)] = block_of(left_in_file(block)[tuple(taken)])
    return result


def clamped(start: Any, limit: int) -> da.Array:
    """Return ``clamp_start`` of a number that may be lazy."""
    meta = np.zeros((), np.int64)
    lazy: da.Array = da.blockwise(
        clamp_start, "", da.asarray(start), "", limit, None, meta=meta
    )
    return lazy
