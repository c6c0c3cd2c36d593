"""CUDA graphs on the twin: what CuPy lets a stream do while it is captured, and replays of what was captured.

While a stream is captured, each piece of the device's work is noted with the arrays that it writes, and what it wrote
is spoilt at the end, since a device would not have done it. A launch does all of it again on the same arrays, so that
what the host had worked out stays as it was. Stricter than CuPy: what is captured must have run before, in memory of a
pool of its own, and what one stream does must wait for all that others have done.

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
# Told of work by its name: the arrays that it reads, those that it fills, and whether it was given these.
Observe = Callable[[str, list[np.ndarray], list[np.ndarray], bool], None]


NOTHING = frozenset(("empty", "empty_like"))  # is done on the device


class CaptureError(AssertionError):
    """CuPy or CUDA would refuse this while a stream is captured, or the graph would go wrong later."""


class Event:
    """``cupy.cuda.Event``: a place in the work of a stream, what is done when it is reached, and when that was."""

    def __init__(self) -> None:
        self.done: Counter[Stream] = Counter()
        self.time = float("nan")

    def record(self, stream: Stream | None = None) -> None:
        stream = stream or _DEVICE.stream
        self.done, self.time = stream.known | Counter({stream: stream.count}), time.perf_counter()

    def synchronize(self) -> None:
        not_captured("the host waits for an event")


class Stream:
    """``cupy.cuda.Stream``: how much work it was given, and of how much of others it knows that it is done."""

    def __init__(self, null: bool = False, non_blocking: bool = False) -> None:
        self.is_null, self.count, self.device = null, 0, _DEVICE.number
        self.ptr = 0 if null else id(self)
        self.known: Counter[Stream] = Counter()
        self.before: list[Stream] = []
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
        raise CaptureError("the host waits for a stream")

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
    """Work, each with the arrays that it fills; and the memory that it was given in."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.work: list[tuple[Compute, list[np.ndarray | None]]] = []
        self.given: list[np.ndarray] = []  # to fill
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
        """Fill what was captured with what nobody wrote yet."""
        made = [array for _, arrays in self.work for array in arrays if array is not None]
        for array in (*made, *self.given):
            if array.size:
                octet = 0x7D if array.dtype != np.bool_ else 1
                array[...] = np.full(array.nbytes, octet, np.uint8).view(array.dtype)[0]


class MemoryPool:
    """``cupy.cuda.MemoryPool``. The twin's arrays are NumPy's: ``malloc`` only tells whose pool is used."""

    def malloc(self, size: int) -> bytearray:
        return bytearray(size)


class Device:
    """``cupy.cuda.Device``, the current one without a number."""

    def __init__(self, device: int | None = None) -> None:
        self.id = _DEVICE.number if device is None else device

    def __enter__(self) -> Device:
        self.outer, _DEVICE.number = (_DEVICE.number, _DEVICE.stream), self.id
        own = [stream for stream in _DEVICE.streams if stream.is_null and stream.device == self.id]
        _DEVICE.stream = own[0] if own else Stream(null=True)
        return self

    def __exit__(self, *_: object) -> None:
        _DEVICE.number, _DEVICE.stream = self.outer

    def synchronize(self) -> None:
        """All that was asked for has been done."""
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
    """The arrays in what work gives."""
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
    """All work is told to ``observe``, in its order, when it is done."""
    _DEVICE.observe = observe
    try:
        yield
    finally:
        _DEVICE.observe = None


def work(name: str, compute: Compute, reads: Any = (), writes: Any = None) -> Any:
    """Return what ``compute`` gives on the host's arrays, on the device, and note the work if it is captured.

    ``reads`` and ``writes`` are nests of the arrays that it takes and fills; by default it fills what it gives.
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
    again = leaves(compute())  # parts of other arrays are the same again: nothing has to be written there
    own = [None if np.may_share_memory(*pair) else pair[0] for pair in zip(leaves(made), again, strict=True)]
    graph.work.append((compute, own))
    return made


def is_captured() -> bool:
    """Tell whether a stream is captured."""
    return _DEVICE.captured is not None


def current_stream() -> int:
    """The pointer of the current stream."""
    return _DEVICE.stream.ptr


def not_captured(what: str) -> None:
    """Raise CaptureError for what has no place in a graph, if one is captured."""
    if _DEVICE.captured is not None:
        raise CaptureError(f"{what} while a stream is captured")


CUDA: dict[str, Any] = {
    "Device": Device,
    "Event": Event,
    "MemoryPool": MemoryPool,
    "Stream": Stream,
    "get_device_id": lambda: 0,
    "get_current_stream": lambda: _DEVICE.stream,
    "get_elapsed_time": lambda start_event, end_event: 1e3 * (end_event.time - start_event.time),
    "using_allocator": using_allocator,
}
