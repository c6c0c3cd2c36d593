"""Failures put together by what they look like: operation, element type, and the pattern of the difference."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..equivalence.reports.results import Run
from ..equivalence.verdicts.comparison import LeafResult, Status
from ..hlo.ir import HloModule

Bucket = tuple[str, str, str]  # operation, element type, pattern

_MAGNITUDES = ((0.01, "below 1%"), (0.1, "below 10%"), (1.0, "below 100%"))
_FRAME = re.compile(r'File "<xla2py generated[^"]*", line \d+, in (\w+)')


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
    """Return the bucket by the exception, and by the function of the emitted code that it came from."""
    kind = run.message.split(":", 1)[0]
    frames: Sequence[str] = _FRAME.findall(run.traceback)
    where = frames[-1] if frames else "emission" if kind == "emission failed" else "process"
    return where, run.participant, f"{run.failure.value if run.failure else ''} {kind}".strip()


def folder_name(bucket: Sequence[str]) -> str:
    """A name for the folder of a bucket, of plain characters."""
    return re.sub(r"[^a-z0-9]+", "-", "_".join(bucket).lower()).strip("-")
