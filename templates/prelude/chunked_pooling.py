"""The gradient of pooling along axes that are cut: each task takes the windows that
overlap its piece, and all elements in these windows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod
from typing import Any

import dask.array as da
import numpy as np

from .chunked import as_chunked, spans_of
from .chunked_names import name_for
from .chunked_neighbours import block_key, blocks_around, box_from, overlap
from .chunked_tasks import array_of_tasks
from .tiles import WINDOW_BYTES
from .windows import select_and_scatter


def select_and_scatter_in_chunks(
    x: Any,
    source: Any,
    window: Sequence[int],
    *,
    chunks: Sequence[int],
    init: Any = 0,
    strides: Sequence[int] | None = None,
    padding: Sequence[tuple[int, int]] | None = None,
    **functions: Any,
) -> da.Array:
    """Return ``select_and_scatter`` of arrays that may be cut along any axes."""
    x, source = as_chunked(x), as_chunked(source)
    shape, strides = x.array.shape, strides or (1,) * len(window)
    lows = [low for low, _ in padding] if padding else [0] * len(window)
    sizes = zip(shape, source.array.shape, window, strides, lows, strict=True)
    axes = [WindowsAlong(*axis) for axis in sizes]
    cuts = da.core.normalize_chunks(tuple(chunks), shape)
    name = name_for("select_and_scatter", axes, x, source, cuts, init, functions)
    tasks: dict[Any, Any] = {}
    task = partial(scattered_part, axes, x.array.dtype, functions)
    pieces = map(spans_of, cuts)
    for place, piece in zip(np.ndindex(*map(len, cuts)), product(*pieces), strict=True):
        needed = [axis.needed(along) for axis, along in zip(axes, piece, strict=True)]
        seen, windows = [one for one, _, _ in needed], [one for _, one, _ in needed]
        given = blocks_around(x, seen), blocks_around(source, windows), block_key(init)
        tasks[name, *place] = (task, piece, *given)
    arrays = x.array, source.array, init
    return array_of_tasks(name, tasks, arrays, cuts, x.array.dtype)


@dataclass(frozen=True)
class WindowsAlong:
    """``count`` windows along an axis of ``n`` elements, of which the first begins at
    -``low``.
    """

    n: int
    count: int
    size: int
    stride: int
    low: int

    def needed(self, piece: slice) -> tuple[slice, slice, tuple[int, int]]:
        """Return the elements in the windows that overlap a piece, these windows, and
        the padding in them on both sides of the elements.
        """
        first = -(-(piece.start + self.low - self.size + 1) // self.stride)
        last = (piece.stop - 1 + self.low) // self.stride
        first = max(0, min(first, self.count))
        windows = slice(first, max(first, min(last + 1, self.count)))
        begin = windows.start * self.stride - self.low
        end = (windows.stop - 1) * self.stride + self.size - self.low
        if windows.start == windows.stop:
            return slice(0, 0), windows, (0, 0)
        seen = slice(max(0, min(begin, self.n)), max(0, min(end, self.n)))
        return seen, windows, (seen.start - begin, end - seen.stop)


@np.errstate(all="ignore")
def scattered_part(
    axes: Sequence[WindowsAlong],
    dtype: Any,
    functions: Any,
    piece: Sequence[slice],
    x: Any,
    source: Any,
    init: Any,
) -> np.ndarray:
    """Return a piece of the result, computed some rows at a time."""
    shape = [along.stop - along.start for along in piece]
    result = np.full(shape, init, dtype)
    moving = [k for k, axis in enumerate(axes) if axis.size > 1 or axis.stride > 1]
    rows = moving[0] if moving else 0
    row_bytes = prod(shape) // max(1, shape[rows]) * result.itemsize
    step = max(16 * axes[rows].size, WINDOW_BYTES // max(1, row_bytes))
    for start in range(piece[rows].start, piece[rows].stop, step):
        tile = list(piece)
        tile[rows] = slice(start, min(start + step, piece[rows].stop))
        needed = [axis.needed(along) for axis, along in zip(axes, tile, strict=True)]
        seen, windows, edges = map(list, zip(*needed, strict=True))
        made = select_and_scatter(
            box_from(x, seen),
            box_from(source, windows),
            [axis.size for axis in axes],
            init=init,
            strides=[axis.stride for axis in axes],
            padding=edges,
            **functions,
        )
        inside, own = overlap(tile, seen, piece)
        result[inside] = made[own]
    return result
