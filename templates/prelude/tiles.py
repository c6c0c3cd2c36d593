"""Block functions that work through their blocks a few rows at a time."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from .arrays_in_files import MAPPED_BYTES
from .memory import MEMORY

# Of one argument in a call: little enough to stay in the cache, and enough that threads
# seldom wait for the interpreter. Windows read rows of their neighbours again.
TILE_BYTES = 1 << 20
WINDOW_BYTES = 1 << 22
LINE_CHUNKS = 8  # chunks that a line may be as long as for a task to sort it as a whole


class Tiled:
    """A block function that is called for a few rows of its block at a time.

    ``cut`` says for each argument along which axis the rows lie; None: each call gets
    it whole. ``joined`` says for the result, or for each of several, along which axis
    those of all calls are joined, or the ufunc that combines them. Temporary arrays are
    small, and of a file only the rows are read. ``rows`` are the most for a
    call, where much is made of small arguments.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        cut: tuple[int | None, ...],
        joined: Any,
        rows: int | None = None,
    ) -> None:
        self.function, self.cut, self.joined, self.rows = function, cut, joined, rows
        self.__name__ = function.__name__  # for dask's progress bars and dashboard

    def __call__(self, *arguments: Any) -> Any:
        given = zip(arguments, self.cut, strict=True)
        whole_or_rows = [
            block_of(x) if axis is None else Rows(left_in_file(x), axis)
            for x, axis in given
        ]
        in_rows = [x for x in whole_or_rows if isinstance(x, Rows)]
        count, most = in_rows[0].count, max(x.block.nbytes for x in in_rows)
        ways = self.joined if isinstance(self.joined, tuple) else (self.joined,)
        results: list[Any] = []
        start, tile_bytes = 0, TILE_BYTES
        while start < count or not results:
            step = max(1, count * tile_bytes // max(1, most))
            stop = min(start + min(step, self.rows or count), count)
            tile = slice(start, stop)
            parts = (x.take(tile) if isinstance(x, Rows) else x for x in whole_or_rows)
            made = self.function(*parts)
            several = made if isinstance(self.joined, tuple) else (made,)
            for k, (part, way) in enumerate(zip(several, ways, strict=True)):
                if start == 0:
                    results.append(room_for(part, way, count))
                if isinstance(way, int):
                    results[k][(slice(None),) * way + (tile,)] = part
                    continue
                if start:
                    with np.errstate(all="ignore"):
                        way(results[k], part, out=results[k])
                tile_bytes = max(tile_bytes, part.nbytes)  # adding takes no longer
            start = stop
        return tuple(results) if isinstance(self.joined, tuple) else results[0]


class Unread:
    """A part of an array that is read by the task that needs it.

    Tasks know it by what it can do, not by its class: a module that is loaded again has
    another class.
    """

    def __init__(self, array: Any, index: tuple[slice, ...]) -> None:
        self.array, self.index, self.dtype = array, index, array.dtype
        self.shape = tuple(map(len, map(places_in, index)))
        self.nbytes = prod(self.shape) * self.dtype.itemsize

    def read(self) -> np.ndarray:
        """The part."""
        return np.asarray(self.array[self.index])

    def read_into(self, result: np.ndarray, inner: tuple[slice, ...]) -> None:
        """Write a part of it to an array in memory."""
        part = self[inner]
        put_part(result, part.array, part.index)

    def __getitem__(self, inner: tuple[slice, ...]) -> "Unread":
        """A part of it: dask cuts along the edges of all arrays that meet."""
        index = list(self.index)
        for axis, part in enumerate(inner):
            places = places_in(index[axis])[part]
            index[axis] = slice(places.start, places.stop, places.step)
        return Unread(self.array, tuple(index))


def places_in(part: slice) -> range:
    """The places along an axis that a slice has."""
    return range(part.start, part.stop, part.step or 1)


def block_of(argument: Any) -> Any:
    """A block that dask gives: it may be alone in lists, or not read yet."""
    while isinstance(argument, list):
        (argument,) = argument
    return argument.read() if hasattr(argument, "read") else argument


def left_in_file(argument: Any) -> Any:
    """A block of which parts are taken: one that lies in a file stays there."""
    while isinstance(argument, list):
        (argument,) = argument
    return argument if is_in_file(argument) else block_of(argument)


def is_in_file(argument: Any) -> bool:
    """Tell whether a block, or an array, is one of which any part can be read."""
    return hasattr(getattr(argument, "array", argument), "read_into")


def own_block(argument: Any) -> np.ndarray:
    """A block that may be changed."""
    block = left_in_file(argument)
    result = MEMORY.room(block.shape, block.dtype)
    put_part(result, block, ())
    return result


def rows_of(x: Any, axis: int, rows: slice) -> Any:
    """Some rows of what ``left_in_file`` gave."""
    return block_of(x[(slice(None),) * axis + (rows,)])


def put_part(result: np.ndarray, source: Any, index: tuple[slice, ...]) -> None:
    """``result[...] = source[index]``, which is read to where it belongs."""
    if hasattr(source, "read_into"):
        source.read_into(result, index)
    else:
        result[...] = source[index]


class Rows:
    """A block from which rows are taken, some after the other. One that is a piece of a
    file is mapped MAPPED_BYTES at a time: it takes as long to map as to add up 1 MiB.
    """

    def __init__(self, block: Any, axis: int) -> None:
        self.block, self.axis, self.count = block, axis, block.shape[axis]
        self.at_once = 0
        if is_one_piece(block, axis):
            self.at_once = MAPPED_BYTES * self.count // max(1, block.nbytes)
        self.part, self.start, self.stop = block, 0, 0

    def take(self, rows: slice) -> Any:
        """Rows that are not before the last ones."""
        if rows.stop > self.stop:
            self.start, self.stop = rows.start, rows.start + self.at_once
            self.stop = min(max(rows.stop, self.stop), self.count)
            self.part = rows_of(self.block, self.axis, slice(self.start, self.stop))
        inner = slice(rows.start - self.start, rows.stop - self.start)
        return self.part[(slice(None),) * self.axis + (inner,)]


def is_one_piece(block: Any, axis: int) -> bool:
    """Tell whether the rows of what ``left_in_file`` gave lie one behind the other in a
    file.
    """
    whole = getattr(block, "array", None)
    if whole is None:
        return False
    is_first = prod(block.shape[:axis]) == 1
    return is_first and tuple(block.shape[axis + 1 :]) == tuple(whole.shape[axis + 1 :])


def room_for(part: np.ndarray, way: Any, count: int) -> np.ndarray:
    """Room for the results of all calls; the first of those that are combined, which is
    overwritten.
    """
    if not isinstance(way, int):
        return np.array(part)
    return MEMORY.room((*part.shape[:way], count, *part.shape[way + 1 :]), part.dtype)
