"""XLA in a child process: text that makes XLA abort costs a restart, not the caller's life.

One worker process serves all requests, one at a time; it is started on first use, after a crash and after a timeout.
"""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as ResultTimeout
from typing import IO, Any

import numpy as np

from ..hlo.source import Diagnostic, XlaToPythonError
from .xla_reference import interpret_hlo, run_hlo, run_hlo_on_devices

Array = np.ndarray[Any, np.dtype[Any]]

_SECONDS = 120.0
_DEVICE_FLAG = "--xla_force_host_platform_device_count"
_DEVICES = 8  # CPU devices of the worker: the most replicas it can run
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (run_hlo, run_hlo_on_devices, interpret_hlo)
}


def run_hlo_in_child(text: str, *arrays: Array, timeout: float = _SECONDS) -> list[Array]:
    """Like :func:`.xla_reference.run_hlo`, in a worker process; ``timeout`` is in seconds.

    Raises ``XlaToPythonError``: what ``run_hlo`` raises, XP462 when the worker died, XP463 when it did not answer in
    time.
    """
    results: list[Array] = _WORKER.ask("run_hlo", text, *arrays, timeout=timeout)
    return results


def run_hlo_on_devices_in_child(
    text: str, inputs: Sequence[Sequence[Array]], partitions: int = 1, timeout: float = _SECONDS
) -> list[list[Array]]:
    """Like :func:`.xla_reference.run_hlo_on_devices`, in a worker process with 8 CPU devices."""
    results: list[list[Array]] = _WORKER.ask("run_hlo_on_devices", text, inputs, partitions, timeout=timeout)
    return results


def interpret_hlo_in_child(text: str, *arrays: Array, timeout: float = _SECONDS) -> list[Array]:
    """Like :func:`.xla_reference.interpret_hlo`, in a worker process."""
    results: list[Array] = _WORKER.ask("interpret_hlo", text, *arrays, timeout=timeout)
    return results


class ReferenceWorker:
    """A child process that calls functions of the XLA reference for us. Not safe to share between threads."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="xla-reference")

    def ask(self, function: str, *arguments: Any, timeout: float) -> Any:
        """Call one of the functions above in the child and return what it returns or raise what it raises."""
        process = self._started()
        assert process.stdin is not None and process.stdout is not None
        try:
            pickle.dump((function, arguments), process.stdin, protocol=5)
            process.stdin.flush()
            kind, answer = self._reader.submit(pickle.load, process.stdout).result(timeout)
        except ResultTimeout:
            self.stop()
            raise _failure("XP463", f"XLA did not answer within {timeout:g} seconds") from None
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            last_words = self._last_words()
            self.stop()
            raise _failure("XP462", f"XLA aborted on this program{last_words}") from None
        except BaseException:  # an interrupt, say: the answer to come must not become the next request's
            self.stop()
            raise
        if kind == "error":
            raise answer
        return answer

    def stop(self) -> None:
        """End the worker, if there is one. The next request starts another."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    _close_quietly(pipe)
        if self._log is not None:
            self._log.close()
            self._log = None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.stop()
            self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
            flags = os.environ.get("XLA_FLAGS", "")
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env={**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": f"{flags} {_DEVICE_FLAG}={_DEVICES}"},
            )
        return self._process

    def _last_words(self) -> str:
        """The line of the worker's log that says why it died."""
        if self._process is not None:
            self._process.wait()
        if self._log is None:
            return ""
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").splitlines()
        telling = [line for line in lines if "Check failed" in line or line.startswith("F")] or lines[-1:]
        return f": {telling[-1].strip()}" if telling else ""


def _close_quietly(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except BrokenPipeError:
        return


def _failure(code: str, message: str) -> XlaToPythonError:
    return XlaToPythonError(Diagnostic(code, message))


def _serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """The worker's loop: one pickled request in, one pickled answer out, until the pipe closes."""
    while True:
        try:
            function, arguments = pickle.load(requests)
        except EOFError:
            return
        answer: tuple[str, Any]
        try:
            answer = ("results", _FUNCTIONS[function](*arguments))
        except XlaToPythonError as error:
            answer = ("error", error)
        pickle.dump(answer, answers, protocol=5)
        answers.flush()


_WORKER = ReferenceWorker()
atexit.register(_WORKER.stop)

if __name__ == "__main__":
    # What XLA prints must not mix with the answers: keep the pipe for ourselves, send stdout to the log.
    answer_pipe = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _serve(sys.stdin.buffer, answer_pipe)
