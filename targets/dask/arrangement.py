"""From a program to one that runs in chunks, within a limit of memory."""

from __future__ import annotations

import re
from math import prod

from ...transpile.array.node import Node
from ...transpile.array.program import Program, tree_nodes
from ...transpile.errors import Diagnostic, UnsupportedError, UsageError
from ..base import Limits, Plan
from .cuts import REUSED_BYTES, Classes, Cuts, cut, measured
from .estimates import PROCESS_BYTES, estimated
from .places import spelled_out
from .stores import without_computed_stores
from .writing import Arrangement

CHUNK_BYTES = 128 << 20  # as dask.array takes by itself
FEW = 256  # chunks: instead of more, larger ones
SMALLEST_CHUNK_BYTES = 1 << 16
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def arrange(program: Program, limits: Limits) -> tuple[Program, Plan]:
    """``main`` over chunks with its block functions, and how that will run.

    Raises UnsupportedError (XP740) where no chunks are small enough for ``limits.memory``, UsageError (XP741) for a
    size that is none.
    """
    cuts, plan = _planned(program, limits)
    arranged = Arrangement(program, cuts).arranged()
    for node in cuts.classes.nodes:
        if node.opcode in ("parameter", "item") and cuts.is_cut(node):
            arranged.entry.chunks[node] = cuts.chunks(node)
    return arranged, plan


def _planned(program: Program, limits: Limits) -> tuple[Cuts, Plan]:
    """The largest chunks with which the program keeps to its limit: wherever its arguments come from, or if there are
    none, where these are files."""
    without_computed_stores(program.entry)
    memory = size_in_bytes(limits.memory) if limits.memory else None
    classes = Classes(program.entry, memory)
    length = int(limits.chunks) if limits.chunks.isdigit() else None
    target = size_in_bytes(limits.chunks) if limits.chunks and length is None else CHUNK_BYTES
    reused = _reused(program, classes) if not limits.chunks else frozenset()
    for_files: tuple[Cuts, Plan] | None = None
    while True:
        cuts = cut(classes, measured(classes, length, target, reused))
        if spelled_out(program.entry, cuts):
            return _planned(program, limits)
        found = estimated(program, cuts)
        if memory is None or found.peak_bytes <= memory:
            return cuts, found
        if for_files is None and found.mapped_peak_bytes <= memory:
            for_files = cuts, found
        if length is not None or target <= SMALLEST_CHUNK_BYTES:
            if for_files is None:
                raise _refusal(found, limits)
            return for_files
        target //= 2


def _reused(program: Program, classes: Classes) -> frozenset[Node]:
    """The results whose chunks are to be small enough for their memory to be used again: those of which a task makes a
    chunk at once, unless that gives too many of them."""
    results = [result for result in tree_nodes(program.entry.results) if result.element_type is not None]
    sizes = {result: prod(result.shape) * result.type.dtype.itemsize for result in results}
    if max(sizes.values(), default=0) <= CHUNK_BYTES:
        return frozenset()
    cuts = cut(classes, measured(classes, None, CHUNK_BYTES))
    made = (x for x in results if cuts.is_cut(x) and cuts.forms[x] in ("block", "windows"))
    return frozenset(x for x in made if CHUNK_BYTES < sizes[x] <= FEW * REUSED_BYTES)


def _refusal(found: Plan, limits: Limits) -> UnsupportedError:
    worst = max(found.phases, key=lambda phase: phase.mapped_task_bytes)
    holds = f"one task of {worst.name} holds {worst.mapped_task_bytes >> 20} MiB"
    if size_in_bytes(limits.memory) <= PROCESS_BYTES:
        holds = f"Python, NumPy and dask take {PROCESS_BYTES >> 20} MiB themselves"
    needs = f"the program needs about {found.mapped_peak_bytes >> 20} MiB in chunks and may use {limits.memory}"
    return UnsupportedError(Diagnostic("XP740", f"{needs}: {holds}", hint=worst.note or "allow more with --memory"))


def size_in_bytes(text: str) -> int:
    """``2GiB``, ``500 MB`` or ``1048576`` in bytes. Raises UsageError (XP741)."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?", text.strip(), re.IGNORECASE)
    if found is None:
        hint = "a number of bytes with a unit, such as 2GiB or 500MB"
        raise UsageError(Diagnostic("XP741", f"{text!r} is not a size", hint=hint))
    number, unit, binary = found[1], found[2].upper(), found[3]
    scale = UNITS[unit] if binary or not unit else 1000 ** list(UNITS).index(unit)
    return int(float(number) * scale)
