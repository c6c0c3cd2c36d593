"""The results of a differential test: runs, their cases, and the report on all programs.

All results are frozen data that can be converted to JSON and back (:mod:`.formats`), without arrays: the seed or the
file of a case gives its inputs again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field

from ...dataclass import dataclass
from ...emission.module.generated import GeneratedModule
from ...hlo.carriers import Array
from ..verdicts.comparison import LeafResult, Status

NOT_COMPARED = "not compared"
_ORDER = {status: number for number, status in enumerate(Status)}


def worst(statuses: Iterable[Status]) -> Status:
    """Return the worst of some verdicts; ``equal`` if there are none."""
    return max(statuses, key=_ORDER.__getitem__, default=Status.EQUAL)


@dataclass(frozen=True, slots=True)
class Run:
    """The outcome of running a program once on a target or a reference.

    ``failure`` is ``crash``, ``timeout`` or ``unsupported``, or ``None`` if there are results. ``peak_bytes`` is the
    peak of the process's memory above what it had before; 0 if the platform does not tell.
    """

    participant: str
    failure: Status | None = None
    message: str = ""
    traceback: str = ""
    seconds: float = 0.0
    peak_bytes: int = 0
    results: tuple[Array, ...] = field(default=(), repr=False, compare=False, metadata={"json": False})


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of two participants' results: one verdict for each array of the result.

    ``known`` are the reasons why differences are expected; such differences do not count.
    """

    participant: str
    against: str
    leaves: tuple[LeafResult, ...]
    known: tuple[str, ...] = ()

    @property
    def found(self) -> Status:
        """The worst verdict on an array."""
        return worst(leaf.status for leaf in self.leaves)

    @property
    def status(self) -> Status:
        """The verdict that counts: a known difference is as good as ``close``."""
        return Status.CLOSE if self.known and not self.found.is_good else self.found


@dataclass(frozen=True, slots=True)
class Case:
    """One set of inputs, the runs on it, and the comparisons of their results.

    The participants whose results agree form a party. ``accepted`` is the first participant of the largest party (among
    equals, of the reference's), and each other one is compared with it. ``wrong`` are the participants outside of that
    party if it is a majority of at least two; otherwise it is open who is wrong.
    """

    campaign: str
    seed: int
    runs: tuple[Run, ...]
    comparisons: tuple[Comparison, ...] = ()
    accepted: str = ""
    wrong: tuple[str, ...] = ()
    inputs: tuple[Array, ...] = field(default=(), repr=False, compare=False, metadata={"json": False})

    def run(self, participant: str) -> Run | None:
        return next((run for run in self.runs if run.participant == participant), None)

    def comparison(self, participant: str) -> Comparison | None:
        return next((one for one in self.comparisons if one.participant == participant), None)

    def differences(self, participant: str) -> tuple[Comparison, ...]:
        """Return the comparisons of a participant, in either role, that differ in an unknown way."""
        found = (one for one in self.comparisons if participant in (one.participant, one.against))
        return tuple(one for one in found if not one.status.is_good)

    def status(self, participant: str) -> Status:
        """Return the verdict on one participant: the failure of its run, else the comparison of its results."""
        run, comparison = self.run(participant), self.comparison(participant)
        if run is None:
            return Status.UNSUPPORTED
        if run.failure is not None:
            return run.failure
        return comparison.status if comparison is not None else Status.EQUAL


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a difference, from a run in lockstep (:mod:`.origins`): the first instruction that introduces an
    error.

    ``instruction`` is empty if none was found: all are within their allowance, or XLA refuses them alone
    (``unchecked``), or the run ended early (``failure``). ``line`` is in the emitted code and reads ``text``,
    ``source`` is the user's ``file:line``, ``iterations`` are the numbers of the iterations of the loops around it.
    ``inside`` are earlier instructions whose values emitted code does not have: the error may be theirs. ``leaf``
    compares emitted code with XLA on the operands that emitted code had; ``note`` describes the error of a loop.
    """

    campaign: str = ""
    checked: int = 0
    instruction: str = ""
    opcode: str = ""
    line: int = 0
    text: str = ""
    source: str = ""
    iterations: tuple[int, ...] = ()
    inside: tuple[str, ...] = ()
    leaf: LeafResult | None = None
    note: str = ""
    later: int = 0  # errors introduced after the first
    unchecked: tuple[str, ...] = ()
    failure: str = ""
    unreached: tuple[str, ...] = ()  # branches, loop bodies and reducers that did not run

    def __str__(self) -> str:
        if not self.instruction and not self.checked:
            return "nothing was compared"
        if not self.instruction:
            return "no instruction introduces an error beyond its own allowance"
        at = f" in iteration {', '.join(map(str, self.iterations))}" if self.iterations else ""
        where = f"line {self.line}: {self.text}" if self.line else "no line of its own"
        lines = [f"{self.instruction} ({self.opcode}){at}, {where}"]
        lines += [self.note or str(self.leaf)] if self.note or self.leaf else []
        lines += [f"  from {self.source}"] if self.source else []
        if self.inside:
            lines.append(f"  or from what has no value of its own in emitted code: {', '.join(self.inside)}")
        return "\n".join(lines)

    def remarks(self) -> list[str]:
        """Return the number of comparisons, and the parts that were not checked."""
        later = f", {self.later} more error{'s' * (self.later > 1)} introduced later" if self.later else ""
        remarks = [f"{self.checked} comparisons{later}"]
        remarks += [f"not checked, as XLA refuses them: {', '.join(self.unchecked)}"] if self.unchecked else []
        remarks += [f"no input reached {', '.join(self.unreached)}"] if self.unreached else []
        return remarks + ([f"the run ended early: {self.failure}"] if self.failure else [])


@dataclass(frozen=True, slots=True)
class ReducedCase:
    """The smallest program found that still differs (:mod:`.reproducers`).

    ``instructions`` is the number of instructions of its entry, ``inputs`` are its arguments as text, ``command``
    reproduces the difference.
    """

    instructions: int
    hlo: str
    inputs: tuple[str, ...]
    command: str


@dataclass(frozen=True, slots=True, repr=False)
class ProgramReport:
    """One program: its HLO, the code emitted for each target, and its cases.

    ``sources`` has the emitted code by target, ``refusals`` the reasons why a participant could not run the program.
    ``origins`` and ``reductions`` are by target, if they were requested. ``unreached`` names the branches, loop bodies
    and reducers that no inputs reached, and that were not compared. ``options`` are the options of emission that differ
    from their defaults, as command-line words. ``emitted`` are the modules themselves, unless the report was read from
    JSON.
    """

    name: str
    path: str
    hlo: str
    targets: tuple[str, ...]
    references: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    refusals: Mapping[str, str] = field(default_factory=dict)
    cases: tuple[Case, ...] = ()
    origins: Mapping[str, Origin] = field(default_factory=dict)
    reductions: Mapping[str, ReducedCase] = field(default_factory=dict)
    unreached: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    emitted: Mapping[str, GeneratedModule] = field(default_factory=dict, compare=False, metadata={"json": False})

    def __repr__(self) -> str:
        """Return the program and its verdict on each target."""
        verdicts = ", ".join(f"{target}: {self.status(target).value}" for target in self.targets)
        return f"<ProgramReport {self.title}, {verdicts}>"

    @property
    def title(self) -> str:
        """The path of the program, or its name if it has no path."""
        return self.path or self.name

    @property
    def participants(self) -> tuple[str, ...]:
        return (*self.references, *self.targets)

    def status(self, participant: str) -> Status:
        """Return the worst verdict on a participant in any case."""
        if participant in self.refusals:
            return Status.UNSUPPORTED
        return worst(case.status(participant) for case in self.cases)

    def verdict(self, target: str) -> str:
        """Return the status of a target in words, with whether it rests on a known difference, or on no comparison."""
        status = self.status(target)
        if status is Status.EQUAL and not self.is_compared:
            return NOT_COMPARED
        known = any(one.known and not one.found.is_good for case in self.cases for one in case.comparisons)
        return f"{status.value} (known)" if known and status.is_good else status.value

    @property
    def differs(self) -> bool:
        """Whether a target crashed or hung, or results differ in an unknown way."""
        failures = (run.failure for case in self.cases for run in case.runs if run.participant in self.targets)
        differences = (not one.status.is_good for case in self.cases for one in case.comparisons)
        return any(failure in (Status.CRASH, Status.TIMEOUT) for failure in failures) or any(differences)

    @property
    def is_compared(self) -> bool:
        """Whether any results were compared."""
        return any(case.comparisons for case in self.cases)


@dataclass(frozen=True, slots=True, repr=False)
class CheckReport:
    """The results of :func:`check`: a report for each program, and the environment (versions by name).

    ``unused`` and ``expired`` list known differences that did not occur or are out of date.
    """

    programs: tuple[ProgramReport, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
    expired: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return the number of verdicts of each kind."""
        verdicts = ", ".join(f"{count} {kind}" for kind, count in self.counts().items())
        return f"<CheckReport: {verdicts}>"

    @property
    def is_good(self) -> bool:
        """Whether every program was compared and nothing differs."""
        return not any(program.differs or not program.is_compared for program in self.programs)

    def counts(self) -> dict[str, int]:
        """Return the number of verdicts of each kind, over all programs and targets, including those not compared."""
        found: Counter[str] = Counter()
        for program in self.programs:
            for target in program.targets:
                status = program.status(target)
                is_alone = status is Status.EQUAL and not program.is_compared
                found[NOT_COMPARED if is_alone else status.value] += 1
        return {kind: found[kind] for kind in (*(status.value for status in Status), NOT_COMPARED) if found[kind]}
