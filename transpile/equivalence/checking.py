"""The differential test: runs a program on several array libraries and on XLA, and compares the results."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import field, replace
from datetime import date
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from ..dataclass import dataclass
from ..emission import GeneratedModule, emit
from ..errors import Diagnostic, UnsupportedError, UsageError
from ..frontends import load
from ..frontends.witnesses import Witnesses, or_at_sizes
from ..hlo.carriers import Array
from ..hlo.device_groups import device_count
from ..hlo.ir import HloModule, Instruction
from ..hlo.printer import print_module
from ..hlo.shapes import ArrayShape
from ..hlo.verifier import verify
from ..options import option_words
from ..target import load_target, require_targets, target_names, twin_of
from .inputs.coverage import MOST_DRAWS, Reach
from .inputs.dependence import computed_by
from .inputs.domains import parameter_domains
from .inputs.generate import nest
from .inputs.kinds import CAMPAIGNS, campaign_inputs
from .inputs.sizes import programs_to_check
from .lockstep.origins import find_origin
from .reference.participants import REFERENCES, Workers, failed_emission
from .reference.worker import Limits
from .reference.xla_process import DEVICES
from .reports.results import Case, CheckReport, Origin, ProgramReport, ReducedCase, Run
from .shrinking.reproducers import reduce_case
from .verdicts.comparison import Budget, LeafResult, Status
from .verdicts.judging import Judge
from .verdicts.known_differences import KnownDifference, of_the_references
from .verdicts.library_edges import edges_on, judged, reasons
from .verdicts.tolerances import budgets_for
from .verdicts.voting import vote

Source = HloModule | Witnesses | str | bytes | os.PathLike[str]
_Drawn = tuple[str, int, tuple[Array, ...]]  # campaign, seed, inputs

MOST_INTERPRETED = 200_000  # elements of all instructions: the interpreter takes about 10 microseconds for each


@dataclass(frozen=True, slots=True)
class Plan:
    """The participants and inputs of a check.

    ``references`` are ``xla``, ``interpreter``, both or none. ``options`` are passed to :func:`xla2py.emit`, ``known``
    are the user's known differences. Without a ``budget``, each result has its own (:func:`.tolerances.budgets_for`).
    With ``lockstep``, the check finds the first instruction that introduces an error, for each target that differs.
    With ``reduce_into``, it writes the smallest program that still differs into that folder.
    """

    targets: tuple[str, ...] = ("numpy",)
    references: tuple[str, ...] = ("xla",)
    campaigns: tuple[str, ...] = ("ordinary",)
    seed: int = 0
    budget: Budget | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    known: tuple[KnownDifference, ...] = ()
    lockstep: bool = False
    reduce_into: Path | None = None


def check(
    module: Source | Sequence[Source],
    targets: Sequence[str] = ("numpy",),
    reference: str | Sequence[str] = "xla",
    *,
    campaigns: str | Sequence[str] = "ordinary",
    seed: int = 0,
    inputs: Sequence[Array] | None = None,
    budget: Budget | None = None,
    known: Sequence[KnownDifference] = (),
    limits: Limits | None = None,
    lockstep: bool = False,
) -> CheckReport:
    """Run one or more programs on array libraries and on XLA, each in its own process, and compare the results.

    ``module`` is anything that :func:`xla2py.emit` takes. If it has free sizes, the module for any size is compared at
    several sizes that it was not made from; each is a program of the report. ``reference`` is ``"xla"`` (XLA's CPU
    backend), ``"interpreter"`` (StableHLO's, slow), several of these, or ``"none"`` to compare the targets with each
    other.

    ``inputs`` are the parameters of the entry computation, with tuples flattened in order. Without them, inputs are
    generated from ``seed`` to suit the program, for each of the ``campaigns`` (``"ordinary"``, ``"edge"``, ``"ties"``,
    ``"large"``, ``"all"``). With ``lockstep``, the report names the first instruction that introduces an error, for
    each target that differs.

    Raises ``XlaToPythonError`` if a program cannot be read, and ``UsageError`` for unknown names (XP406, XP600) and for
    ``inputs`` or ``lockstep`` with free sizes (XP426). If a target refuses the program, crashes or hangs, the report
    says so.
    """
    sources = [module] if isinstance(module, HloModule | Witnesses | str | bytes | os.PathLike) else module
    plan = Plan(
        tuple(targets),
        named_references(reference),
        named_campaigns(campaigns),
        seed,
        budget,
        known=tuple(known),
        lockstep=lockstep,
    )
    require_targets(plan.targets)
    with Checker(plan, limits) as checker:
        for source in sources:
            loaded = source if isinstance(source, HloModule | Witnesses) else or_at_sizes(partial(load, source))
            for each in loaded.modules if isinstance(loaded, Witnesses) else (loaded,):
                verify(each, each.source)
            checker.check(loaded, os.fspath(source) if isinstance(source, os.PathLike) else "", inputs)
        return checker.report()


def named_references(names: str | Sequence[str]) -> tuple[str, ...]:
    """Return the references of one or more names; ``"none"`` is none. Raises ``UsageError`` (XP600) for unknown
    names.
    """
    return tuple(name for name in _known_names(names, ("none", *REFERENCES), "reference") if name != "none")


def named_campaigns(names: str | Sequence[str]) -> tuple[str, ...]:
    """Return the campaigns of one or more names; ``"all"`` is all. Raises ``UsageError`` (XP600) for unknown names."""
    found = _known_names(names, ("all", *CAMPAIGNS), "campaign")
    return tuple(CAMPAIGNS) if "all" in found else found


def _known_names(names: str | Sequence[str], known: Sequence[str], kind: str) -> tuple[str, ...]:
    words = (names,) if isinstance(names, str) else tuple(names)
    if not words:
        raise UsageError(Diagnostic("XP600", f"no {kind} is named", hint=f"use {', '.join(known)}"))
    for word in words:
        if word not in known:
            raise UsageError(Diagnostic("XP600", f"there is no {kind} '{word}'", hint=f"use {', '.join(known)}"))
    return words


class Checker(AbstractContextManager["Checker"]):
    """A context manager that checks programs by a plan, in worker processes that it keeps until its end."""

    def __init__(self, plan: Plan, limits: Limits | None = None, today: date | None = None) -> None:
        self.plan = plan
        self.workers = Workers(limits or Limits())
        self._programs: list[ProgramReport] = []
        day = today or date.today()
        self._expired = tuple(entry for entry in plan.known if entry.expires is not None and entry.expires < day)
        self._valid = tuple(entry for entry in plan.known if entry not in self._expired)
        self._used: set[KnownDifference] = set()

    def __exit__(self, *error: object) -> None:
        self.workers.stop()

    def report(self) -> CheckReport:
        """Return the report on all programs checked so far."""
        unused = tuple(str(entry) for entry in self._valid if entry not in self._used)
        return CheckReport(
            tuple(self._programs), environment(self.plan.targets), unused, tuple(map(str, self._expired))
        )

    def check(self, source: HloModule | Witnesses, path: str = "", inputs: Sequence[Array] | None = None) -> None:
        """Check a program on the inputs of every campaign of the plan, or on given inputs; with free sizes, at several
        sizes.

        Raises ``UsageError`` (XP426) for requests that free sizes do not allow.
        """
        if isinstance(source, HloModule):
            self._programs.append(self.examine(source, path, inputs))
        else:
            self._require_possible(inputs)
            self._programs.extend(self._at_sizes(source, path))

    def examine(self, module: HloModule, path: str = "", inputs: Sequence[Array] | None = None) -> ProgramReport:
        """Return the report of :meth:`check` on a program, without adding it to the report on all programs."""
        return self._examined(self._program(module), path, inputs)

    def examine_module(
        self, source: HloModule | Witnesses, generated: GeneratedModule, path: str = ""
    ) -> tuple[ProgramReport, ...]:
        """Return the reports on a program as a given module computes it, such as an edited one; with free sizes, one
        for each of several sizes. The module's ``main`` takes arrays, not trees of them.
        """
        first = source if isinstance(source, HloModule) else source.modules[0]
        program = _Program(first, print_module(first), {generated.target: generated}, {}, {})
        if isinstance(source, HloModule):
            return (self._examined(program, path),)
        return tuple(
            self._examined(replace(program, module=module, text=print_module(module)), f"{path} at {place}")
            for place, module in programs_to_check(source, [generated])
        )

    def _require_possible(self, inputs: Sequence[Array] | None) -> None:
        asked = {
            "arguments": inputs is not None,
            "--lockstep": self.plan.lockstep,
            "--reduce": self.plan.reduce_into is not None,
        }
        if found := [name for name, is_asked in asked.items() if is_asked]:
            message = f"{' and '.join(found)} cannot be given where sizes are free"
            raise UsageError(Diagnostic("XP426", message, hint="put numbers in place of the names"))

    def _at_sizes(self, witnesses: Witnesses, path: str) -> Iterator[ProgramReport]:
        """Yield the reports on modules for any size, one for each of several sizes."""
        program = self._program(witnesses)
        for place, module in programs_to_check(witnesses, list(program.emitted.values())):
            there = replace(program, module=module, text=print_module(module))
            yield self._examined(there, f"{path or module.name} at {place}")

    def _program(self, source: HloModule | Witnesses) -> _Program:
        """Return the modules that are emitted for a program, with failures and refusals by participant."""
        plan, module = self.plan, source if isinstance(source, HloModule) else source.modules[0]
        emitted: dict[str, GeneratedModule] = {}
        failed: dict[str, Run] = {}
        refusals = dict.fromkeys((*plan.references, *plan.targets), reason) if (reason := no_plain_call(module)) else {}
        if "interpreter" in plan.references and device_count(module) > 1:
            refusals["interpreter"] = "it has one device"
        elif "interpreter" in plan.references and (size := elements(module)) > MOST_INTERPRETED:
            refusals["interpreter"] = f"{size} elements in all are too many for the interpreter"
        for target in plan.targets:
            try:
                emitted[target] = emit(source, target, **{**plan.options, "nested": False})
            except UnsupportedError as error:
                refusals[target] = str(error)
            except UsageError:  # for example a style that the target lacks
                raise
            except Exception as error:  # a bug in the emitter is a finding
                failed[target] = failed_emission(target, error)
        return _Program(module, print_module(module), emitted, failed, refusals)

    def _examined(self, program: _Program, path: str, inputs: Sequence[Array] | None = None) -> ProgramReport:
        """Return the report on a program and its emitted modules."""
        plan, module, is_plain = self.plan, program.module, not no_plain_call(program.module)
        reach = self._reach(program) if is_plain and program.devices == 1 else None
        cases: tuple[Case, ...] = ()
        if is_plain:
            drawn = self._inputs(module, inputs) if reach is None else self._reaching(program, reach, inputs)
            cases = tuple(self._case(program, *given) for given in drawn)
        sources = {target: generated.source for target, generated in program.emitted.items()}
        return ProgramReport(
            module.name,
            path,
            program.text,
            plan.targets,
            plan.references,
            sources,
            program.refusals,
            cases,
            dict(self._origins(program, cases)) if plan.lockstep else {},
            dict(self._reductions(program, path, cases, plan.reduce_into)) if plan.reduce_into is not None else {},
            reach.unreached if reach is not None else (),
            option_words(plan.options),
            program.emitted,
        )

    def _reach(self, program: _Program) -> Reach | None:
        """Return the parts of a program that may not run; None if there are none, or if they cannot be found."""
        chosen = {name: self.plan.options[name] for name in ("custom_calls",) if name in self.plan.options}
        try:
            reach = Reach.of(emit(program.module, "numpy", nested=False, **chosen))
        except Exception:  # the targets report a failed emission
            return None
        return reach if reach.bodies else None

    def _reaching(self, program: _Program, reach: Reach, inputs: Sequence[Array] | None) -> Iterator[_Drawn]:
        """Yield the inputs of :meth:`_inputs`, then further inputs that reach new parts of the program, until all are
        reached.
        """
        shapes = [parameter.shape for parameter in program.module.entry.parameters]
        for drawn in self._inputs(program.module, inputs):
            reach.try_inputs(self.workers, nest(shapes, drawn[2]))
            yield drawn
        seeds = range(self.plan.seed + 1, self.plan.seed + MOST_DRAWS) if inputs is None else ()
        for seed in seeds:
            for campaign in self.plan.campaigns:
                if reach.is_complete:
                    return
                arrays = tuple(campaign_inputs(program.module, campaign, seed))
                if reach.try_inputs(self.workers, nest(shapes, arrays)):
                    yield campaign, seed, arrays

    def _inputs(self, module: HloModule, inputs: Sequence[Array] | None) -> Iterator[_Drawn]:
        """Yield the arguments for each campaign, of several devices one after the other. Given inputs may be those of
        one device.
        """
        devices = range(device_count(module))
        if inputs is not None:
            own = len(parameter_domains(module))
            yield "given", self.plan.seed, tuple(map(np.asarray, inputs)) * (len(devices) if len(inputs) == own else 1)
            return
        for campaign in self.plan.campaigns:
            each = (campaign_inputs(module, campaign, self.plan.seed + device) for device in devices)
            yield campaign, self.plan.seed, tuple(array for arrays in each for array in arrays)

    def _case(self, program: _Program, campaign: str, seed: int, arrays: tuple[Array, ...]) -> Case:
        plan = self.plan
        asked = [name for name in (*plan.references, *plan.targets) if name not in program.refusals]
        budgets = budgets_for(program.module)
        if plan.budget is not None:
            budgets = [plan.budget] * len(budgets)
        judge = Judge(self.workers, program.module, program.text, program.emitted, arrays, budgets * program.devices)
        with ThreadPoolExecutor(max(1, len(asked))) as pool:
            runs = tuple(pool.map(lambda name: program.failed.get(name) or judge.run(name), asked))
        edges = {name: edges_on(program.emitted.get(name), campaign) for name in asked}
        runs = tuple(judged(run, edges[run.participant]) for run in runs)

        def known(participant: str, against: str, leaves: Sequence[LeafResult]) -> tuple[str, ...]:
            found = self._known(program, participant, against, leaves)
            return found or reasons((*edges[participant], *edges[against]))

        result = vote(runs, judge.compare, known)
        return Case(campaign, seed, runs, result.comparisons, result.accepted, result.wrong, arrays)

    def _origins(self, program: _Program, cases: Sequence[Case]) -> Iterator[tuple[str, Origin]]:
        """Yield the origin of the differences of each target, in the first case that has any."""
        for target, generated in program.emitted.items():
            case = next((case for case in cases if case.differences(target)), None)
            if case is not None and program.devices > 1:
                yield target, Origin(case.campaign, failure="several devices do not run in lockstep")
            elif case is not None:
                found = find_origin(program.module, generated, case.inputs, self.workers, campaign=case.campaign)
                yield target, found

    def _reductions(
        self, program: _Program, path: str, cases: Sequence[Case], folder: Path
    ) -> Iterator[tuple[str, ReducedCase]]:
        """Yield the smallest program for each target that differs or crashes, in the first case in which it does."""
        for target in self.plan.targets:
            case = next((c for c in cases if c.differences(target) or c.status(target) is Status.CRASH), None)
            if case is None or target in program.refusals or program.devices > 1:
                continue
            stem = re.sub(r"[^A-Za-z0-9]+", "-", Path(path).stem).strip("-") or "program"
            place = folder / f"{len(self._programs) + 1}-{stem}-{target}.hlo"
            narrow = replace(self.plan, targets=(target,), references=("xla",), lockstep=False, reduce_into=None)
            with Checker(narrow, self.workers.limits) as checker, suppress(UsageError):  # if it agrees with XLA
                yield target, reduce_case(program.module, case.inputs, target, place, checker, self.plan.options)

    def _known(
        self, program: _Program, participant: str, against: str, leaves: Sequence[LeafResult]
    ) -> tuple[str, ...]:
        """Return the reasons why all differences between two participants are expected; none if one is not."""
        reasons: dict[str, None] = {}
        for leaf in leaves:
            if leaf.status.is_good:
                continue
            instructions = computed_by(program.module, leaf.path if program.devices == 1 else leaf.path[1:])
            candidates = (*of_the_references(), *self._valid)
            entries = [entry for entry in candidates if entry.concerns(participant, against, instructions)]
            if not entries:
                return ()
            self._used.update(entries)
            reasons.update(dict.fromkeys(map(str, entries)))
        return tuple(reasons)


@dataclass(frozen=True, slots=True)
class _Program:
    """A module with its emitted modules, or the failures of emission, by target; ``refusals`` are by participant."""

    module: HloModule
    text: str
    emitted: Mapping[str, GeneratedModule]
    failed: Mapping[str, Run]
    refusals: Mapping[str, str]

    @property
    def devices(self) -> int:
        """The number of devices that run the program together."""
        return device_count(self.module)


def environment(targets: Sequence[str] = ()) -> dict[str, str]:
    """Return the versions of all installed packages that took part, by name, and the targets that run on a twin."""
    versions = {"python": platform.python_version(), "platform": platform.platform()}
    libraries = [load_target(name).library.requires for name in target_names()]
    others = [name for requires in libraries for alternatives in requires for name in alternatives.split("|")]
    for name in ("xla2py", "numpy", "ml_dtypes", *others, "jax", "jaxlib"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    twins = ((name, twin_of(load_target(name))) for name in targets)
    return versions | {f"{name} runs on": f"its twin on the CPU: {twin.missing()}" for name, twin in twins if twin}


def no_plain_call(module: HloModule) -> str:
    """Return why a program cannot be compared, since it is not a function of arrays; "" if it is."""
    devices = device_count(module)
    host = sorted({i.opcode for i in module.instructions() if _is_of_host(i, devices)})
    if host:
        return f"the program talks to its host: {', '.join(host)}"
    return f"the program runs on {devices} devices, more than {DEVICES}" if devices > DEVICES else ""


def _is_of_host(instruction: Instruction, devices: int) -> bool:
    """Return whether an instruction communicates with the host; with several devices, ``send`` and ``recv`` need
    not.
    """
    if instruction.opcode in ("send", "recv"):
        return devices == 1 or bool(instruction.attributes.get("is_host_transfer"))
    return instruction.opcode in ("infeed", "outfeed")


def elements(module: HloModule) -> int:
    """Return the total number of elements of all instructions."""
    return sum(i.shape.size for i in module.instructions() if isinstance(i.shape, ArrayShape))
