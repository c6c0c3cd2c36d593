"""Records the events of a module with probes while it runs: values, and the start and end of functions and iterations.

Runs in the process of a target.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from ...emission.module.generated import GeneratedModule
from ...target import load_target
from ..reference.runtime import Runtime
from ..reference.tasks import map_arrays
from ..verdicts.subnormals import flushed
from .probes import FUNCTION, ITERATION, PROBE

Event = tuple[str, int, Any]  # kind; number of the probe, loop or function; value

MOST_BYTES = 1 << 30  # of recorded values; the run ends when they are full


class _FullError(Exception):
    """There is no room for more values."""


def record(module: GeneratedModule, arguments: Sequence[Any]) -> tuple[list[Event], str]:
    """Run the ``main`` of an instrumented module on NumPy arrays; return the events, and the exception as text, if any.

    The kinds of events are ``value``, ``enter`` and ``leave`` of functions, ``begin`` and ``end`` of iterations.
    Subnormal numbers are flushed to zero, as on XLA. Lazy values are computed at once; work in other threads is not
    recorded.
    """
    target = load_target(module.target)
    runtime = Runtime(target)
    recorder = _Recorder(runtime)
    try:
        with runtime, flushed():
            loaded = module.load(keep_compiled=False)
            loaded.__dict__.update(
                {
                    PROBE: recorder.value,
                    ITERATION: partial(recorder.within, "begin", "end"),
                    FUNCTION: partial(recorder.within, "enter", "leave"),
                }
            )
            loaded.main(*runtime.adopt(list(map_arrays(target.library.cut, arguments))))
    except _FullError:
        return recorder.events, f"the first {MOST_BYTES >> 20} MiB of values were recorded"
    except Exception as error:
        return recorder.events, f"{type(error).__name__}: {error}"
    return recorder.events, ""


class _Recorder:
    def __init__(self, runtime: Runtime) -> None:
        self.events: list[Event] = []
        self._runtime = runtime
        self._thread = threading.get_ident()
        self._left = MOST_BYTES

    def value(self, probe: int, value: Any) -> Any:
        if threading.get_ident() == self._thread:
            array = self._runtime.peek(value)
            self._left -= array.nbytes
            if self._left < 0:
                raise _FullError
            self.events.append(("value", probe, array))
        return value

    @contextmanager
    def within(self, start: str, end: str, number: int) -> Iterator[None]:
        """Record an event of the kind ``start`` and one of the kind ``end`` around a body."""
        self._mark(start, number)
        yield
        self._mark(end, number)

    def _mark(self, kind: str, number: int) -> None:
        if threading.get_ident() == self._thread:
            self.events.append((kind, number, None))
