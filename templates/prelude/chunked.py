"""Arguments of ``main`` that may be larger than memory."""

import itertools
import os
from collections.abc import Mapping, Sequence
from copy import copy
from itertools import accumulate, pairwise
from typing import Any
from uuid import uuid4

import dask.array as da
import numpy as np
from dask.tokenize import tokenize

from .arrays_in_files import FileArray
from .chunked_names import name_for
from .tiles import Unread
from .tiles_in_files import in_files

Chunks = Mapping[str, Any]


class Chunked:
    """An argument of ``main`` and its chunks. Each call of ``read()``, ``pieces()`` and
    ``in_files()`` returns a new lazy array, so that no chunk waits in memory for
    another pass. NumPy arrays are in memory anyway, and the chunks of a dask array are
    shared by all its readers.

    ``token`` tells arguments apart: it depends on the elements of an array, or, for a
    read-only memmap, on the file and its modification time. Every other memmap has a
    unique token.
    """

    def __init__(self, array: Any, chunks: Any) -> None:
        self.array, self.chunks, self.passes = on_disk(array), chunks, itertools.count()
        is_part = isinstance(array, np.memmap) and not isinstance(self.array, FileArray)
        self.token = uuid4().hex if is_part else tokenize(self.array)

    def __dask_tokenize__(self) -> Any:
        return self.token, self.chunks

    def recut(self, chunks: Any) -> "Chunked":
        """Return the argument in other chunks."""
        other = copy(self)
        other.chunks = chunks
        return other

    def read(self) -> da.Array:
        """Return the array in its chunks, lazily."""
        if isinstance(self.array, da.Array):
            array: da.Array = self.array.rechunk(self.chunks)
            return array
        if type(self.array) is np.ndarray:  # da.from_array would copy it as a whole
            name = name_for("array", self)
            keys = [(name, *place) for place in np.ndindex(*map(len, self.chunks))]
            blocks = [self.array[x] for x in da.core.slices_from_chunks(self.chunks)]
            graph = dict(zip(keys, blocks, strict=True))
            return da.Array(graph, name, self.chunks, meta=self.array)
        return self.lazy(self.array)

    def pieces(self) -> da.Array:
        """Return the array in its chunks. The tasks that need a chunk read it
        themselves, so no chunk is in memory while they wait for something else.
        """
        if isinstance(self.array, da.Array | np.ndarray):
            return self.read()
        return self.lazy(Pieces(self.array), asarray=False)

    def lazy(self, array: Any, **options: Any) -> da.Array:
        """Return a lazy array in the chunks. An array in a file is described in each
        task, since the description is short.
        """
        meta = np.zeros((0,) * self.array.ndim, self.array.dtype)
        options["inline_array"] = isinstance(self.array, FileArray)
        name = name_for("array", self, next(self.passes))
        options |= {"name": name, "meta": meta}
        lazy: da.Array = da.from_array(array, self.chunks, **options)
        return lazy

    def in_files(self) -> da.Array:
        """Return ``pieces()``, with the blocks of a dask array in files, too."""
        return (
            in_files(self.read()) if isinstance(self.array, da.Array) else self.pieces()
        )


def as_chunked(x: Any) -> Chunked:
    """Return an argument as it is, and a lazy array or a number as an argument."""
    if isinstance(x, Chunked):
        return x
    lazy = da.asarray(x)
    return Chunked(lazy, lazy.chunks)


def spans_of(lengths: Sequence[int]) -> list[slice]:
    """Return the slice of the axis that each chunk covers."""
    return [slice(*pair) for pair in pairwise(accumulate(lengths, initial=0))]


def slices_along(lengths: Sequence[int]) -> da.Array:
    """Return the slice of the axis that each chunk covers, as a lazy array."""
    name = name_for("slices", lengths)
    graph = {(name, k): span for k, span in enumerate(spans_of(lengths))}
    return da.Array(graph, name, (tuple(lengths),), meta=np.empty(0, object))


class Pieces:
    """An array whose slices are read later, by the tasks that use them."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim

    def __getitem__(self, index: tuple[slice, ...]) -> Any:
        return Unread(self.array, index)


def in_chunks(planned: Chunks, chosen: Any, /, **arrays: Any) -> list[Any]:
    """Return the arrays in chunks as ``chosen`` says, for each or for all, and else as
    ``planned``. Arrays that are not in the plan are dask arrays of one chunk.

    An array may be dask's, NumPy's, a memmap, or anything with a shape, a dtype and
    slices, like those of zarr and h5py. Raises ValueError for several chunks along an
    axis that the program needs whole, for which the plan has -1.
    """
    if chosen is not None and not (isinstance(chosen, Mapping) and any_names(chosen)):
        chosen = dict.fromkeys(planned, chosen)
    if unknown := sorted(set(chosen or ()) - set(arrays)):
        names = ", ".join(arrays)
        raise ValueError(f"no argument is called {unknown[0]}; there are {names}")
    wanted = {**planned, **(chosen or {})}
    result = []
    for name, array in arrays.items():
        chunks = normalized_chunks(wanted.get(name, -1), planned.get(name, ()))
        try:
            chunks = da.core.normalize_chunks(chunks, array.shape, dtype=array.dtype)
        except ZeroDivisionError:
            raise ValueError(f"{name}: chunks of no elements: {chunks}") from None
        whole = planned.get(name, (-1,) * len(chunks))
        for axis, (sizes, plan) in enumerate(zip(chunks, whole, strict=True)):
            if plan == -1 and len(sizes) > 1:
                raise ValueError(
                    f"{name}: axis {axis} is needed whole, not in {len(sizes)} chunks"
                )
        argument = Chunked(array, chunks)
        result.append(argument if name in planned else argument.read())
    return result


def any_names(chosen: Mapping[Any, Any]) -> bool:
    """Return whether chunks are given by argument, not by axis as dask takes them."""
    return any(isinstance(key, str) for key in chosen) or not chosen


def normalized_chunks(chunks: Any, plan: Sequence[int]) -> Any:
    """Return chunks for each axis: a number or a size applies to the axes that may be
    cut, and the axes that a mapping does not name are as planned.
    """
    if isinstance(chunks, Mapping):
        return tuple(chunks.get(axis, n) for axis, n in enumerate(plan))
    if isinstance(chunks, int | np.integer | str) and plan:
        return tuple(chunks if n != -1 else -1 for n in plan)
    return chunks


def on_disk(array: Any) -> Any:
    """Return a memmap as an array that each task reads from its file: only the path and
    the time of the last change are sent.

    Any other memmap, such as a view of one, becomes a plain NumPy array.
    """
    is_file = isinstance(array, np.memmap) and array.filename and array.mode != "c"
    if is_file and not isinstance(array.base, np.ndarray) and array.flags.c_contiguous:
        path = str(array.filename)
        file = FileArray(path, array.dtype, array.shape, array.offset)
        file.token = os.stat(path).st_mtime_ns if array.mode == "r" else uuid4().hex
        return file
    return array.view(np.ndarray) if isinstance(array, np.ndarray) else array
