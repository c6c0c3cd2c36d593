"""Arrays in files, of which tasks read the parts that they need."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .memory import MEMORY

MAPPED_BYTES = 1 << 22  # of a file at a time, if not all of it is needed
FAR_BYTES = 1 << 15  # between rows that are read one by one
SHORT_BYTES = 1 << 8  # that are contiguous: shorter pieces are slow to compute with


class FileArray:
    """An array in a file, identified by the file's name. A slice that is contiguous in
    the file, or nearly so, is mapped into memory while it is used. Any other slice is
    read: the pages between its parts would count as the process's memory, and may be
    the whole file.
    """

    def __init__(
        self, path: str, dtype: Any, shape: tuple[int, ...], offset: int = 0
    ) -> None:
        self.path, self.dtype, self.shape, self.offset = path, dtype, shape, offset
        self.ndim = len(shape)
        self.token: Any = None

    def __dask_tokenize__(self) -> Any:
        return self.path, self.offset, self.shape, str(self.dtype), self.token

    def reshape(self, shape: tuple[int, ...]) -> "FileArray":
        """Return the same elements in another shape."""
        other = FileArray(self.path, self.dtype, shape, self.offset)
        other.token = self.token
        return other

    def mapped(self) -> np.memmap:
        """Return the array as pages of the file, none of which is read yet."""
        return np.memmap(self.path, self.dtype, "r", self.offset, self.shape)

    def __getitem__(self, index: Any) -> np.ndarray:
        view: np.ndarray = np.asarray(self.mapped())[index]
        if is_dense(view):
            return view
        result = MEMORY.room(view.shape, self.dtype)
        self.read_into(result, index)
        return result

    def read_into(self, result: np.ndarray, index: Any) -> None:
        """Write a slice to an array in memory."""
        with open(self.path, "rb") as file:
            for at, there, here in self.pieces(index, result):
                if in_one_piece(there, here):
                    file.seek(at)
                    file.readinto(here.reshape(-1).view(np.uint8).data)
                else:
                    here[...] = self.pages(at, there)

    def pieces(self, index: Any, here: np.ndarray) -> Iterator[Any]:
        """Yield the parts of a slice and of an array in memory, with the offset in the
        file where each begins.
        """
        file = self.mapped()
        there = np.asarray(file)[index]
        order = (slice(None, None, -1 if n < 0 else 1) for n in there.strides)
        forward: Any = (*order, ...)
        there, here = there[forward], here[forward]
        at = self.offset + address(there) - address(file)
        yield from pieces_of(at, there, here)

    def pages(self, at: int, like: np.ndarray, mode: Any = "r") -> np.ndarray:
        """Return pages of the file from an offset on, with the shape and strides of
        another array.
        """
        steps = zip(like.shape, like.strides, strict=True)
        size = like.itemsize + sum((n - 1) * stride for n, stride in steps)
        pages = np.memmap(self.path, np.uint8, mode, at, (size,))
        return np.ndarray(like.shape, self.dtype, pages.data, 0, like.strides)


def pieces_of(at: int, there: np.ndarray, here: np.ndarray) -> Iterator[Any]:
    """Yield the parts of an array that begins at an offset of a file, and the same
    parts of an array in memory: contiguous in both, or close together in the file.
    """
    if in_one_piece(there, here):
        yield at, there, here
        return
    stride = there.strides[0]
    is_near = len(there) > 1 and stride <= FAR_BYTES
    rows = MAPPED_BYTES // stride if is_near else 1
    for start in range(0, len(there), rows):
        place = at + start * stride
        if is_near:
            part = slice(start, start + rows)
            yield place, there[part], here[part]
        else:
            yield from pieces_of(place, there[start, ...], here[start, ...])


def in_one_piece(there: np.ndarray, here: np.ndarray) -> bool:
    """Return whether two arrays are contiguous."""
    return bool(there.flags.c_contiguous and here.flags.c_contiguous)


def is_dense(view: np.ndarray) -> bool:
    """Return whether an array fills most of the pages that are mapped for it: its
    elements lie in long pieces, or in short ones with little between.
    """
    axes = list(zip(view.shape, view.strides, strict=True))[::-1]
    span = view.itemsize + sum((n - 1) * abs(stride) for n, stride in axes)
    piece = view.itemsize
    for n, stride in axes:
        if n > 1 and stride != piece:
            break
        piece *= n
    is_near = piece >= SHORT_BYTES and span <= 2 * view.nbytes
    return bool(view.flags.c_contiguous or piece >= FAR_BYTES or is_near)


def address(view: np.ndarray) -> int:
    """Return the address of an array's first element."""
    first: int = view.__array_interface__["data"][0]
    return first
