"""Windows along an axis that is cut: each task reads those that its piece needs."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any
from uuid import uuid4

import dask.array as da
import numpy as np

from .chunked import Chunked, slices_along
from .tiles import WINDOW_BYTES, block_of, room_for


def in_windows(
    function: Callable[..., Any],
    x: Chunked | da.Array,
    *others: Any,
    axis: int,
    size: int,
    length: int,
    shape: Sequence[int],
    padding: Sequence[tuple[int, int]],
    **keywords: Any,
) -> da.Array:
    """``function(x, *others, padding=.., **keywords)``, a convolution or a reduction of
    windows, in chunks of ``length`` along an axis of the result.

    Each task reads what its windows reach, which have ``size`` elements along ``axis``;
    the padding of other axes, and what is beyond the ends of this one, is left to the
    function. The axes of ``x`` are those of the padding, with one more on either side
    for a convolution.
    """
    x = Chunked(x, x.chunks) if isinstance(x, da.Array) else x
    kept = [k for k, sizes in enumerate(x.chunks) if k != axis and len(sizes) > 1]
    windows = Windows(function, x.array, axis, size, kept, padding, keywords)
    meta = np.empty(0, keywords.get("dtype") or x.array.dtype)
    if isinstance(x.array, da.Array):
        pieces = []
        for start in range(0, shape[axis], length):
            stop = min(start + length, shape[axis])
            first, end, edges = windows.needed(start, stop)
            part = x.part(axis, first, end)
            chunks = [
                part.chunks[k] if k in kept else (n,) for k, n in enumerate(shape)
            ]
            chunks[axis] = (stop - start,)
            task = partial(function, padding=edges, **keywords)
            piece = da.map_blocks(task, part, *others, chunks=tuple(chunks), meta=meta)
            pieces.append(piece)
        result: da.Array = da.concatenate(pieces, axis)
        return result
    letters, unused = "ijklmnop"[: len(shape)], iter("abcdefghqrstuvwxyz")
    (lengths,) = da.core.normalize_chunks(length, shape[axis : axis + 1])
    blocks: list[Any] = [slices_along(lengths), letters[axis]]
    for k in kept:
        blocks += slices_along(x.chunks[k]), letters[k]
    for one in others:
        is_array = isinstance(one, da.Array)
        own = "".join(next(unused) for _ in range(one.ndim)) if is_array else None
        blocks += one, own
    whole = {letters[k]: n for k, n in enumerate(shape) if k not in (*kept, axis)}
    name = f"{function.__name__}-{uuid4().hex}"
    options: Any = {"new_axes": whole, "name": name, "meta": meta}
    result = da.blockwise(windows, letters, *blocks, **options)
    return result


class Windows:
    """Tasks that each compute a piece of what goes by windows, some positions along
    ``axis`` at a time, from the windows that these need. A piece has the ``kept`` axes
    as the array is cut along them.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        array: Any,
        axis: int,
        size: int,
        kept: Sequence[int],
        padding: Sequence[tuple[int, int]],
        keywords: Mapping[str, Any],
    ) -> None:
        self.function, self.array, self.axis, self.kept = function, array, axis, kept
        self.padding, self.keywords = padding, keywords
        self.at = axis - (array.ndim - len(padding)) // 2  # among the axes of windows
        ones = (1,) * len(padding)
        dilation = keywords.get("kernel_dilation") or keywords.get("window_dilation")
        self.stride = (keywords.get("strides") or ones)[self.at]
        self.size, self.reach = size, (size - 1) * (dilation or ones)[self.at] + 1
        self.__name__ = function.__name__

    def needed(
        self, start: int, stop: int
    ) -> tuple[int, int, tuple[tuple[int, int], ...]]:
        """The positions of the array that a piece needs, and the padding around it."""
        low, n = self.padding[self.at][0], self.array.shape[self.axis]
        first = start * self.stride - low
        end = (stop - 1) * self.stride + self.reach - low
        edges = list(self.padding)
        edges[self.at] = max(0, min(end, 0) - first), max(0, end - max(first, n))
        return max(0, min(first, n)), max(0, min(end, n)), tuple(edges)

    def __call__(self, piece: slice, *blocks: Any) -> np.ndarray:
        """A piece along the axis, and along those that are kept."""
        others = [block_of(block) for block in blocks[len(self.kept) :]]
        index = [slice(0, n) for n in self.array.shape]
        for k, along in zip(self.kept, blocks, strict=False):
            index[k] = along
        axis, begin, end_of_all = self.axis, piece.start, piece.stop
        sizes = [part.stop - part.start for k, part in enumerate(index) if k != axis]
        row_bytes = prod(sizes) * self.array.dtype.itemsize
        step = max(8 * self.size, WINDOW_BYTES // max(1, row_bytes * self.stride))
        result: np.ndarray
        for start in range(begin, end_of_all, step):
            stop = min(start + step, end_of_all)
            first, end, edges = self.needed(start, stop)
            index[axis] = slice(first, end)
            window = np.asarray(self.array[tuple(index)])
            made = self.function(window, *others, padding=edges, **self.keywords)
            if start == begin:
                result = room_for(made, axis, end_of_all - begin)
            tile = slice(start - begin, stop - begin)
            result[(slice(None),) * axis + (tile,)] = made
        return result
