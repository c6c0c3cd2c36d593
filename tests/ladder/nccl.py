"""NCCL among threads, with its rules: what two devices send each other matches by order and size, a group of calls ends
when the others have done their part, and who waits for ever is told so. Stricter than NCCL, which buffers a little.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from types import SimpleNamespace
from typing import Any

import numpy as np

from xla2py.tests.ladder.twin import DeviceArray

PATIENCE = 5.0  # seconds


class Stuck(AssertionError):
    """The devices wait for each other."""


class Nccl:
    """The library: groups of calls, by thread; and what is under way, by sender and receiver."""

    def __init__(self) -> None:
        self.own = threading.local()
        self.changed = threading.Condition()
        self.sending: dict[tuple[int, int], deque[Any]] = defaultdict(deque)
        self.receiving: dict[tuple[int, int], deque[Any]] = defaultdict(deque)

    def modules(self) -> dict[str, Any]:
        """What ``from cupy.cuda import nccl`` finds."""
        return {"cupy.cuda": SimpleNamespace(nccl=self), "cupy.cuda.nccl": self}

    def groupStart(self) -> None:
        assert not getattr(self.own, "calls", None), "a group inside a group"
        self.own.calls = []

    def groupEnd(self) -> None:
        calls, self.own.calls = self.own.calls, None
        with self.changed:
            for queue, key, call in calls:
                queue[key].append(call)
                self._match(key)
            done = self.changed.wait_for(lambda: all(call.done for *_, call in calls), PATIENCE)
        if not done:
            raise Stuck("the devices wait for each other")

    def call(self, kind: str, source: int, target: int, array: Any) -> None:
        """A call inside a group."""
        assert self.own.calls is not None, f"{kind} outside of a group"
        assert isinstance(array, DeviceArray), f"{kind} of a {type(array).__name__}"
        assert array.size, f"{kind} of nothing: the device's memory has no place for it"
        assert array.on_host.flags.c_contiguous, "NCCL requires arrays to be contiguous"
        assert array.dtype.char in "bBiIlLqQefdFD", f"Unknown dtype {array.dtype} for NCCL"
        queue = self.sending if kind == "send" else self.receiving
        self.own.calls.append((queue, (source, target), SimpleNamespace(array=array.on_host, done=False)))

    def _match(self, key: tuple[int, int]) -> None:
        """The first that is sent is the first that is received."""
        while self.sending[key] and self.receiving[key]:
            sent, received = self.sending[key].popleft(), self.receiving[key].popleft()
            assert sent.array.nbytes == received.array.nbytes, f"{sent.array.nbytes} bytes for {received.array.nbytes}"
            np.copyto(received.array, sent.array)
            sent.done = received.done = True
            self.changed.notify_all()


class Backend:
    """What ``cupyx.distributed.init_process_group`` gives a process, as far as it is used."""

    def __init__(self, nccl: Nccl, n_devices: int, rank: int) -> None:
        self.nccl, self.count, self.rank = nccl, n_devices, rank

    def send(self, array: Any, peer: int, stream: Any = None) -> None:
        assert 0 <= peer < self.count
        assert peer != self.rank
        self.nccl.call("send", self.rank, peer, array)

    def recv(self, out_array: Any, peer: int, stream: Any = None) -> None:
        assert 0 <= peer < self.count
        assert peer != self.rank
        self.nccl.call("recv", peer, self.rank, out_array)
