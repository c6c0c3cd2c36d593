"""``top_k``, ``argmax`` and the like along an axis that is cut."""

from functools import partial
from typing import Any

import dask.array as da
import numpy as np

from .chunked import as_chunked, slices_along
from .chunked_tasks import one_of
from .ordering import top_k, top_values
from .tiles import TILE_BYTES, block_of


def top_k_in_chunks(
    x: da.Array, k: int, largest: bool = True
) -> tuple[da.Array, da.Array]:
    """Return ``top_k`` of a lazy array: the best of each chunk, then of these."""
    index, chunks = "ijklmnopqr"[: x.ndim], x.chunks[-1]
    places = da.arange(sum(chunks), chunks=(chunks,))
    first = partial(top_k_of_part, k=k, largest=largest)
    meta = np.empty(0, object)  # pairs of arrays
    best = da.blockwise(first, index, x, index, places, index[-1], meta=meta)
    merge, merged = partial(merged_top_k, k=k, largest=largest), index[:-1] + "z"
    pairs = da.blockwise(merge, merged, best, index, new_axes={"z": k}, meta=meta)
    values, indices = (
        one_of(pairs, part, np.empty(0, dtype))
        for part, dtype in enumerate((x.dtype, np.int32))
    )
    return values, indices


def top_values_in_chunks(x: da.Array, k: int, largest: bool = True) -> da.Array:
    """Return ``top_values`` of a lazy array: those of each chunk, and the first of
    these.
    """
    first = partial(top_values_of_part, k=k, largest=largest)
    index, sizes = "ijklmnopqr"[: x.ndim], tuple(min(k, n) for n in x.chunks[-1])
    found = da.blockwise(
        *(first, index, x, index),
        adjust_chunks={index[-1]: sizes},
        meta=np.empty(0, x.dtype),
    )
    return da.blockwise(
        *(first, index, found.rechunk({-1: -1}), index),
        adjust_chunks={index[-1]: k},
        meta=np.empty(0, x.dtype),
    )


def top_values_of_part(x: np.ndarray, k: int, largest: bool) -> np.ndarray:
    """Return ``top_values`` of a block, computed a few elements at a time."""
    step = max(4 * k, TILE_BYTES * x.shape[-1] // max(1, x.nbytes), 1)
    tiles = [x[..., start : start + step] for start in range(0, x.shape[-1], step)]
    best = [top_values(tile, min(k, tile.shape[-1]), largest) for tile in tiles]
    together = np.concatenate(best, axis=-1)
    return top_values(together, min(k, together.shape[-1]), largest)


def top_k_of_part(
    x: np.ndarray, places: np.ndarray, k: int, largest: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``top_k`` of a block whose elements are at ``places`` of the last axis."""
    step = max(4 * k, TILE_BYTES * x.shape[-1] // max(1, x.nbytes), 1)
    tiles = []
    for start in range(0, x.shape[-1], step):
        tile = x[..., start : start + step]
        values, indices = top_k(tile, min(k, tile.shape[-1]), largest)
        tiles.append((values, (indices + places[start]).astype(np.int32)))
    return merged_top_k(tiles, k, largest)


def argmax_in_chunks(x: Any, axis: int = 0, dtype: Any = np.int64) -> da.Array:
    """Return ``np.argmax`` of a lazy array."""
    return arg_extreme_in_chunks(np.argmax, x, axis, dtype)


def argmin_in_chunks(x: Any, axis: int = 0, dtype: Any = np.int64) -> da.Array:
    """Return ``np.argmin`` of a lazy array."""
    return arg_extreme_in_chunks(np.argmin, x, axis, dtype)


def arg_extreme_in_chunks(find: Any, x: Any, axis: int, dtype: Any) -> da.Array:
    """Return the places along an axis that ``find`` gives, chunk by chunk."""
    x = as_chunked(x)
    index, chunks = "ijklmnopqr"[: len(x.chunks)], x.chunks[axis]
    first, spans = partial(extremes_of_block, find, axis), slices_along(chunks)
    meta = np.empty(0, object)  # pairs of arrays
    pairs = da.blockwise(first, index, x.pieces(), index, spans, index[axis], meta=meta)
    last = partial(places_of_extremes, find, dtype)
    found = index[:axis] + index[axis + 1 :]
    best: da.Array = da.blockwise(
        last, found, pairs, index, meta=np.zeros((0,) * len(found), dtype)
    )
    return best


def extremes_of_block(
    find: Any, axis: int, block: Any, span: slice
) -> tuple[np.ndarray, np.ndarray]:
    """Return the best elements of a block, and their places in the whole array."""
    x, pairs = block_of(block), []
    step = max(1, x.shape[axis] * TILE_BYTES // max(1, x.nbytes))
    for start in range(0, x.shape[axis], step):
        tile = x[(slice(None),) * axis + (slice(start, start + step),)]
        at = np.expand_dims(find(tile, axis), axis)
        values = np.take_along_axis(tile, at, axis)
        pairs.append((values.squeeze(axis), span.start + start + at.squeeze(axis)))
    return first_extreme(find, pairs)


def first_extreme(find: Any, pairs: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the best of several candidates for each element, and its place."""
    values, places = (np.stack(x) for x in zip(*pairs, strict=True))
    at = np.expand_dims(find(values, 0), 0)
    best, place = (np.take_along_axis(x, at, 0)[0] for x in (values, places))
    return best, place


def places_of_extremes(find: Any, dtype: Any, pairs: Any) -> np.ndarray:
    """Return the places of the best elements of all parts."""
    return first_extreme(find, pairs)[1].astype(dtype)


def merged_top_k(
    pairs: list[Any], k: int, largest: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the best of several results of ``top_k``, given in the order of their
    elements.
    """
    values, indices = (np.concatenate(x, axis=-1) for x in zip(*pairs, strict=True))
    best, order = top_k(values, min(k, values.shape[-1]), largest)
    return best, np.take_along_axis(indices, order, -1)
