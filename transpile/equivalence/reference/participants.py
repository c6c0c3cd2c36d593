"""The participants of a differential test: emitted modules on the targets, and the references.

Each target and each reference has one worker process, which all programs and cases share; a failure in it becomes a
:class:`.results.Run` with a failure.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import field, replace
from functools import partial
from typing import Any

from ...dataclass import dataclass
from ...emission.module.generated import GeneratedModule
from ...errors import XlaToPythonError
from ...hlo.carriers import Array
from ...target import load_target, target_names
from ..reports.results import Run
from ..verdicts.comparison import Status
from . import tasks
from .worker import Answer, Limits, RemoteError, Worker, WorkerDied, WorkerTimeout
from .xla_process import xla_environment

REFERENCES: dict[str, Callable[[str, Sequence[Array]], list[Array]]] = {
    "xla": tasks.run_xla,
    "interpreter": tasks.run_interpreter,
}


@dataclass
class Workers(AbstractContextManager["Workers"]):
    """A context manager with the processes of all targets and references, each started when first used."""

    limits: Limits = field(default_factory=Limits)
    _workers: dict[str, Worker] = field(default_factory=dict, init=False)

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End all processes. Each is started again when it is used again."""
        for worker in self._workers.values():
            worker.stop()

    def run_generated(
        self, generated: GeneratedModule, arguments: Sequence[Any], *, without_subnormals: bool = False
    ) -> Run:
        """Run an emitted module, or one with an edited ``source``, on the arguments of its ``main``.

        ``arguments`` are NumPy arrays, nested in tuples if parameters are tuples (:func:`.generate.nest`).
        ``without_subnormals`` flushes subnormal numbers to zero, as XLA does.
        """
        runnable = replace(generated, functions=())  # these are large, and the process does not need them
        return self.call(generated.target, tasks.run_generated, runnable, list(arguments), without_subnormals)

    def run_reference(self, reference: str, text: str, arrays: Sequence[Array]) -> Run:
        """Run HLO text on ``xla`` or ``interpreter``, with flattened parameters."""
        return self.call(reference, REFERENCES[reference], text, list(arrays))

    def run_replicas(self, generated: GeneratedModule, replica_args: Sequence[Sequence[Any]]) -> Run:
        """Run a module emitted for several devices; ``replica_args[k]`` are the arguments of device ``k``."""
        runnable = replace(generated, functions=())
        return self.call(generated.target, tasks.run_replicas, runnable, list(map(list, replica_args)))

    def run_devices(self, text: str, inputs: Sequence[Sequence[Array]]) -> Run:
        """Run HLO text on several devices of ``xla``; ``inputs[k]`` are the flattened parameters of device ``k``."""
        return self.call("xla", tasks.run_xla_on_devices, text, list(map(list, inputs)))

    def call(self, participant: str, function: Callable[..., list[Array]], *arguments: Any) -> Run:
        """Call a function of :mod:`.tasks` in the process of a participant; the run reports every kind of failure."""
        try:
            answer = self.ask(participant, function, *arguments)
        except XlaToPythonError as error:
            return Run(participant, Status.UNSUPPORTED, str(error))
        except WorkerTimeout as error:
            return Run(participant, Status.TIMEOUT, str(error), seconds=self.limits.seconds)
        except WorkerDied as error:
            return Run(participant, Status.CRASH, str(error))
        except RemoteError as error:
            return Run(participant, Status.CRASH, str(error), error.traceback)
        return Run(participant, seconds=answer.seconds, peak_bytes=answer.peak_bytes, results=tuple(answer.value))

    def ask(self, participant: str, function: Callable[..., Any], *arguments: Any) -> Answer:
        """Call a function in the process of a participant, within the limits. Raises the exceptions of
        :meth:`.Worker.ask`.
        """
        unlimited = participant in target_names() and load_target(participant).library.maps_devices
        limits = Limits(self.limits.seconds, None) if unlimited else self.limits
        return self.worker(participant).ask(function, *arguments, limits=limits)

    def worker(self, participant: str) -> Worker:
        """Return the process of a target or a reference."""
        if participant not in self._workers:
            is_reference = participant in REFERENCES
            prepare = tasks.prepare_xla if is_reference else partial(tasks.prepare_target, participant)
            self._workers[participant] = Worker(prepare, xla_environment() if is_reference else {})
        return self._workers[participant]


def failed_emission(target: str, error: Exception) -> Run:
    """Return the run of a program for which the emitter failed."""
    text = "".join(traceback.format_exception(error))
    return Run(target, Status.CRASH, f"emission failed: {type(error).__name__}: {error}", text)
