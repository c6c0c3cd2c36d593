"""How ``main`` takes arrays that are larger than memory."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any
from uuid import uuid4

import dask.array as da
import numpy as np

from .tiles import TILE_BYTES, Unread, block_of, first_of
from .tiles_in_files import in_files

Chunks = Mapping[str, Any]


class Chunked:
    """An argument of ``main``: each ``read()``, ``pieces()`` and ``in_files()`` gives a
    lazy array of its own.

    So no chunk waits in memory until another pass has come to it. A dask array is what
    it is: its chunks are shared by all that reads them.
    """

    def __init__(self, array: Any, chunks: Any) -> None:
        self.array, self.chunks = on_disk(array), chunks

    def read(self) -> da.Array:
        """The array in its chunks, not yet read."""
        if isinstance(self.array, da.Array):
            return self.array.rechunk(self.chunks)
        if type(self.array) is np.ndarray:  # da.from_array would copy it as a whole
            name = f"array-{uuid4().hex}"
            keys = [(name, *place) for place in np.ndindex(*map(len, self.chunks))]
            blocks = [self.array[x] for x in da.core.slices_from_chunks(self.chunks)]
            graph = dict(zip(keys, blocks, strict=True))
            return da.Array(graph, name, self.chunks, meta=self.array)
        return da.from_array(self.array, self.chunks, name=False)

    def pieces(self) -> da.Array:
        """The array in its chunks, which the tasks that need them read themselves: so
        none is read while they still wait for something else.
        """
        if isinstance(self.array, da.Array | np.ndarray):
            return self.read()
        meta = np.empty((0,) * self.array.ndim, self.array.dtype)
        return da.from_array(
            Pieces(self.array), self.chunks, name=False, asarray=False, meta=meta
        )

    def in_files(self) -> da.Array:
        """``pieces()``, where those of a dask array lie in files as well."""
        return (
            in_files(self.read()) if isinstance(self.array, da.Array) else self.pieces()
        )

    def part(self, axis: int, start: int, stop: int) -> da.Array:
        """Some positions of an axis, in one chunk along it; read by nobody else."""
        chunks = (*self.chunks[:axis], -1, *self.chunks[axis + 1 :])
        if isinstance(self.array, da.Array):
            part = self.array[(slice(None),) * axis + (slice(start, stop),)]
            return part.rechunk(chunks)
        return da.from_array(Part(self.array, axis, start, stop), chunks, name=False)


class Pieces:
    """An array whose slices are not read yet."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim

    def __getitem__(self, index: tuple[slice, ...]) -> Any:
        return Unread(self.array, index)


class Part:
    """Some positions of an axis of an array that is not yet read."""

    def __init__(self, array: Any, axis: int, start: int, stop: int) -> None:
        self.array, self.axis, self.start = array, axis, start
        self.shape = (*array.shape[:axis], stop - start, *array.shape[axis + 1 :])
        self.dtype, self.ndim = array.dtype, array.ndim

    def __getitem__(self, index: tuple[slice, ...]) -> Any:
        inner = index[self.axis]
        moved = slice(inner.start + self.start, inner.stop + self.start)
        return self.array[(*index[: self.axis], moved, *index[self.axis + 1 :])]


def in_windows(
    function: Callable[..., Any],
    x: Chunked | da.Array,
    kernel: Any,
    *,
    axis: int,
    length: int,
    shape: Sequence[int],
    padding: Sequence[tuple[int, int]] | None = None,
    **keywords: Any,
) -> da.Array:
    """``function(x, kernel, padding=.., **keywords)``, a convolution, in chunks of
    ``length`` along an axis of the result.

    Each task reads the window of ``x`` that its piece needs; the padding of other axes,
    and what is beyond the ends of this one, is left to the function. ``x`` is
    [batch, *spatial, channels], ``kernel`` [*spatial, ..].
    """
    x = Chunked(x, x.chunks) if isinstance(x, da.Array) else x
    windows = Windows(function, x.array, axis, padding, keywords)
    meta = np.empty(0, keywords.get("dtype") or x.array.dtype)
    if isinstance(x.array, da.Array):
        pieces = []
        for start in range(0, shape[axis], length):
            stop = min(start + length, shape[axis])
            first, end, edges = windows.needed(start, stop, kernel.shape)
            part = x.part(axis, first, end)
            sizes = [(n,) for n in shape]
            sizes[0], sizes[axis] = part.chunks[0], (stop - start,)
            task = partial(function, padding=edges, **keywords)
            piece = da.map_blocks(task, part, kernel, chunks=tuple(sizes), meta=meta)
            pieces.append(piece)
        return da.concatenate(pieces, axis)
    letters = "ijklmnop"[: len(shape)]
    return da.blockwise(
        windows,
        letters,
        da.arange(shape[0], chunks=(x.chunks[0],)),
        letters[0],
        da.arange(shape[axis], chunks=length),
        letters[axis],
        kernel,
        "abcdefgh"[: len(shape)],
        new_axes={letters[k]: n for k, n in enumerate(shape) if k not in (0, axis)},
        meta=meta,
    )


class Windows:
    """Tasks that each compute a piece of a convolution, some positions along ``axis``
    at a time, from the windows that these need.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        array: Any,
        axis: int,
        padding: Sequence[tuple[int, int]] | None,
        keywords: Mapping[str, Any],
    ) -> None:
        ones = (1,) * (array.ndim - 2)
        self.function, self.array, self.axis = function, array, axis
        self.padding, self.keywords = list(padding or [(0, 0)] * len(ones)), keywords
        self.stride = (keywords.get("strides") or ones)[axis - 1]
        self.dilation = (keywords.get("kernel_dilation") or ones)[axis - 1]
        self.__name__ = function.__name__

    def needed(
        self, start: int, stop: int, kernel_shape: Sequence[int]
    ) -> tuple[int, int, tuple[tuple[int, int], ...]]:
        """The positions of the array that a piece needs, and the padding around it."""
        reach = (kernel_shape[self.axis - 1] - 1) * self.dilation + 1
        low, n = self.padding[self.axis - 1][0], self.array.shape[self.axis]
        first, end = start * self.stride - low, (stop - 1) * self.stride + reach - low
        edges = list(self.padding)
        edges[self.axis - 1] = max(0, -first), max(0, end - n)
        return max(0, min(first, n)), max(0, min(end, n)), tuple(edges)

    def __call__(
        self, batch: np.ndarray, places: np.ndarray, kernel: Any
    ) -> np.ndarray:
        """The piece of some images at some places."""
        kernel, images = block_of(kernel), slice(batch[0], batch[-1] + 1)
        shape, itemsize = self.array.shape, self.array.dtype.itemsize
        row_bytes = len(batch) * prod(shape[1:]) // shape[self.axis] * itemsize
        rows = TILE_BYTES // max(1, row_bytes * self.stride)
        step = max(8 * kernel.shape[self.axis - 1], rows)
        begin, end_of_all = int(places[0]), int(places[-1]) + 1
        before = (slice(None),) * (self.axis - 1)
        result: np.ndarray
        for start in range(begin, end_of_all, step):
            stop = min(start + step, end_of_all)
            first, end, edges = self.needed(start, stop, kernel.shape)
            window = self.array[(images, *before, slice(first, end))]
            made = self.function(window, kernel, padding=edges, **self.keywords)
            if start == begin:
                result = first_of(made, self.axis, len(places))
            result[(slice(None), *before, slice(start - begin, stop - begin))] = made
        return result


def in_chunks(planned: Chunks, chosen: Chunks | None, **arrays: Any) -> list[Any]:
    """The arrays to read in chunks, as ``chosen`` says, or else as ``planned``; dask
    arrays of one chunk for those that are not in the plan.

    An array may be dask's, NumPy's, a memmap, or anything with a shape, a dtype and
    slices, like those of zarr and h5py. Raises ValueError for chunks along an axis that
    the program needs whole, which the plan gives as -1.
    """
    if unknown := sorted(set(chosen or ()) - set(arrays)):
        names = ", ".join(arrays)
        raise ValueError(f"no argument is called {unknown[0]}; there are {names}")
    wanted = {**planned, **(chosen or {})}
    result = []
    for name, array in arrays.items():
        chunks = wanted.get(name, -1)
        chunks = da.core.normalize_chunks(chunks, array.shape, dtype=array.dtype)
        whole = planned.get(name, (-1,) * len(chunks))
        for axis, (sizes, plan) in enumerate(zip(chunks, whole, strict=True)):
            if plan == -1 and len(sizes) > 1:
                raise ValueError(
                    f"{name}: axis {axis} is needed whole, not in {len(sizes)} chunks"
                )
        argument = Chunked(array, chunks)
        result.append(argument if name in planned else argument.read())
    return result


def on_disk(array: Any) -> Any:
    """A memmap as an array that each task opens anew: to send it is to send its path.

    Other memmaps, which are views of one, as plain arrays of NumPy's.
    """
    is_file = isinstance(array, np.memmap) and array.filename
    if is_file and not isinstance(array.base, np.ndarray) and array.flags.c_contiguous:
        return FileArray(array)
    return array.view(np.ndarray) if isinstance(array, np.ndarray) else array


class FileArray:
    """The array of a memmap, by the name of its file. Slices are views of the file: it
    is read where they are used.
    """

    def __init__(self, array: np.memmap) -> None:
        self.path, self.offset = str(array.filename), array.offset
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim

    def __getitem__(self, index: Any) -> np.ndarray:
        file = np.memmap(self.path, self.dtype, "r", self.offset, self.shape)
        return np.asarray(file[index])
