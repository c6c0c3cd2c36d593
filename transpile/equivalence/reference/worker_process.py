"""The child's side of :mod:`.worker`: reads calls from standard input and answers them, within limits."""

from __future__ import annotations

import os
import pickle
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from ...errors import XlaToPythonError
from .worker import Answer, RemoteError


def _serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer pickled requests, one after the other, until the pipe closes."""
    while True:
        try:
            function, arguments, memory = pickle.load(requests)
        except EOFError:
            return
        answer = _call(function, arguments, memory)
        pickle.dump(answer, answers, protocol=5)
        answers.flush()


def _call(function: Callable[..., Any], arguments: tuple[Any, ...], memory: int | None) -> Answer | Exception:
    before = _start_measuring()
    start = time.perf_counter()
    try:
        with _MemoryLimit(memory):
            value = function(*arguments)
        return Answer(value, time.perf_counter() - start, max(0, _status("VmHWM") - before))
    except XlaToPythonError as error:
        return error
    except Exception as error:
        return RemoteError(type(error).__name__, str(error), traceback.format_exc())


class _MemoryLimit:
    """A limit on the address space, if the platform has one: exceeding it raises ``MemoryError`` or ends the
    process.
    """

    def __init__(self, memory: int | None) -> None:
        self._memory = memory

    def __enter__(self) -> None:
        if self._memory is not None and _STATUS.exists():
            self._set(_status("VmSize") + self._memory)

    def __exit__(self, *_: object) -> None:
        if self._memory is not None and _STATUS.exists():
            self._set(-1)

    def _set(self, size: int) -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (size, resource.getrlimit(resource.RLIMIT_AS)[1]))


_STATUS = Path("/proc/self/status")


def _status(name: str) -> int:
    """Return a size in bytes from Linux's status of this process; 0 on other systems."""
    if not _STATUS.exists():
        return 0
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


def _start_measuring() -> int:
    """Reset the peak of memory, and return the bytes in use."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


if __name__ == "__main__":
    # Output of libraries must not mix with the answers: keep the pipe for these, send stdout to the log.
    answer_pipe = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _serve(sys.stdin.buffer, answer_pipe)
