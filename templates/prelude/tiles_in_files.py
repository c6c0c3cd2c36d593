"""Blocks of lazy arrays in files, for tasks that take one after the other, and products
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
    """A block in a file of its own, in dask's temporary directory; the file goes with
    the last reference to it.

    To another process go the block's elements, which then lie in a file there.
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
    """A block in a file, unless its parts are in some already."""
    return block if is_in_file(block) else Stored(block)


def in_files(x: da.Array) -> da.Array:
    """An array whose blocks are put into files as soon as they are computed."""
    letters = "ijklmnopqr"[: x.ndim]
    meta = np.zeros((0,) * x.ndim, x.dtype)
    name = name_for(phase_of(x), "in files", x)
    stored: da.Array = da.blockwise(
        put_in_file, letters, x, letters, name=name, meta=meta
    )
    return stored


class Summed:
    """A block function of a product: the sum of what it gives for the chunks of the
    axis that is summed over, one at a time.

    What is cut along that axis comes as a list of blocks, anything else as one block.
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
    """Return the first block of each list, then the second, ..; what is one block goes
    with each of them.
    """
    lists = [list(flat(argument)) for argument in arguments]
    lists = [blocks if len(blocks) > 1 else [block_of(blocks)] for blocks in lists]
    for k in range(max(map(len, lists))):
        yield [block_of(blocks[k % len(blocks)]) for blocks in lists]


def flat(blocks: Any) -> Iterator[Any]:
    """The blocks in lists of lists, in order."""
    if isinstance(blocks, list):
        for part in blocks:
            yield from flat(part)
    else:
        yield blocks
