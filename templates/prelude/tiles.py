"""Block functions that process their blocks a few rows at a time."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from .arrays_in_files import MAPPED_BYTES
from .memory import MEMORY

# A call reads so many bytes of one argument: few enough to stay in the cache, enough
# that threads seldom wait for the interpreter. Windows need more, since they read
# neighbouring rows again.
TILE_BYTES = 1 << 20
WINDOW_BYTES = 1 << 22
LINE_CHUNKS = 8  # chunks, at most, of a line that one task sorts as a whole


class Tiled:
    """A block function that is called for a few rows of its block at a time.

    ``cut`` has for each argument the axis of its rows, or None if each call gets it
    whole. ``joined`` has for the result, or for each of several, the axis along which
    those of all calls are joined, or the ufunc that combines them. Temporary arrays are
    small, and only the rows of a file are read. ``rows`` is the most for a call, for
    functions that make large results of small arguments.
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

    Tasks recognise it by its methods, not by its class: a module that is loaded again
    has another class.
    """

    def __init__(self, array: Any, index: tuple[slice, ...]) -> None:
        self.array, self.index, self.dtype = array, index, array.dtype
        self.shape = tuple(map(len, map(places_in, index)))
        self.nbytes = prod(self.shape) * self.dtype.itemsize

    def read(self) -> np.ndarray:
        """Read the part."""
        return np.asarray(self.array[self.index])

    def read_into(self, result: np.ndarray, inner: tuple[slice, ...]) -> None:
        """Write a box of the part to an array in memory."""
        part = self[inner]
        put_part(result, part.array, part.index)

    def __getitem__(self, inner: tuple[slice, ...]) -> "Unread":
        """Return a box of the part, unread: dask cuts all arrays of a task at the edges
        of each.
        """
        index = list(self.index)
        for axis, part in enumerate(inner):
            places = places_in(index[axis])[part]
            index[axis] = slice(places.start, places.stop, places.step)
        return Unread(self.array, tuple(index))


def places_in(part: slice) -> range:
    """Return the places along an axis that a slice selects."""
    return range(part.start, part.stop, part.step or 1)


def block_of(argument: Any) -> Any:
    """Return a block that dask passes, which may be unread or in lists of one."""
    while isinstance(argument, list):
        (argument,) = argument
    return argument.read() if hasattr(argument, "read") else argument


def left_in_file(argument: Any) -> Any:
    """Return a block of which parts will be taken; a block in a file stays there."""
    while isinstance(argument, list):
        (argument,) = argument
    return argument if is_in_file(argument) else block_of(argument)


def is_in_file(argument: Any) -> bool:
    """Return whether any part of a block, or of an array, can be read on its own."""
    return hasattr(getattr(argument, "array", argument), "read_into")


def own_block(argument: Any) -> np.ndarray:
    """Return the copy of a block, which may be changed."""
    block = left_in_file(argument)
    result = MEMORY.room(block.shape, block.dtype)
    put_part(result, block, ())
    return result


def rows_of(x: Any, axis: int, rows: slice) -> Any:
    """Return some rows of a block that ``left_in_file`` returned."""
    return block_of(x[(slice(None),) * axis + (rows,)])


def put_part(result: np.ndarray, source: Any, index: tuple[slice, ...]) -> None:
    """Compute ``result[...] = source[index]``; a file is read right into the result."""
    if hasattr(source, "read_into"):
        source.read_into(result, index)
    else:
        result[...] = source[index]


class Rows:
    """A block from which rows are taken in order. If it is contiguous in a file,
    MAPPED_BYTES are mapped at a time: to map takes as long as to add up 1 MiB.
    """

    def __init__(self, block: Any, axis: int) -> None:
        self.block, self.axis, self.count = block, axis, block.shape[axis]
        self.at_once = 0
        if is_one_piece(block, axis):
            self.at_once = MAPPED_BYTES * self.count // max(1, block.nbytes)
        self.part, self.start, self.stop = block, 0, 0

    def take(self, rows: slice) -> Any:
        """Return rows that do not precede the last ones taken."""
        if rows.stop > self.stop:
            self.start, self.stop = rows.start, rows.start + self.at_once
            self.stop = min(max(rows.stop, self.stop), self.count)
            self.part = rows_of(self.block, self.axis, slice(self.start, self.stop))
        inner = slice(rows.start - self.start, rows.stop - self.start)
        return self.part[(slice(None),) * self.axis + (inner,)]


def is_one_piece(block: Any, axis: int) -> bool:
    """Return whether the rows of a block that ``left_in_file`` returned are contiguous
    in a file.
    """
    whole = getattr(block, "array", None)
    if whole is None:
        return False
    is_first = prod(block.shape[:axis]) == 1
    return is_first and tuple(block.shape[axis + 1 :]) == tuple(whole.shape[axis + 1 :])


def room_for(part: np.ndarray, way: Any, count: int) -> np.ndarray:
    """Return room for the results of all calls, or, if these are combined, a copy of
    the first one, which is overwritten.
    """
    if not isinstance(way, int):
        return np.array(part)
    return MEMORY.room((*part.shape[:way], count, *part.shape[way + 1 :]), part.dtype)
