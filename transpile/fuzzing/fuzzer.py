"""The fuzzer: compares random programs on all targets with XLA, and reports differences in buckets, each with the
smallest program.

XLA gets programs in batches, as calls in one module, because compiling them one by one takes thirty times as long.
Programs that XLA on the CPU cannot run are compared with the readable module for NumPy. Targets with chunks run a third
of the programs on whole arrays, and the others on short chunks.

The output folder has ``fuzz.json``, from which a run continues, and a folder for each bucket with its first program:
``program.hlo``, ``inputs.npz``, and in ``command.txt`` the command that reproduces the difference.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, field, replace
from pathlib import Path

import numpy as np

from ..dataclass import dataclass
from ..emission import GeneratedModule, emit
from ..emission.functions.sidecars import storable
from ..equivalence.inputs.dependence import computed_by
from ..equivalence.inputs.kinds import changed_inputs
from ..equivalence.reference.participants import Workers, failed_emission
from ..equivalence.reports.results import NOT_COMPARED, Run, worst
from ..equivalence.shrinking.shrink import reduce_module
from ..equivalence.verdicts.comparison import LeafResult, Status, compare
from ..equivalence.verdicts.judging import Judge
from ..equivalence.verdicts.known_differences import of_the_references
from ..equivalence.verdicts.tolerances import EXACT, budget_for, budgets_for
from ..errors import Diagnostic, UnsupportedError, UsageError, XlaToPythonError
from ..files import read_bytes, write_atomically
from ..frontends import load
from ..hlo.carriers import Array
from ..hlo.ir import HloModule
from ..hlo.printer import print_module
from ..options import READABLE, option_words
from ..target import load_target
from .families import opcodes, program_with
from .program import RandomProgram, batch_text

BATCH = 40
STATE = "fuzz.json"
CHUNKS = "", "3", "2"  # elements of a chunk along every axis that can be cut, on targets with chunks; used in turn
STAND_IN = "numpy"  # the target whose readable module is the reference for programs that XLA cannot run
Bucket = tuple[str, str, str]  # operation, element type, pattern
_MAGNITUDES = ((0.01, "below 1%"), (0.1, "below 10%"), (1.0, "below 100%"))
_FRAME = re.compile(r'File "<xla2py generated[^"]*", line \d+, in (\w+)')


@dataclass(frozen=True, slots=True)
class Finding:
    """A program whose results on a target differ from XLA's, and its bucket."""

    program: RandomProgram
    target: str
    style: str
    chunks: str
    status: Status
    bucket: Bucket
    text: str  # a description of the difference
    is_rounded: bool = False  # whether the array may differ in its last digits


@dataclass
class Progress:
    """The progress of a run: the seeds done, counts, and the seeds in each bucket (by the name of its folder).

    ``campaigns`` are the kinds of inputs, which programs take in turn. ``style`` is that of the emitted modules.
    """

    operations: list[str]
    targets: list[str]
    campaigns: list[str]
    style: str
    first_seed: int
    next_seed: int
    programs: int = 0
    verdicts: dict[str, dict[str, int]] = field(default_factory=dict)  # by target
    drawn: dict[str, int] = field(default_factory=dict)  # programs with an opcode
    buckets: dict[str, list[int]] = field(default_factory=dict)


def resume(
    folder: Path,
    operations: Collection[str],
    targets: Sequence[str],
    campaigns: Sequence[str],
    style: str,
    first_seed: int,
) -> Progress:
    """Return the progress in a folder, or a fresh one.

    Raises ``UsageError`` (XP605) if the folder is of other programs, or does not lead up to the first seed.
    """
    path = folder / STATE
    wanted = Progress(sorted(operations), list(targets), list(campaigns), style, first_seed, first_seed)
    if not path.exists():
        return wanted
    try:
        found = Progress(**json.loads(read_bytes(path)))
    except (ValueError, TypeError) as error:
        raise UsageError(Diagnostic("XP605", f"{path} is not what fuzz wrote: {error}")) from error
    if _kind(found) != _kind(wanted):
        message = f"{folder} holds findings of other operations, targets, campaigns or another style"
        raise UsageError(Diagnostic("XP605", message, hint="name another folder with -o"))
    if not found.first_seed <= first_seed <= found.next_seed:
        message = f"{folder} holds findings of the seeds from {found.first_seed} up to {found.next_seed}"
        raise UsageError(Diagnostic("XP605", message, hint=f"name another folder with -o for those from {first_seed}"))
    return found


def _kind(progress: Progress) -> tuple[object, ...]:
    return progress.operations, progress.targets, progress.campaigns, progress.style


def fuzz(progress: Progress, last_seed: int, workers: Workers, folder: Path) -> Iterator[None]:
    """Continue up to a seed (excluded) and write to a folder; yield after each batch."""
    campaigns = progress.campaigns
    while progress.next_seed < last_seed:
        seeds = range(progress.next_seed, min(progress.next_seed + BATCH, last_seed))
        drawn = ((seed, program_with(progress.operations, seed)) for seed in seeds)
        batch = [in_campaign(program, campaigns[seed % len(campaigns)], seed) for seed, program in drawn]
        expected = _by_references(batch, workers)
        for seed, program, reference in zip(seeds, batch, expected, strict=True):
            for opcode in opcodes(program):
                progress.drawn[opcode] = progress.drawn.get(opcode, 0) + 1
            for target in progress.targets:
                chunks = chunks_for(target, seed // len(campaigns))
                verdict, findings = check_program(program, reference, target, workers, progress.style, chunks)
                counts = Counter(progress.verdicts.get(target, {}))
                counts[verdict.value if verdict is not None else NOT_COMPARED] += 1
                progress.verdicts[target] = dict(counts)
                for finding in findings:
                    _record(finding, seed, progress, folder, workers)
        progress.programs += len(seeds)
        progress.next_seed = seeds.stop
        write_atomically(folder / STATE, (json.dumps(asdict(progress), indent=1) + "\n").encode())
        yield


def chunks_for(target: str, seed: int) -> str:
    """Return the chunks in which a target runs the program of a seed; "" for a target without chunks."""
    return CHUNKS[seed % len(CHUNKS)] if load_target(target).arrange is not None else ""


def in_campaign(program: RandomProgram, campaign: str, seed: int) -> RandomProgram:
    """Return the program with inputs of a campaign, except for its fixed inputs."""
    if campaign == "ordinary" or len(program.fixed) == len(program.inputs):
        return program
    changed = changed_inputs(load(program.text.encode()), program.inputs, campaign, seed)
    inputs = [program.inputs[k] if k in program.fixed else array for k, array in enumerate(changed)]
    return replace(program, inputs=inputs, campaign=campaign)


def _by_references(batch: Sequence[RandomProgram], workers: Workers) -> list[Run]:
    """Return the reference's run of each program: XLA's in one module for all, or alone if that fails."""
    usual = [program for program in batch if program.runs_on_xla]
    together = workers.run_reference("xla", batch_text(usual), [a for program in usual for a in program.inputs])
    results = iter(together.results)

    def run(program: RandomProgram) -> Run:
        if not program.runs_on_xla or together.failure is not None:
            return _by_reference(program, program.text, program.inputs, workers)
        return Run("xla", results=tuple(next(results) for _ in range(program.result_count)))

    return [run(program) for program in batch]


def _by_reference(program: RandomProgram, text: str, inputs: Sequence[Array], workers: Workers) -> Run:
    """Return XLA's run, or that of the readable module for NumPy if XLA does not run the program."""
    if program.runs_on_xla:
        run = workers.run_reference("xla", text, inputs)
        if run.failure is None:
            return run
    module = load(text.encode())
    try:
        stand_in = emit(module, STAND_IN, format=False)
    except Exception as error:  # also a finding if NumPy is among the targets
        return failed_emission(STAND_IN, error)
    return Judge(workers, module, text, {STAND_IN: stand_in}, inputs, ()).run(STAND_IN)


def check_program(
    program: RandomProgram, reference: Run, target: str, workers: Workers, style: str = READABLE, chunks: str = ""
) -> tuple[Status | None, list[Finding]]:
    """Return the verdict on a target, or None if there is no reference, and one finding for each bucket."""
    return _findings(program, load(program.text.encode()), program.inputs, reference, target, workers, style, chunks)


def _findings(
    program: RandomProgram,
    module: HloModule,
    inputs: Sequence[Array],
    reference: Run,
    target: str,
    workers: Workers,
    style: str,
    chunks: str,
) -> tuple[Status | None, list[Finding]]:
    emitted: dict[str, GeneratedModule] = {}
    judge = Judge(workers, module, print_module(module), emitted, inputs, budgets_for(module))
    try:
        emitted[target] = emit(module, target, format=False, style=style, chunks=chunks)
    except UnsupportedError as error:
        run = Run(target, Status.UNSUPPORTED, str(error))
    except Exception as error:  # a bug in the emitter is a finding
        run = failed_emission(target, error)
    else:
        run = judge.run(target)
    if run.failure is Status.UNSUPPORTED and target != "numpy":
        return Status.UNSUPPORTED, []
    if run.failure is not None:
        text = f"{run.message}\n{run.traceback}"
        return run.failure, [Finding(program, target, style, chunks, run.failure, bucket_of_failure(run), text)]
    is_itself = reference.participant == target and style == READABLE
    if reference.failure is not None or is_itself:
        return None, []
    leaves = [_unless_known(leaf, module, reference, run) for leaf in _verdicts(program, judge, reference, run)]
    found: dict[Bucket, Finding] = {}
    for leaf in leaves:
        if not leaf.status.is_good:
            bucket = bucket_of_difference(module, leaf)
            is_rounded = leaf.path[:1] != () and leaf.path[0] in program.rounded
            found.setdefault(
                bucket, Finding(program, target, style, chunks, leaf.status, bucket, str(leaf), is_rounded)
            )
    return worst(leaf.status for leaf in leaves), list(found.values())


def _verdicts(program: RandomProgram, judge: Judge, expected: Run, actual: Run) -> Sequence[LeafResult]:
    """Return the comparison of results. On ordinary inputs, results that the program does not declare as rounded must
    be equal to the last bit; on other inputs they need not be exact.
    """
    if program.campaign != "ordinary":
        return judge.compare(expected, actual)
    budget = budget_for(judge.module)
    budgets = [budget if number in program.rounded else EXACT for number in range(len(judge.budgets))]
    return compare(list(expected.results), list(actual.results), budgets)


def _unless_known(leaf: LeafResult, module: HloModule, expected: Run, actual: Run) -> LeafResult:
    if leaf.status.is_good:
        return leaf
    instructions, sides = computed_by(module, leaf.path), (expected.participant, actual.participant)
    known = any(entry.concerns(*sides, instructions) for entry in of_the_references())
    return replace(leaf, status=Status.CLOSE) if known else leaf


def _reduced(finding: Finding, workers: Workers) -> tuple[str, list[Array]]:
    """Return the smallest program and inputs with the same status; those of the finding if there are none, or if each
    attempt would wait for a time limit.
    """
    if finding.status is Status.TIMEOUT:
        return finding.program.text, finding.program.inputs
    rounded = range(finding.program.result_count) if finding.is_rounded else ()
    program = replace(finding.program, rounded=frozenset(rounded))

    def is_interesting(module: HloModule, inputs: list[Array]) -> bool:
        reference = _by_reference(program, print_module(module), inputs, workers)
        verdict, _ = _findings(
            program, module, inputs, reference, finding.target, workers, finding.style, finding.chunks
        )
        return verdict is finding.status

    try:
        reduction = reduce_module(load(program.text.encode()), program.inputs, is_interesting)
    except XlaToPythonError:  # it appears only in its batch, or with another allowance
        return program.text, program.inputs
    return print_module(reduction.module), reduction.inputs


def _record(finding: Finding, seed: int, progress: Progress, folder: Path, workers: Workers) -> None:
    """Count a finding; the first of its bucket is reduced and written to a folder."""
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
            "command.txt": _command(finding).encode(),
            "finding.txt": (finding.text.rstrip() + "\n").encode(),
        }
        for file, content in files.items():
            write_atomically(place / file, content)
    seeds.append(seed)


def _command(finding: Finding) -> str:
    """Return the command that reproduces a finding in its folder."""
    options = option_words({"style": finding.style, "chunks": finding.chunks})
    words = ["xla2py", "check", "program.hlo", "-t", finding.target, *options, "--args", "inputs.npz"]
    return " ".join(words) + "\n"


# -- buckets of similar failures


def bucket_of_difference(module: HloModule, leaf: LeafResult) -> Bucket:
    """Return the bucket by the instruction that computes the array, its element type, and the status and size of the
    difference.
    """
    instruction = module.entry.root
    if instruction.opcode == "tuple":
        instruction = instruction.operands[leaf.path[0] if leaf.path else 0]
    while instruction.opcode in ("get-tuple-element", "call"):
        step = instruction.called[0].root if instruction.opcode == "call" else instruction.operands[0]
        instruction = step
    pattern = leaf.status.value
    if leaf.status is Status.DIFFERS:
        pattern += f" {next((text for limit, text in _MAGNITUDES if leaf.relative < limit), 'by 100% or more')}"
    return instruction.opcode, leaf.dtype, pattern


def bucket_of_failure(run: Run) -> Bucket:
    """Return the bucket by the function of the emitted code that raised, and by the exception."""
    kind = run.message.split(":", 1)[0]
    frames: Sequence[str] = _FRAME.findall(run.traceback)
    where = frames[-1] if frames else "emission" if kind == "emission failed" else "process"
    return where, run.participant, f"{run.failure.value if run.failure else ''} {kind}".strip()


def folder_name(bucket: Sequence[str]) -> str:
    """Return the name of a bucket's folder, in plain characters."""
    return re.sub(r"[^a-z0-9]+", "-", "_".join(bucket).lower()).strip("-")
