"""Scatters into lazy arrays: each chunk of the array applies all chunks of updates, or
each chunk of updates is scattered into an array of its own.
"""

from functools import partial
from math import prod
from typing import Any

import dask.array as da
import numpy as np

from .chunked import Chunked, as_chunked, slices_along
from .chunked_tasks import reduce_parts
from .indexing import scatter_into
from .tiles import TILE_BYTES, own_block
from .tiles_in_files import each_in_turn


def scatter_at_in_chunks(
    x: Any, index: Any, values: Any, combine: np.ufunc | None = None
) -> da.Array:
    """Return ``scatter_at`` of an array that may be cut along the first axis, with
    updates that may be cut along theirs.

    The task of a chunk goes through all updates in order, one chunk at a time, and
    applies those that land in its chunk.
    """
    x = as_chunked(x)
    letters, batch, updates = lettered_updates(x, index, values)
    rows = slices_along(x.chunks[0])
    pairs: list[Any] = [x.pieces(), letters, rows, letters[0]]
    for update, own in updates:
        is_cut = any(len(chunks) > 1 for chunks in update.chunks[: len(batch)])
        pairs += update.in_files() if is_cut else update.read(), own
    task, meta = partial(scatter_into_part, combine), np.empty(0, x.array.dtype)
    result: da.Array = da.blockwise(
        task, letters, *pairs, align_arrays=False, meta=meta
    )
    return result


def scatter_at_in_parts(x: Any, index: Any, values: Any, combine: np.ufunc) -> da.Array:
    """Return ``scatter_at`` of an array that is not cut along the indexed axes, with
    updates that are cut: each chunk of updates gives an array like ``x``, and these are
    combined.
    """
    x = as_chunked(x)
    letters, cut, updates = lettered_updates(x, index, values)
    pairs = [part for update, own in updates for part in (update.read(), own)]
    task = partial(scatter_into_none, len(cut), combine)
    parts = da.blockwise(
        task,
        cut + letters,
        x.read(),
        letters,
        *pairs,
        align_arrays=False,
        adjust_chunks=dict.fromkeys(cut, 1),
        meta=np.zeros((0,) * (len(cut) + len(letters)), x.array.dtype),
    )
    added = reduce_parts(parts, combine.reduce, tuple(range(len(cut))))
    result: da.Array = combine(x.read(), added)
    return result


def lettered_updates(
    x: Chunked, index: Any, values: Any
) -> tuple[str, str, list[tuple[Chunked, str]]]:
    """Return letters for the axes of ``x``, letters for the axes along which there are
    updates, and the values and each of the indices, cut alike, with their letters.
    """
    indices = [as_chunked(i) for i in (index if isinstance(index, tuple) else (index,))]
    letters, values = "ijklmnopqr"[: x.array.ndim], as_chunked(values)
    batch = "abcdefgh"[: max(i.array.ndim for i in indices)]
    sizes = dict(zip(letters, x.chunks, strict=True))
    for i in indices:
        for letter, chunks in zip(batch[::-1], i.chunks[::-1], strict=False):
            if chunks != (1,):
                sizes.setdefault(letter, chunks)
    updates = []
    for update in (values, *indices):
        own = batch + letters[len(indices) :] if update is values else batch
        if missing := len(own) - update.array.ndim:
            update = as_chunked(update.read()[(None,) * missing])
        pairs = zip(update.array.shape, own, strict=True)
        chunks = tuple((1,) if n == 1 else sizes[letter] for n, letter in pairs)
        update = update.recut(chunks)
        whole = [sizes.get(letter, (1,)) for letter in own]
        if any(len(along) > 1 for along in whole):
            update = as_chunked(repeated(update.read(), whole))
        updates.append((update, own))
    return letters, batch, updates


def repeated(x: da.Array, chunks: list[Any]) -> da.Array:
    """Return an array broadcast to these chunks: if axes had length 1, Dask would lose
    blocks when it fuses tasks.
    """
    shape = tuple(map(sum, chunks))
    return x if x.shape == shape else da.broadcast_to(x, shape, chunks=tuple(chunks))


@np.errstate(all="ignore")
def scatter_into_part(
    combine: np.ufunc | None, x: Any, rows: slice, *updates: Any
) -> np.ndarray:
    """Return these ``rows`` of the first axis, with the updates that land there."""
    result = own_block(x)
    for values, *indices in each_in_turn(*updates):
        scatter_by_tiles(result, rows.start, indices, values, combine)
    return result


@np.errstate(all="ignore")
def scatter_into_none(
    ndim: int, combine: np.ufunc, x: np.ndarray, values: Any, *indices: Any
) -> np.ndarray:
    """Return the updates alone, in an array like ``x`` behind ``ndim`` new axes."""
    start, result = combine.identity, np.array(x)
    if start is not None:  # else combine(x, x) is x, as for np.maximum
        result[...] = np.asarray(start).astype(x.dtype)
    scatter_by_tiles(result, 0, indices, values, combine)
    return result[(None,) * ndim]


def scatter_by_tiles(
    result: np.ndarray, begin: int, indices: Any, values: Any, combine: Any
) -> None:
    """Apply ``scatter_into`` to rows from ``begin`` on, a few updates at a time."""
    first, *others = np.broadcast_arrays(*map(np.atleast_1d, indices))
    behind = result.shape[1 + len(others) :]
    values = np.broadcast_to(values, first.shape + behind)
    step = max(1, len(first) * TILE_BYTES // max(1, values.nbytes))
    by_rows: Any = None if combine is None else ByRows(combine)
    for start in range(0, len(first), step):
        tile = slice(start, start + step)
        rows = first[tile].astype(np.int64) - begin if begin else first[tile]
        index = (rows, *(i[tile] for i in others))
        scatter_into(result, index, values[tile], by_rows)


LONG_ROW = 64
OFTEN = 16  # updates of a long row from which on they are combined with each other


class ByRows:
    """A ufunc with an ``at`` that is several times faster: it uses the numbers of
    elements, and combines many updates of the same long row with each other first.
    """

    def __init__(self, combine: np.ufunc) -> None:
        self.combine = combine

    def at(self, x: np.ndarray, places: Any, values: np.ndarray) -> None:
        """Compute ``combine.at(x, places, values)``."""
        if not isinstance(places, tuple) or not x.flags.c_contiguous:
            self.combine.at(x, places, values)
            return
        before, width = x.shape[: len(places)], prod(x.shape[len(places) :])
        table = x.reshape(prod(before), width)
        rows = places[0]
        if len(places) > 1:
            rows = np.ravel_multi_index(places, before)
        rows = rows.ravel().astype(np.int64, copy=False)
        values = values.reshape(len(rows), width)
        if width < LONG_ROW or len(rows) < OFTEN * len(table):
            if width > 1:
                rows = (rows[:, None] * width + np.arange(width)).ravel()
            self.combine.at(table.reshape(-1), rows, values.ravel())
            return
        order = np.argsort(rows, kind="stable")
        stops = np.cumsum(np.bincount(rows, minlength=len(table)))[:-1]
        for row, own in zip(table, np.split(order, stops), strict=True):
            if own.size:
                self.combine(row, self.combine.reduce(values[own]), out=row)
