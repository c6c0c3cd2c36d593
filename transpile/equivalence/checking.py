"""The differential test: the same program on several array libraries and on XLA, and what differs."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Any

import numpy as np

from ...targets.base import target_names
from ..emission import GeneratedModule, emit
from ..errors import Diagnostic, UnsupportedError, UsageError
from ..frontends import load
from ..hlo.ir import HloModule
from ..hlo.printer import print_module
from ..hlo.verifier import verify
from .budgets import budget_for
from .comparison import Budget, LeafResult, compare
from .inputs import make_inputs, nest
from .participants import REFERENCES, Workers, failed_emission
from .results import Case, CheckReport, ProgramReport, Run
from .voting import vote
from .worker import Limits

Array = np.ndarray[Any, np.dtype[Any]]
Source = HloModule | str | bytes | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to check a program with: on whom, and on which inputs.

    ``references`` are ``xla``, ``interpreter``, both or none. ``arrays`` are inputs in place of made ones. ``options``
    go to :func:`xla2py.emit`.
    """

    targets: tuple[str, ...] = ("numpy",)
    references: tuple[str, ...] = ("xla",)
    campaigns: tuple[str, ...] = ("ordinary",)
    seed: int = 0
    arrays: tuple[Array, ...] | None = None
    budget: Budget | None = None
    options: Mapping[str, Any] | None = None


def check(
    module: Source | Sequence[Source],
    targets: Sequence[str] = ("numpy",),
    reference: str | Sequence[str] = "xla",
    *,
    seed: int = 0,
    inputs: Sequence[Array] | None = None,
    budget: Budget | None = None,
    limits: Limits | None = None,
    progress: Callable[[str], None] | None = None,
) -> CheckReport:
    """Run a program, or several, on array libraries and on XLA, each in its own process, and compare the results.

    ``module`` is what :func:`xla2py.emit` takes. ``reference`` is ``"xla"`` (XLA's CPU backend), ``"interpreter"``
    (StableHLO's, slow), several of these, or ``"none"`` to compare the targets with each other. ``inputs`` are the
    entry's parameters, tuples flattened in order; without them they are made from ``seed`` to suit the program.
    ``progress`` is called with the name of each program.

    Raises ``XlaToPythonError`` for a program that cannot be read and ``UsageError`` (XP406, XP600) for unknown names. A
    target that refuses the program, crashes or hangs is part of the report.
    """
    sources = [module] if isinstance(module, HloModule | str | bytes | os.PathLike) else module
    plan = Plan(
        tuple(targets),
        named_references(reference),
        seed=seed,
        arrays=None if inputs is None else tuple(map(np.asarray, inputs)),
        budget=budget,
    )
    require_names(plan.targets)
    with Workers(limits or Limits()) as workers:
        programs = []
        for source in sources:
            loaded = source if isinstance(source, HloModule) else load(source)
            verify(loaded, loaded.source)
            if progress is not None:
                progress(loaded.name)
            path = os.fspath(source) if isinstance(source, os.PathLike) else ""
            programs.append(check_program(loaded, plan, workers, path))
    return CheckReport(tuple(programs), environment())


def named_references(reference: str | Sequence[str]) -> tuple[str, ...]:
    """The references of a name or several; ``"none"`` is none. Raises ``UsageError`` (XP600) for unknown ones."""
    names = (reference,) if isinstance(reference, str) else tuple(reference)
    names = tuple(name for name in names if name != "none")
    for name in names:
        if name not in REFERENCES:
            hint = f"references are {', '.join(REFERENCES)}, or none"
            raise UsageError(Diagnostic("XP600", f"there is no reference '{name}'", hint=hint))
    return names


def require_names(targets: Sequence[str]) -> None:
    """Raise ``UsageError`` (XP406) where a target is not installed."""
    known = target_names()
    for name in targets:
        if name not in known:
            hint = f"installed targets: {', '.join(known)}"
            raise UsageError(Diagnostic("XP406", f"there is no target '{name}'", hint=hint))


def check_program(module: HloModule, plan: Plan, workers: Workers, path: str = "") -> ProgramReport:
    """Check one program on the inputs of every campaign."""
    report = ProgramReport(module.name, path, print_module(module), plan.targets, plan.references)
    emitted: dict[str, GeneratedModule] = {}
    failed: dict[str, Run] = {}
    refusals: dict[str, str] = {}
    for target in plan.targets:
        try:
            emitted[target] = emit(module, target, **(plan.options or {}))
        except UnsupportedError as error:
            refusals[target] = str(error)
        except Exception as error:  # a bug in the emitter is a finding
            failed[target] = failed_emission(target, error)
    reason = no_plain_call(module)
    if reason:
        refusals |= dict.fromkeys(report.participants, reason)
    report = replace(report, sources={target: one.source for target, one in emitted.items()}, refusals=refusals)
    if reason:
        return report
    cases = [
        _case(module, report, campaign, plan, arrays, emitted, failed, workers)
        for campaign, arrays in _inputs(module, plan)
    ]
    return replace(report, cases=tuple(cases))


def no_plain_call(module: HloModule) -> str:
    """Why a program is not a function of arrays, so that nothing can be compared; empty where it is one."""
    host = sorted({i.opcode for i in module.instructions()} & {"infeed", "outfeed"})
    return f"the program talks to its host: {', '.join(host)}" if host else ""


def _inputs(module: HloModule, plan: Plan) -> Iterator[tuple[str, tuple[Array, ...]]]:
    if plan.arrays is not None:
        yield "given", plan.arrays
        return
    for campaign in plan.campaigns:
        yield campaign, tuple(make_inputs(module, plan.seed))


def _case(
    module: HloModule,
    report: ProgramReport,
    campaign: str,
    plan: Plan,
    arrays: tuple[Array, ...],
    emitted: Mapping[str, GeneratedModule],
    failed: Mapping[str, Run],
    workers: Workers,
) -> Case:
    arguments = nest([parameter.shape for parameter in module.entry.parameters], arrays)

    def run(participant: str) -> Run:
        if participant in emitted:
            return workers.run_generated(emitted[participant], arguments)
        return failed.get(participant) or workers.run_reference(participant, report.hlo, arrays)

    asked = [name for name in report.participants if name not in report.refusals]
    with ThreadPoolExecutor(max(1, len(asked))) as pool:
        runs = tuple(pool.map(run, asked))
    budget = plan.budget or budget_for(module)

    def compare_runs(expected: Run, actual: Run) -> tuple[LeafResult, ...]:
        return tuple(compare(list(expected.results), list(actual.results), budget))

    result = vote(runs, compare_runs, lambda participant, against, leaves: ())
    return Case(campaign, plan.seed, runs, result.comparisons, result.accepted, result.wrong, arrays)


def environment() -> dict[str, str]:
    """Versions of what took part, by name; only what is installed."""
    versions = {"python": platform.python_version(), "platform": platform.platform()}
    for name in ("xla2py", "numpy", "ml_dtypes", "dask", "cupy-cuda13x", "jax", "jaxlib"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions
