"""XLA in a child process: text that makes XLA abort ends the child, not the caller.

One worker process serves all requests, one at a time; it is started on first use, after a crash and after a timeout.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Sequence
from typing import Any

from ...errors import Diagnostic, XlaToPythonError
from ...hlo.carriers import Array
from .tasks import prepare_xla, run_xla
from .worker import Limits, RemoteError, Worker, WorkerDied, WorkerTimeout
from .xla import interpret_hlo, run_hlo_on_devices

_SECONDS = 120.0
_DEVICE_FLAG = "--xla_force_host_platform_device_count"
DEVICES = 8  # CPU devices of the worker, which limit the number of replicas


def run_hlo_in_child(text: str, *arrays: Array, timeout: float = _SECONDS) -> list[Array]:
    """Run HLO as :func:`.xla.run_hlo` does, in a worker process; ``timeout`` is in seconds.

    Raises ``XlaToPythonError``: those of ``run_hlo``, XP462 if the worker died, XP463 if it did not answer in time.
    """
    results: list[Array] = _WORKER.ask(run_xla, text, list(arrays), timeout=timeout)
    return results


def run_hlo_on_devices_in_child(text: str, inputs: Sequence[Sequence[Array]], partitions: int = 1) -> list[list[Array]]:
    """Run HLO as :func:`.xla.run_hlo_on_devices` does, in a worker process with 8 CPU devices."""
    results: list[list[Array]] = _WORKER.ask(run_hlo_on_devices, text, inputs, partitions, timeout=_SECONDS)
    return results


def interpret_hlo_in_child(text: str, *arrays: Array, timeout: float = _SECONDS) -> list[Array]:
    """Interpret HLO as :func:`.xla.interpret_hlo` does, in a worker process."""
    results: list[Array] = _WORKER.ask(interpret_hlo, text, *arrays, timeout=timeout)
    return results


def xla_environment() -> dict[str, str]:
    """Return environment variables with which a worker's XLA has several CPU devices and no other."""
    flags = os.environ.get("XLA_FLAGS", "")
    return {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": f"{flags} {_DEVICE_FLAG}={DEVICES}"}


class ReferenceWorker:
    """A child process that calls functions of the XLA reference. Not safe to share between threads."""

    def __init__(self) -> None:
        self._worker = Worker(prepare_xla, xla_environment())

    def ask(self, function: Callable[..., Any], *arguments: Any, timeout: float) -> Any:
        """Return the function's result in the child. Raises ``XlaToPythonError``: the function's own, XP462 and
        XP463.
        """
        try:
            return self._worker.ask(function, *arguments, limits=Limits(timeout, memory=None)).value
        except WorkerTimeout:
            raise _failure("XP463", f"XLA did not answer within {timeout:g} seconds") from None
        except (WorkerDied, RemoteError) as error:
            raise _failure("XP462", f"XLA aborted on this program: {error}") from None

    def stop(self) -> None:
        """End the worker, if there is one. The next request starts another."""
        self._worker.stop()


def _failure(code: str, message: str) -> XlaToPythonError:
    return XlaToPythonError(Diagnostic(code, message))


_WORKER = ReferenceWorker()
atexit.register(_WORKER.stop)
