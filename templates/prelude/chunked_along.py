"""What works along an axis that is cut: each chunk does its part."""

from functools import partial
from operator import itemgetter
from typing import Any

import dask.array as da
import numpy as np

from .ordering import top_k
from .tiles import TILE_BYTES


def top_k_in_chunks(
    x: da.Array, k: int, largest: bool = True
) -> tuple[da.Array, da.Array]:
    """``top_k`` of a lazy array: the best of each chunk, and of these the best."""
    index, chunks = "ijklmnopqr"[: x.ndim], x.chunks[-1]
    places = da.arange(sum(chunks), chunks=(chunks,))
    first = partial(top_k_of_part, k=k, largest=largest)
    meta = np.empty(0, object)  # pairs of arrays
    best = da.blockwise(first, index, x, index, places, index[-1], meta=meta)
    merge, merged = partial(best_of, k=k, largest=largest), index[:-1] + "z"
    pairs = da.blockwise(merge, merged, best, index, new_axes={"z": k}, meta=meta)
    values, indices = (
        pairs.map_blocks(itemgetter(part), meta=np.empty(0, dtype))
        for part, dtype in enumerate((x.dtype, np.int32))
    )
    return values, indices


def top_k_of_part(
    x: np.ndarray, places: np.ndarray, k: int, largest: bool
) -> tuple[np.ndarray, np.ndarray]:
    """``top_k`` of some elements that stand at ``places`` of the last axis."""
    step = max(4 * k, TILE_BYTES * x.shape[-1] // max(1, x.nbytes), 1)
    tiles = []
    for start in range(0, x.shape[-1], step):
        tile = x[..., start : start + step]
        values, indices = top_k(tile, min(k, tile.shape[-1]), largest)
        tiles.append((values, (indices + places[start]).astype(np.int32)))
    return best_of(tiles, k, largest)


def best_of(pairs: list[Any], k: int, largest: bool) -> tuple[np.ndarray, np.ndarray]:
    """The best of several results of ``top_k``, in the order of the elements they are
    of.
    """
    values, indices = (np.concatenate(x, axis=-1) for x in zip(*pairs, strict=True))
    best, order = top_k(values, min(k, values.shape[-1]), largest)
    return best, np.take_along_axis(indices, order, -1)
