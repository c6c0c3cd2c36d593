"""A function as a CUDA graph, which is launched at once in place of its kernels."""

from collections.abc import Callable
from typing import Any

import cupy as cp


class Replay:
    """A function of arrays, which the first call on each device captures as a graph and
    every call launches: arguments are copied into the arrays of the graph, results out
    of them.

    A graph uses the same memory each time: its calls have to follow each other, on one
    stream.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.captured: dict[int, Captured] = {}

    def __call__(self, *arguments: Any) -> Any:
        device = cp.cuda.Device().id
        if device not in self.captured:
            self.captured[device] = Captured(self.function, arguments)
        return self.captured[device].launch(arguments)


class Captured:
    """The graph of a function on the current device, and its memory."""

    def __init__(self, function: Callable[..., Any], arguments: Any) -> None:
        self.pool = cp.cuda.MemoryPool()  # no other array uses the graph's memory
        stream, before = cp.cuda.Stream(non_blocking=True), cp.cuda.get_current_stream()
        stream.wait_event(before.record())
        with stream, cp.cuda.using_allocator(self.pool.malloc):
            self.arguments = each(cp.copy, arguments)
            function(*self.arguments)  # compiles the kernels, loads the constants
            stream.begin_capture()
            try:
                self.results = function(*self.arguments)
            finally:
                self.graph = stream.end_capture()
        before.wait_event(stream.record())

    def launch(self, arguments: Any) -> Any:
        """Launch the graph, and return copies of the results. Raises TypeError for
        arguments other than those that were captured.
        """
        each(refill, self.arguments, arguments)
        self.graph.launch()
        return each(cp.copy, self.results)


def refill(own: cp.ndarray, given: cp.ndarray) -> None:
    """Copy an argument into the array of the graph."""
    if (own.dtype, own.shape) != (given.dtype, given.shape):
        expected, found = (f"{x.dtype}{list(x.shape)}" for x in (own, given))
        raise TypeError(f"captured for {expected}, called with {found}")
    cp.copyto(own, given)


def each(function: Callable[..., Any], first: Any, *others: Any) -> Any:
    """Apply ``function`` to all arrays in nests of tuples, lists and dicts that are
    alike.
    """
    if isinstance(first, dict):
        return {
            key: each(function, part, *(other[key] for other in others))
            for key, part in first.items()
        }
    if isinstance(first, tuple | list):
        parts = [each(function, *row) for row in zip(first, *others, strict=True)]
        return parts if isinstance(first, list) else tuple(parts)
    return None if first is None else function(first, *others)
