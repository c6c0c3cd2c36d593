"""Memory for blocks of arrays with short lives."""

import weakref
from collections import deque
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

REUSED_BYTES = 1 << 20  # at least; malloc reuses smaller blocks itself


class Memory:
    """The memory of blocks that are gone, kept for the next ones: the system clears
    fresh pages first, which can take as long as twenty operations.

    malloc does the same for smaller arrays, once it has seen that they come and go. A
    block does not take the memory of a much larger one, which would stay alive with it.
    """

    def __init__(self) -> None:
        self.free: deque[np.ndarray] = deque(maxlen=8)
        np.empty(31 << 20, np.uint8)  # freed at once: then glibc keeps up to as much

    def __reduce__(self) -> tuple[Any, ...]:
        return Memory, ()  # each process has its own

    def room(self, shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
        """Return an uninitialised array, whose memory is reused when its last view is
        gone.
        """
        size = prod(shape) * dtype.itemsize
        if size < REUSED_BYTES:
            return np.empty(shape, dtype)
        try:
            memory = self.free.pop()
        except IndexError:
            memory = np.empty(size, np.uint8)
        if not size <= memory.size <= 2 * size:
            memory = np.empty(size, np.uint8)
        flat = np.frombuffer(memory.data, dtype, prod(shape))  # the base of all views
        weakref.finalize(flat, self.free.append, memory)
        return flat.reshape(shape)


MEMORY = Memory()
