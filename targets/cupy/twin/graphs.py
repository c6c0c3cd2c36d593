"""CUDA graphs on the twin: the work that CuPy lets a stream capture, and launches of captured graphs.

While a stream is captured, each piece of device work is recorded with the arrays that it writes. At the end of the
capture these arrays are spoilt, since a device would not have written them. A launch repeats the work on the same
arrays, so values that the host computed stay the same. Stricter than CuPy: captured work must have run before, it must
use memory of its own pool, and each stream must wait for all work of the others.

Source: CuPy 14.2, stream.pyx, graph.pyx, memory.pyx, cublas.pyx, cusolver.pyx, and its own tests of graphs.
"""

from __future__ import annotations

import contextlib
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Compute = Callable[[], Any]
# Called for each piece of work: its name, the arrays that it reads and fills, and whether the latter are arguments.
Observe = Callable[[str, list[np.ndarray], list[np.ndarray], bool], None]


NOTHING = frozenset(("empty", "empty_like"))  # no work on the device


class CaptureError(AssertionError):
    """CuPy or CUDA would refuse this while a stream is captured, or the graph would compute wrong results later."""


class Event:
    """``cupy.cuda.Event``: a position in the work of a stream, the work that is done there, and its time."""

    def __init__(self) -> None:
        self.done: Counter[Stream] = Counter()
        self.time = float("nan")

    def record(self, stream: Stream | None = None) -> None:
        stream = stream or _DEVICE.stream
        self.done, self.time = stream.known | Counter({stream: stream.count}), time.perf_counter()

    def synchronize(self) -> None:
        not_captured("the host waits for an event")


class Stream:
    """``cupy.cuda.Stream``: the amount of its work, and the amount of other streams' work that it has waited for."""

    def __init__(self, null: bool = False, non_blocking: bool = False) -> None:
        self.is_null, self.count, self.device = null, 0, _DEVICE.number
        self.ptr = 0 if null else id(self)
        self.known: Counter[Stream] = Counter()
        self.before: list[Stream] = []
        self.copies: list[Callable[[], None]] = []  # to the host, done when it waits
        _DEVICE.streams.append(self)

    def __enter__(self) -> Stream:
        self.before.append(_DEVICE.stream)
        _DEVICE.stream = self
        return self

    def __exit__(self, *_: object) -> None:
        _DEVICE.stream = self.before.pop()

    def record(self, event: Event | None = None) -> Event:
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        self.known |= event.done

    def synchronize(self) -> None:
        not_captured("the host waits for a stream")
        while self.copies:
            self.copies.pop(0)()

    def begin_capture(self, mode: int | None = None) -> None:
        if self.is_null:
            raise RuntimeError("cannot capture on the default (legacy) stream")
        _DEVICE.captured = Graph(self)

    def end_capture(self) -> Graph:
        graph, _DEVICE.captured = _DEVICE.captured, None
        assert graph is not None
        assert graph.stream is self, "another stream is captured"
        graph.spoil()
        return graph


class Graph:
    """The captured work with the arrays that each piece fills, and the memory pools that it uses."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.work: list[tuple[Compute, list[np.ndarray | None]]] = []
        self.given: list[np.ndarray] = []  # arguments that the work fills
        self.pools: set[weakref.ref[MemoryPool]] = set()

    def launch(self, stream: Stream | None = None) -> None:
        if not all(pool() is not None for pool in self.pools):
            raise CaptureError("the memory that the graph works in belongs to nobody")
        _begin(stream or _DEVICE.stream)
        for compute, arrays in self.work:
            for array, new in zip(arrays, leaves(compute()), strict=True):
                if array is not None:
                    array[...] = new

    def spoil(self) -> None:
        """Fill all arrays of the graph with the pattern of unwritten memory."""
        made = [array for _, arrays in self.work for array in arrays if array is not None]
        for array in (*made, *self.given):
            if array.size:
                octet = 0x7D if array.dtype != np.bool_ else 1
                array[...] = np.full(array.nbytes, octet, np.uint8).view(array.dtype)[0]


class MemoryPool:
    """``cupy.cuda.MemoryPool``. The twin's arrays are NumPy's: ``malloc`` only identifies the pool."""

    def malloc(self, size: int) -> bytearray:
        return bytearray(size)


class Device:
    """``cupy.cuda.Device``; without a number, the current device."""

    def __init__(self, device: int | None = None) -> None:
        self.id = _DEVICE.number if device is None else device

    def use(self) -> None:
        _DEVICE.number = self.id

    def __enter__(self) -> Device:
        self.outer, _DEVICE.number = (_DEVICE.number, _DEVICE.stream), self.id
        own = [stream for stream in _DEVICE.streams if stream.is_null and stream.device == self.id]
        _DEVICE.stream = own[0] if own else Stream(null=True)
        return self

    def __exit__(self, *_: object) -> None:
        _DEVICE.number, _DEVICE.stream = self.outer

    def synchronize(self) -> None:
        """Do nothing, since all work is done at once. Raises CaptureError while a stream is captured."""
        not_captured("the host waits for the device")


class _State:
    """The current device, stream and graph."""

    def __init__(self) -> None:
        self.number = 0
        self.streams: list[Stream] = []
        self.allocator: Any = None
        self.captured: Graph | None = None
        self.ran: set[str] = set()
        self.observe: Observe | None = None
        self.stream: Stream


_DEVICE = _State()
_DEVICE.stream = Stream(null=True)


@contextlib.contextmanager
def using_allocator(allocator: Any = None) -> Iterator[None]:
    outer, _DEVICE.allocator = _DEVICE.allocator, allocator
    try:
        yield
    finally:
        _DEVICE.allocator = outer


def leaves(result: Any) -> list[np.ndarray]:
    """Return the arrays in a nested result."""
    if isinstance(result, tuple | list):
        return [leaf for part in result for leaf in leaves(part)]
    return [np.asarray(result)] if isinstance(result, np.ndarray | np.generic) else []


def _begin(stream: Stream) -> None:
    for other in _DEVICE.streams:
        if other is not stream and other.device == stream.device and stream.known[other] < other.count:
            raise CaptureError("what another stream does may not be done")
    stream.count += 1


@contextlib.contextmanager
def observed(observe: Observe) -> Iterator[None]:
    """Call ``observe`` for each piece of work when it is done, in order."""
    _DEVICE.observe = observe
    try:
        yield
    finally:
        _DEVICE.observe = None


def work(name: str, compute: Compute, reads: Any = (), writes: Any = None) -> Any:
    """Compute on the host's arrays and return the result; record the work if a stream is captured.

    ``reads`` and ``writes`` are nests of the arrays that the work reads and fills; by default, it fills its result.
    """
    graph = _DEVICE.captured
    if graph is None:
        _DEVICE.ran.add(name)
        _begin(_DEVICE.stream)
        result = compute()
        if _DEVICE.observe is not None:
            _DEVICE.observe(name, leaves(reads), leaves(result if writes is None else writes), writes is not None)
        return result
    if _DEVICE.stream is not graph.stream:
        raise CaptureError(f"{name} is not on the stream that is captured")
    if name not in _DEVICE.ran:
        raise CaptureError(f"{name} has not run before, and would be compiled while it is captured")
    if _DEVICE.allocator is None:
        raise CaptureError(f"{name} works in memory that others get, too")
    graph.pools.add(weakref.ref(_DEVICE.allocator.__self__))
    made = compute()
    if name in NOTHING:
        return made
    graph.given += leaves(writes)
    made = np.asarray(made) if isinstance(made, np.generic) else made
    again = leaves(compute())  # a result that is a view shares memory with itself here: launches need not write it
    own = [None if np.may_share_memory(*pair) else pair[0] for pair in zip(leaves(made), again, strict=True)]
    graph.work.append((compute, own))
    return made


def is_captured() -> bool:
    """Return whether a stream is captured."""
    return _DEVICE.captured is not None


def current_stream() -> int:
    """Return the pointer of the current stream."""
    return _DEVICE.stream.ptr


def not_captured(what: str) -> None:
    """Raise CaptureError if a stream is captured. ``what`` cannot be part of a graph."""
    if _DEVICE.captured is not None:
        raise CaptureError(f"{what} while a stream is captured")


CUDA: dict[str, Any] = {
    "Device": Device,
    "Event": Event,
    "MemoryPool": MemoryPool,
    "Stream": Stream,
    "get_device_id": lambda: _DEVICE.number,
    "get_current_stream": lambda: _DEVICE.stream,
    "get_elapsed_time": lambda start_event, end_event: 1e3 * (end_event.time - start_event.time),
    "using_allocator": using_allocator,
}
