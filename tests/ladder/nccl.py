"""NCCL on the CPU, with its rules, below CuPy's own ``cupyx.distributed``: what two devices send each other matches by
order and size, a group of calls ends when the others have done their part, and who waits for ever is told so. Stricter
than NCCL, which buffers a little.

What is under way lies in files of a folder, so that devices may be threads or processes.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import cupy

PATIENCE = 30.0  # seconds
_TYPES = "INT8 UINT8 INT32 UINT32 INT64 UINT64 FLOAT16 FLOAT32 FLOAT64".split()
_BYTES = dict(enumerate((1, 1, 4, 4, 8, 8, 2, 4, 8)))  # of an element, by type


class Stuck(AssertionError):
    """The devices wait for each other."""


class Nccl:
    """Stands for the module ``cupy.cuda.nccl``."""

    available = True

    def __init__(self, folder: str | None = None) -> None:
        self.folder = Path(folder or tempfile.mkdtemp(prefix="nccl-"))
        self.own = threading.local()
        self.NcclCommunicator = partial(Communicator, self)
        for names in ([f"NCCL_{name}" for name in _TYPES], ["NCCL_SUM", "NCCL_PROD", "NCCL_MAX", "NCCL_MIN"]):
            vars(self).update({name: number for number, name in enumerate(names)})

    def get_unique_id(self) -> bytes:
        return os.fsencode(self.folder).ljust(128, b"\0")

    def groupStart(self) -> None:
        assert not getattr(self.own, "calls", None), "a group inside a group"
        self.own.calls = []

    def groupEnd(self) -> None:
        calls, self.own.calls = self.own.calls, None
        deadline = time.monotonic() + PATIENCE
        sent = [call.post() for call in calls if call.sends]
        for call in calls:
            if not call.sends:
                _wait(call.file.exists, deadline)
                call.take()
        for file in sent:
            _wait(lambda file=file: not file.exists(), deadline)  # type: ignore[misc]

    @property
    def under_way(self) -> list[str]:
        """What was sent and not received."""
        return sorted(path.name for path in self.folder.iterdir())


def _wait(is_done: Any, deadline: float) -> None:
    while not is_done():
        if time.monotonic() > deadline:
            raise Stuck("the devices wait for each other")
        time.sleep(0.0005)


class Call(SimpleNamespace):
    """Bytes in memory that are sent from one device to another, or the memory that they are received in."""

    file: Path
    address: int
    size: int
    sends: bool

    def post(self) -> Path:
        new = self.file.with_name(f"{self.file.name}.new")
        new.write_bytes(ctypes.string_at(self.address, self.size))
        return new.rename(self.file)

    def take(self) -> None:
        data = self.file.read_bytes()
        assert len(data) == self.size, f"{len(data)} bytes for {self.size}"
        ctypes.memmove(self.address, data, self.size)
        self.file.unlink()


class Communicator:
    """``NcclCommunicator``: the first that is sent is the first that is received."""

    def __init__(self, nccl: Nccl, ndev: int, commId: bytes, rank: int) -> None:
        assert os.fsdecode(commId.rstrip(b"\0")) == str(nccl.folder), "another library's id"
        self.nccl, self.count, self.rank = nccl, ndev, rank
        self.numbers: Counter[tuple[int, int]] = Counter()

    def send(self, sendbuf: int, count: int, datatype: int, peer: int, stream: int) -> None:
        self._note(sendbuf, count, datatype, (self.rank, peer), sends=True)

    def recv(self, recvbuf: int, count: int, datatype: int, peer: int, stream: int) -> None:
        self._note(recvbuf, count, datatype, (peer, self.rank), sends=False)

    def _note(self, address: int, count: int, datatype: int, way: tuple[int, int], sends: bool) -> None:
        """A call inside a group."""
        assert self.nccl.own.calls is not None, "a call outside of a group"
        assert all(0 <= device < self.count for device in way)
        assert way[0] != way[1], "a device to itself"
        assert address, "the device's memory has no place for nothing"
        file = self.nccl.folder / f"{way[0]}-{way[1]}-{self.numbers[way]}"
        self.numbers[way] += 1
        self.nccl.own.calls.append(Call(file=file, address=address, size=count * _BYTES[datatype], sends=sends))


@contextlib.contextmanager
def distributed(nccl: Nccl) -> Iterator[ModuleType]:
    """The module ``cupyx.distributed`` of the CuPy that is installed, over this NCCL."""
    stream = SimpleNamespace(get_current_stream=lambda: SimpleNamespace(ptr=0))
    kept = {name: module for name, module in sys.modules.items() if not name.startswith("cupyx.distributed")}
    with (
        mock.patch.object(cupy.cuda, "nccl", nccl, create=True),
        mock.patch.dict(sys.modules, kept | {"cupy": cupy, "cupy.cuda": cupy.cuda, "cupy.cuda.nccl": nccl}, clear=True),
    ):
        module = importlib.import_module("cupyx.distributed")
        backend = importlib.import_module("cupyx.distributed._nccl_comm")
        with mock.patch.object(backend, "cupy", SimpleNamespace(cuda=SimpleNamespace(stream=stream))):
            yield module


def backend(nccl: Nccl, n_devices: int, rank: int) -> Any:
    """What ``init_process_group`` gives a process, without its server; inside of `distributed`."""
    made = object.__new__(sys.modules["cupyx.distributed._nccl_comm"].NCCLBackend)
    made.rank, made._n_devices = rank, n_devices
    made._comm = nccl.NcclCommunicator(n_devices, nccl.get_unique_id(), rank)
    return made
