"""Random programs on all targets, beside XLA: what differs, in buckets, with the smallest program for each.

Programs go to XLA in batches, as calls in one module, because compiling them one by one takes thirty times as long.
The output folder has ``fuzz.json``, which says where to go on, and a folder for each bucket with the first program that
fell into it: ``program.hlo``, ``inputs.npz`` and, in ``command.txt``, how to see it again.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..emission import emit
from ..emission.sidecars import storable
from ..equivalence.budgets import budget_for
from ..equivalence.comparison import Budget, LeafResult, Status, compare_leaf
from ..equivalence.dependence import computed_by
from ..equivalence.inputs import nest
from ..equivalence.known_differences import of_the_references
from ..equivalence.participants import Workers, failed_emission
from ..equivalence.reduction import reduce_module
from ..equivalence.results import Run, worst
from ..errors import Diagnostic, UnsupportedError, UsageError, XlaToPythonError
from ..files import read_bytes, write_atomically
from ..frontends import load
from ..hlo.ir import HloModule
from ..hlo.printer import print_module
from .buckets import Bucket, bucket_of_difference, bucket_of_failure, folder_name
from .families import opcodes, program_with
from .program import RandomProgram, batch_text

Array = np.ndarray[Any, np.dtype[Any]]

BATCH = 40
STATE = "fuzz.json"
_EXACT = Budget(relative=0, absolute=0)


@dataclass(frozen=True, slots=True)
class Finding:
    """A program that does not do on a target what XLA does, and which bucket that falls into."""

    program: RandomProgram
    target: str
    status: Status
    bucket: Bucket
    text: str  # what differs
    is_rounded: bool = False  # an array that need not be equal to the last bit


@dataclass
class Progress:
    """Where a campaign stands: the seeds done, counts, and the seeds in each bucket (by the name of its folder)."""

    operations: list[str]
    targets: list[str]
    next_seed: int
    programs: int = 0
    verdicts: dict[str, dict[str, int]] = field(default_factory=dict)  # by target
    drawn: dict[str, int] = field(default_factory=dict)  # programs with an opcode
    buckets: dict[str, list[int]] = field(default_factory=dict)


def resume(folder: Path, operations: Collection[str], targets: Sequence[str], first_seed: int) -> Progress:
    """The progress in a folder, or a fresh one. Raises ``UsageError`` (XP605) where it is of another campaign."""
    path = folder / STATE
    wanted = Progress(sorted(operations), list(targets), first_seed)
    if not path.exists():
        return wanted
    try:
        found = Progress(**json.loads(read_bytes(path)))
    except (ValueError, TypeError) as error:
        raise UsageError(Diagnostic("XP605", f"{path} is not what fuzz wrote: {error}")) from error
    if (found.operations, found.targets) != (wanted.operations, wanted.targets):
        message = f"{folder} holds a campaign with other operations or targets"
        raise UsageError(Diagnostic("XP605", message, hint="name another folder with -o"))
    return found


def fuzz(progress: Progress, last_seed: int, workers: Workers, folder: Path) -> Iterator[None]:
    """Go on with a campaign up to a seed (excluded), writing to a folder; gives way after each batch."""
    while progress.next_seed < last_seed:
        seeds = range(progress.next_seed, min(progress.next_seed + BATCH, last_seed))
        batch = [program_with(progress.operations, seed) for seed in seeds]
        expected = _by_xla(batch, workers)
        for seed, program, reference in zip(seeds, batch, expected, strict=True):
            for opcode in opcodes(program):
                progress.drawn[opcode] = progress.drawn.get(opcode, 0) + 1
            for target in progress.targets:
                verdict, findings = check_program(program, reference, target, workers)
                counts = Counter(progress.verdicts.get(target, {}))
                counts[verdict.value] += 1
                progress.verdicts[target] = dict(counts)
                for finding in findings:
                    _record(finding, seed, progress, folder, workers)
        progress.programs += len(seeds)
        progress.next_seed = seeds.stop
        write_atomically(folder / STATE, (json.dumps(asdict(progress), indent=1) + "\n").encode())
        yield


def _by_xla(batch: Sequence[RandomProgram], workers: Workers) -> list[Run]:
    """XLA's results for each program: of one module for all, or of each alone where that module fails."""
    together = workers.run_reference("xla", batch_text(batch), [a for program in batch for a in program.inputs])
    if together.failure is None:
        results = iter(together.results)
        return [Run("xla", results=tuple(next(results) for _ in range(one.result_count))) for one in batch]
    return [workers.run_reference("xla", program.text, program.inputs) for program in batch]


def check_program(
    program: RandomProgram, reference: Run, target: str, workers: Workers
) -> tuple[Status, list[Finding]]:
    """The verdict on a target, and what is wrong, one finding for each bucket."""
    return _findings(program, load(program.text.encode()), program.inputs, reference, target, workers)


def _findings(
    program: RandomProgram,
    module: HloModule,
    inputs: Sequence[Array],
    reference: Run,
    target: str,
    workers: Workers,
) -> tuple[Status, list[Finding]]:
    try:
        generated = emit(module, target, format=False)
    except UnsupportedError as error:
        run = Run(target, Status.UNSUPPORTED, str(error))
    except Exception as error:  # a bug in the emitter is a finding
        run = failed_emission(target, error)
    else:
        arguments = nest([parameter.shape for parameter in module.entry.parameters], inputs)
        run = workers.run_generated(generated, arguments)
    if run.failure is Status.UNSUPPORTED and target != "numpy":
        return Status.UNSUPPORTED, []
    if run.failure is not None:
        return run.failure, [
            Finding(program, target, run.failure, bucket_of_failure(run), f"{run.message}\n{run.traceback}")
        ]
    if reference.failure is not None:
        return Status.UNSUPPORTED, []
    leaves = list(_verdicts(program, module, reference, run))
    found: dict[Bucket, Finding] = {}
    for leaf in leaves:
        if not leaf.status.is_good:
            bucket = bucket_of_difference(module, leaf)
            is_rounded = leaf.path[:1] != () and leaf.path[0] in program.rounded
            found.setdefault(bucket, Finding(program, target, leaf.status, bucket, str(leaf), is_rounded))
    return worst(leaf.status for leaf in leaves), list(found.values())


def _verdicts(program: RandomProgram, module: HloModule, expected: Run, actual: Run) -> Iterator[LeafResult]:
    if len(expected.results) != len(actual.results):
        note = f"{len(expected.results)} arrays expected, {len(actual.results)} found"
        yield LeafResult((), Status.SHAPE, "tuple", (len(actual.results),), note=note)
        return
    budget = budget_for(module)
    for number, (want, have) in enumerate(zip(expected.results, actual.results, strict=True)):
        leaf = compare_leaf(want, have, budget if number in program.rounded else _EXACT, (number,))
        if not leaf.status.is_good:
            instructions = computed_by(module, leaf.path)
            known = any(entry.concerns("xla", actual.participant, instructions) for entry in of_the_references())
            leaf = replace(leaf, status=Status.CLOSE) if known else leaf
        yield leaf


def _reduced(finding: Finding, workers: Workers) -> tuple[str, list[Array]]:
    """The smallest program and inputs that go wrong in the same way; those of the finding where there are none."""
    rounded = range(finding.program.result_count) if finding.is_rounded else ()
    program = replace(finding.program, rounded=frozenset(rounded))

    def is_interesting(module: HloModule, inputs: list[Array]) -> bool:
        reference = workers.run_reference("xla", print_module(module), inputs)
        verdict, _ = _findings(program, module, inputs, reference, finding.target, workers)
        return verdict is finding.status

    try:
        reduction = reduce_module(load(program.text.encode()), program.inputs, is_interesting)
    except XlaToPythonError:  # it shows only among the other programs of its batch, or with another allowance
        return program.text, program.inputs
    return print_module(reduction.module), reduction.inputs


def _record(finding: Finding, seed: int, progress: Progress, folder: Path, workers: Workers) -> None:
    """Count a finding; the first of its bucket is reduced and written down."""
    name = folder_name((*finding.bucket, finding.target))
    seeds = progress.buckets.setdefault(name, [])
    if not seeds:
        place = folder / name
        text, arrays = _reduced(finding, workers)
        inputs = io.BytesIO()
        np.savez(inputs, *map(storable, arrays))
        files = {
            "program.hlo": text.encode(),
            "original.hlo": finding.program.text.encode(),
            "inputs.npz": inputs.getvalue(),
            "command.txt": f"xla2py check program.hlo -t {finding.target} --args inputs.npz\n".encode(),
            "finding.txt": (finding.text.rstrip() + "\n").encode(),
        }
        for file, content in files.items():
            write_atomically(place / file, content)
    seeds.append(seed)
