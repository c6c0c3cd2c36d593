"""Blocks of lazy arrays in files, for tasks that read one after the other, and products
that do so.
"""

import os
import weakref
from collections.abc import Callable, Iterator
from tempfile import NamedTemporaryFile
from typing import Any

import dask
import dask.array as da
import numpy as np

from .arrays_in_files import FileArray
from .chunked_names import name_for, phase_of
from .tiles import Unread, block_of, is_in_file


class BlockFile(FileArray):
    """A block in a file of its own, in dask's temporary directory; the file is removed
    with the last reference to it.

    Pickling sends the block's elements, which are put into a file in the other process.
    """

    def __init__(self, block: np.ndarray) -> None:
        folder = dask.config.get("temporary_directory", None)
        with NamedTemporaryFile(prefix="block-", dir=folder, delete=False) as file:
            weakref.finalize(self, os.unlink, file.name)
            block.tofile(file)
        super().__init__(file.name, block.dtype, block.shape)

    def __reduce__(self) -> tuple[Any, ...]:
        return BlockFile, (self[...],)


class Stored(Unread):
    """A block that lies in a file until it is read."""

    def __init__(self, block: np.ndarray) -> None:
        super().__init__(
            BlockFile(block), tuple(map(slice, [0] * block.ndim, block.shape))
        )


def put_in_file(block: Any) -> Any:
    """Return a block in a file, or as it is if its parts lie in files already."""
    return block if is_in_file(block) else Stored(block)


def in_files(x: da.Array) -> da.Array:
    """Return the array with blocks that are put into files once they are computed."""
    letters = "ijklmnopqr"[: x.ndim]
    meta = np.zeros((0,) * x.ndim, x.dtype)
    name = name_for(phase_of(x), "in files", x)
    stored: da.Array = da.blockwise(
        put_in_file, letters, x, letters, name=name, meta=meta
    )
    return stored


class Summed:
    """The block function of a product: sums its results for the chunks of the
    contracted axis, one at a time.

    An argument that is cut along that axis is a list of blocks, any other one block.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__ = function.__name__  # for dask's progress bars and dashboard

    def __call__(self, *arguments: Any) -> np.ndarray:
        total: np.ndarray | None = None
        for blocks in each_in_turn(*arguments):
            part = self.function(*blocks)
            with np.errstate(all="ignore"):
                total = part if total is None else np.add(total, part, out=total)
        assert total is not None
        return total


def each_in_turn(*arguments: Any) -> Iterator[list[Any]]:
    """Yield the first block of each list, then the second, ..; an argument of one block
    is repeated.
    """
    lists = [list(flat(argument)) for argument in arguments]
    lists = [blocks if len(blocks) > 1 else [block_of(blocks)] for blocks in lists]
    for k in range(max(map(len, lists))):
        yield [block_of(blocks[k % len(blocks)]) for blocks in lists]


def flat(blocks: Any) -> Iterator[Any]:
    """Yield the blocks in nested lists, in order."""
    if isinstance(blocks, list):
        for part in blocks:
            yield from flat(part)
    else:
        yield blocks
