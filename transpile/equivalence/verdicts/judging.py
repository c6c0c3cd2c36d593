"""Judges two participants' results on given inputs: equal, close, or different by more than rounding explains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ...dataclass import dataclass
from ...emission.module.generated import GeneratedModule
from ...hlo.carriers import Array, as_declared
from ...hlo.device_groups import device_count
from ...hlo.ir import HloModule
from ...hlo.printer import print_module
from ...hlo.shapes import ArrayShape, Shape, leaves as leaves_of
from ..inputs.generate import nest
from ..reference.participants import REFERENCES, Workers
from ..reports.results import Run
from .comparison import Budget, LeafResult, Status, compare
from .perturbed_functions import with_moved_functions
from .sensitivity import OF_FUNCTIONS, OF_INPUTS, excused, moved

SUBNORMAL = "equal where subnormal numbers are zeros, as they are on XLA"


def of_equal_lengths(expected: Run, actual: Run, shape: Shape) -> tuple[Run, Run]:
    """Return two runs, with bounded dimensions cut to the shorter of both: XLA pads its arrays up to the bound."""
    shapes = [leaf for _, leaf in leaves_of(shape) if isinstance(leaf, ArrayShape)]
    count = len(expected.results)
    if not any(leaf.is_dynamic for leaf in shapes) or count != len(actual.results) or count % len(shapes):
        return expected, actual
    pairs: list[tuple[Array, Array]] = []
    for one, other, leaf in zip(expected.results, actual.results, shapes * (count // len(shapes)), strict=True):
        is_cut = leaf.is_dynamic and one.ndim == other.ndim == leaf.rank
        lengths: Any = zip(one.shape, other.shape, leaf.dynamic, strict=True) if is_cut else ()
        part: Any = tuple(slice(min(a, b) if is_bounded else None) for a, b, is_bounded in lengths)
        pairs.append((one[*part, ...], other[*part, ...]))
    return replace(expected, results=tuple(a for a, _ in pairs)), replace(actual, results=tuple(b for _, b in pairs))


@dataclass(frozen=True, slots=True)
class Judge:
    """Runs and compares participants on a program.

    ``emitted`` are the modules of the targets, by name, ``text`` is the HLO that the references run, ``budgets`` has
    one entry for each array of the result. With several devices, ``arrays`` and results are those of each device in
    turn.
    """

    workers: Workers
    module: HloModule
    text: str
    emitted: Mapping[str, GeneratedModule]
    arrays: Sequence[Array]
    budgets: Sequence[Budget]

    @property
    def _known(self) -> set[str]:
        return {*self.emitted, *REFERENCES}

    @property
    def devices(self) -> int:
        """The number of devices that run the program together."""
        return device_count(self.module)

    def _by_device(self, arrays: Sequence[Array]) -> list[Sequence[Array]]:
        own = len(arrays) // self.devices
        return [arrays[device * own : (device + 1) * own] for device in range(self.devices)]

    def run(self, participant: str) -> Run:
        """Return the run of a participant on the inputs."""
        return self._run(participant, self.arrays)

    def compare(self, expected: Run, actual: Run) -> tuple[LeafResult, ...]:
        """Return the verdict on each array of two runs without failures; with several devices, paths begin with the
        device.
        """
        leaves = self._compared(*of_equal_lengths(expected, actual, self.module.entry.root.shape))
        own, rest = divmod(len(leaves), self.devices)
        if self.devices == 1 or rest:
            return leaves
        return tuple(replace(leaf, path=divmod(number, own)) for number, leaf in enumerate(leaves))

    def _compared(self, expected: Run, actual: Run) -> tuple[LeafResult, ...]:
        leaves = tuple(compare(list(expected.results), list(actual.results), self.budgets))
        if not all(leaf.status.is_good for leaf in leaves):
            leaves = self._without_subnormals(leaves, expected, actual)
        if all(leaf.status.is_good for leaf in leaves) or not {expected.participant, actual.participant} <= self._known:
            return leaves
        for run_moved, note in ((self._moved, OF_INPUTS), (self._with_moved_functions, OF_FUNCTIONS)):
            if not all(leaf.status.is_good for leaf in leaves):
                one, other = (partial(run_moved, run.participant) for run in (expected, actual))
                leaves = excused(leaves, expected.results, actual.results, one, other, note)
        return leaves

    def _moved(self, participant: str, seed: int) -> Sequence[Array] | None:
        run = self._run(participant, moved(self.arrays, seed))
        return run.results if run.failure is None else None

    def _with_moved_functions(self, participant: str, seed: int) -> Sequence[Array] | None:
        """Return a reference's results of the program :func:`with_moved_functions`; None if it fails or has no such
        functions.
        """
        is_able = participant in REFERENCES and self.devices == 1
        module = with_moved_functions(self.module, seed) if is_able else None
        run = self.workers.run_reference(participant, print_module(module), self.arrays) if module else None
        return run.results if run is not None and run.failure is None else None

    def _without_subnormals(self, leaves: tuple[LeafResult, ...], expected: Run, actual: Run) -> tuple[LeafResult, ...]:
        """Return the verdicts, with those made ``close`` that differ only since XLA flushes subnormal numbers: the
        other side agrees if it flushes them too.
        """
        if "xla" not in (expected.participant, actual.participant):
            return leaves
        sides = [
            self._run(run.participant, self.arrays, without_subnormals=True) if run.participant in self.emitted else run
            for run in (expected, actual)
        ]
        again = compare(list(sides[0].results), list(sides[1].results), self.budgets)
        if len(again) != len(leaves):
            return leaves
        return tuple(
            replace(leaf, status=Status.CLOSE, note=SUBNORMAL)
            if now.status.is_good and not leaf.status.is_good
            else leaf
            for leaf, now in zip(leaves, again, strict=True)
        )

    def _run(self, participant: str, arrays: Sequence[Array], *, without_subnormals: bool = False) -> Run:
        each = self._by_device(arrays)
        if participant in self.emitted:
            shapes = [parameter.shape for parameter in self.module.entry.parameters]
            arguments = [nest(shapes, own) for own in each]
            generated = self.emitted[participant]
            if len(each) > 1:  # each thread has its own control register, so subnormals are not flushed
                run = self.workers.run_replicas(generated, arguments)
            else:
                run = self.workers.run_generated(generated, arguments[0], without_subnormals=without_subnormals)
            return replace(run, results=tuple(as_declared(run.results, self.module.entry.root.shape)))
        if len(each) > 1:
            return self.workers.run_devices(self.text, each)
        return self.workers.run_reference(participant, self.text, arrays)
