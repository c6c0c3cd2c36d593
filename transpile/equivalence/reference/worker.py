"""A child process that calls functions with limits on time and memory: a crash or a hang ends only the child.

``Worker.ask`` sends the name of a function of this package and its arguments. The child answers with the function's
result or exception, its time and its memory. A worker that died is started again at the next call.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, TimeoutError as ResultTimeout
from dataclasses import field
from pathlib import Path
from typing import IO, Any

from ...dataclass import dataclass

MIB = 1 << 20
_STARTING_SECONDS = 300.0  # for imports on a busy machine
_MOST_HELD = 1024 * MIB  # XLA and Numba keep compiled code


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one call: ``seconds`` of time, and ``memory`` bytes above what the process had before; None is no
    limit.
    """

    seconds: float = 60.0
    memory: int | None = 4096 * MIB


@dataclass(frozen=True, slots=True)
class Answer:
    """The value that a function returned in the child, with its time in seconds and its peak memory in bytes."""

    value: Any
    seconds: float
    peak_bytes: int


class WorkerDied(Exception):
    """The process ended during a call; the message says how, as far as its log tells."""


class WorkerTimeout(Exception):
    """The process did not answer in time, and was ended."""


class RemoteError(Exception):
    """An exception in the child that is not an ``XlaToPythonError``: its type, message and ``traceback``."""

    def __init__(self, kind: str, message: str, traceback: str) -> None:
        super().__init__(kind, message, traceback)
        self.kind, self.message, self.traceback = kind, message, traceback

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}" if self.message else self.kind


def _do_nothing() -> None:
    pass


@dataclass
class Worker:
    """A child process for one call at a time. ``prepare`` runs once in it, without limits.

    A process that holds more than 1 GiB between two calls is replaced by a new one.
    """

    prepare: Callable[[], object] = _do_nothing
    environment: Mapping[str, str] = field(default_factory=dict)
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _log: IO[bytes] | None = field(default=None, init=False)
    _reader: ThreadPoolExecutor | None = field(default=None, init=False)

    def ask(self, function: Callable[..., Any], *arguments: Any, limits: Limits | None = None) -> Answer:
        """Call a module-level function in the child.

        Raises the function's exception if it is an ``XlaToPythonError``, else ``RemoteError``; :class:`WorkerDied` and
        :class:`WorkerTimeout`.
        """
        limits = limits or Limits()
        if self._process is None or self._process.poll() is not None or _held_bytes(self._process) > _MOST_HELD:
            self._start()
            self._request(self.prepare, (), None, _STARTING_SECONDS)
        return self._request(function, arguments, limits.memory, limits.seconds)

    def stop(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    _close_quietly(pipe)
        if self._reader is not None:
            self._reader.shutdown()
            self._reader = None
        if self._log is not None:
            self._log.close()
            self._log = None

    def kill(self) -> None:
        """End the process from another thread: a call that waits for it raises :class:`WorkerDied`."""
        process = self._process
        if process is not None:
            process.kill()

    def _start(self) -> None:
        self.stop()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="worker-answers")
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", f"{__package__}.worker_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, **self.environment},
        )

    def _request(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], memory: int | None, seconds: float
    ) -> Answer:
        process, reader = self._process, self._reader
        assert process is not None and process.stdin is not None and process.stdout is not None and reader is not None
        try:
            pickle.dump((function, arguments, memory), process.stdin, protocol=5)
            process.stdin.flush()
            answer = reader.submit(pickle.load, process.stdout).result(seconds)
        except ResultTimeout:
            self.stop()
            raise WorkerTimeout(f"no answer within {seconds:g} seconds") from None
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            last_words = self._last_words()
            self.stop()
            raise WorkerDied(last_words) from None
        except BaseException:  # for example an interrupt: the pending answer must not become that of the next request
            self.stop()
            raise
        if isinstance(answer, BaseException):
            raise answer
        assert isinstance(answer, Answer)
        return answer

    def _last_words(self) -> str:
        """Return how the process ended, and the line of its log that says why."""
        assert self._process is not None and self._log is not None
        code = self._process.wait()
        ending = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").splitlines()
        telling = [line for line in lines if "Check failed" in line or line.startswith("F")] or lines[-1:]
        return f"{ending}: {telling[-1].strip()}" if telling else ending


def _held_bytes(process: subprocess.Popen[bytes]) -> int:
    """Return the bytes of memory that a process holds on Linux; 0 on other systems."""
    statm = Path(f"/proc/{process.pid}/statm")
    try:
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _close_quietly(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except BrokenPipeError:
        return
