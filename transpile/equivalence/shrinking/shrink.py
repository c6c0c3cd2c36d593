"""Delta debugging of HLO: finds the smallest program, and the simplest inputs, that still show a fault.

Reducers (see :mod:`.passes`) propose smaller cases; the first interesting one is taken, and so on until no proposal is
interesting. Every proposal is a valid module. The order is fixed, so the same case is always reduced in the same way.

Sources: Zeller, "Simplifying and isolating failure-inducing input"; the order of steps is that of XLA's hlo_bisect.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...dataclass import dataclass
from ...errors import Diagnostic, UsageError, XlaToPythonError
from ...hlo.carriers import Array
from ...hlo.ir import HloModule
from ...hlo.printer import print_module
from ...hlo.verifier import verify
from ..reference.xla_process import run_hlo_in_child
from .cases import Case
from .passes import REDUCERS, Reducer, Values

IsInteresting = Callable[[HloModule, list[Array]], bool]
_SECONDS = 10.0  # for the reference: a cut can make a loop run forever

Evaluate = Callable[[str, list[Array]], list[Array]]


@dataclass(frozen=True, slots=True)
class Reduction:
    """A case, the number of instructions of its entry, and how many cases were tried and taken to find it."""

    module: HloModule
    inputs: list[Array]
    tried: int = 0
    taken: int = 0

    @property
    def instructions(self) -> int:
        return len(self.module.entry.instructions)


def reduce_module(
    module: HloModule,
    inputs: Sequence[Array],
    is_interesting: IsInteresting,
    *,
    confirmations: int = 1,
    evaluate: Evaluate = lambda text, inputs: run_hlo_in_child(text, *inputs, timeout=_SECONDS),
    on_progress: Callable[[Reduction], None] | None = None,
) -> Reduction:
    """Return the smallest case found that ``is_interesting`` still accepts.

    ``module`` is valid, ``inputs`` are its flattened arguments. ``is_interesting(module, inputs)`` is called with valid
    modules only; if it raises an ``XlaToPythonError``, that counts as "no". For an oracle that is only sometimes right,
    a case must be accepted ``1 + confirmations`` times in a row. ``evaluate`` returns the results of HLO text on
    arrays: intermediate values that replace the instructions that compute them. ``on_progress`` is called with each
    smaller case, so an interrupted reduction can be continued from the best case so far.

    Raises ``UsageError`` XP620 if the case is not interesting to begin with.
    """
    search = _Search(is_interesting, confirmations, on_progress)
    case = Case.of(module, inputs)
    if not search.accepts(module, list(inputs)):
        message = "the program to reduce does not show the problem"
        raise UsageError(Diagnostic("XP620", message, hint="the inputs matter: give those that fail with --args"))
    values = Values(evaluate)
    search.case = case
    while any(search.exhausts(reducer, values) for reducer in REDUCERS):
        pass  # a change by one reducer may enable an earlier one
    return Reduction(search.case.module(), search.case.inputs(), search.tried, search.taken)


class _Search:
    """The best case so far, and the cases that were tried."""

    case: Case

    def __init__(
        self, is_interesting: IsInteresting, confirmations: int, on_progress: Callable[[Reduction], None] | None
    ) -> None:
        self._is_interesting = is_interesting
        self._asks = 1 + confirmations
        self._on_progress = on_progress
        self._seen: set[tuple[Any, ...]] = set()
        self.tried = 0
        self.taken = 0

    def exhausts(self, reducer: Reducer, values: Values) -> bool:
        """Take proposals of a reducer until none is interesting; return whether any was."""
        before = self.taken
        while any(self.takes(candidate) for candidate in reducer(self.case, values)):
            pass
        return self.taken > before

    def takes(self, candidate: Case) -> bool:
        """Try a case, and return whether it becomes the best so far: it must be valid, new and interesting."""
        module, inputs = candidate.module(), candidate.inputs()
        try:
            verify(module)
            text = print_module(module)
        except XlaToPythonError:
            return False
        key = (text, *((array.dtype.str, array.shape, array.tobytes()) for array in inputs))
        if key in self._seen:
            return False
        self._seen.add(key)
        self.tried += 1
        if not self.accepts(module, inputs):
            return False
        self.case = candidate
        self.taken += 1
        if self._on_progress is not None:
            self._on_progress(Reduction(module, inputs, self.tried, self.taken))
        return True

    def accepts(self, module: HloModule, inputs: list[Array]) -> bool:
        try:
            return all(self._is_interesting(module, inputs) for _ in range(self._asks))
        except XlaToPythonError:
            return False
