"""A program in chunks as data: its order, strategies, chunks and costs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ....transpile.array.node import Node
from ....transpile.array.program import Function, Loop, Program, Store, roots, tree_nodes
from ....transpile.array.scalars import is_known_on_host
from ....transpile.array.traversal import topological
from ....transpile.dataclass import dataclass
from ....transpile.errors import Diagnostic, UnsupportedError, UsageError
from ....transpile.hlo.lexer import shorten
from ....transpile.target import Limits, Plan
from ..strategies import MAP_BLOCKS, WINDOWS
from .axis_classes import AxisClasses
from .chunk_layout import ChunkLayout, Round
from .chunk_sizes import REUSED_BYTES, choose_chunk_sizes
from .chunks import Chunks
from .estimates import PROCESS_BYTES, THREADS, estimated
from .legalize import legalized
from .phases import Schedule, scheduled
from .propagation import classified, propagated

CHUNK_BYTES = 128 << 20  # the default of dask.array
FEW = 256  # a result that would have more reusable chunks gets larger ones
SMALLEST_CHUNK_BYTES = 1 << 16
KEPT = 0.4  # of the bytes that tasks hold: freed memory that malloc keeps, the largest share that was measured
MOST_TASKS = 3  # times the tasks of a plan without that share; if a plan with it needs more, the share is not reserved
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True, slots=True)
class ChunkProgram:
    """A program over arrays in ``chunks``: its ``schedule`` of phases, and the ``plan`` that users see.

    Both the report and the writer read this value. With its ``layout``, the same program at other sizes can be cut
    alike.
    """

    program: Program
    schedule: Schedule
    plan: Plan
    layout: ChunkLayout

    @property
    def chunks(self) -> Chunks:
        """The chunks of all arrays of ``main``."""
        return self.schedule.chunks


def chunk_program(
    program: Program, limits: Limits, layout: ChunkLayout | None = None, process_bytes: int = PROCESS_BYTES
) -> ChunkProgram:
    """Choose the largest chunks with which a program stays within its limit, or those of a ``layout`` from other sizes.

    The process itself takes ``process_bytes``. The limit holds for all kinds of arguments; if no chunks are small
    enough for that, it holds for arguments in files. Operations that cannot be computed block by block are legalized if
    they are cut.

    Raises UnsupportedError (XP740) if no chunks are small enough for ``limits.memory``, UsageError (XP741) for an
    invalid size, UnsupportedError (XP424) if the program is not that of the layout.
    """
    without_computed_stores(program.entry)
    if layout is not None:
        return _repeated(program, limits, layout, process_bytes)
    rounds: list[Round] = []
    while True:
        found = _chosen(program, limits, rounds, process_bytes)
        if found is not None:
            return found


def _repeated(program: Program, limits: Limits, layout: ChunkLayout, process_bytes: int) -> ChunkProgram:
    """Return the program in the chunks of a layout, legalized in the same rounds."""
    function, memory = program.entry, _bytes(limits)
    for earlier in layout.rounds[:-1]:
        legalized(function, earlier.applied(function, memory)[0])
    schedule = scheduled(function, *layout.rounds[-1].applied(function, memory))
    plan = estimated(function, schedule, process_bytes, _threads(limits))
    return ChunkProgram(program, schedule, plan, layout)


def _bytes(limits: Limits) -> int | None:
    return size_in_bytes(limits.memory) if limits.memory else None


def _threads(limits: Limits) -> int:
    return int(limits.threads or THREADS)


def _chosen(program: Program, limits: Limits, rounds: list[Round], process_bytes: int) -> ChunkProgram | None:
    """Return the program in the largest chunks within the limit; None if it was legalized, so that chunks must be
    chosen anew.

    ``rounds`` are the earlier rounds; if the program is legalized, the current one is appended.
    """
    function, memory = program.entry, _bytes(limits)
    classes = classified(function, memory)
    length = chunk_length(limits.chunks)
    reused = _reused(function, classes) if not limits.chunks else frozenset()
    for_files: ChunkProgram | None = None
    close: ChunkProgram | None = None  # within the limit only if malloc keeps nothing
    plans: list[Plan] = []

    def fits(peak_bytes: int) -> bool:
        return memory is None or peak_bytes + KEPT * (peak_bytes - process_bytes) <= memory

    for target in _targets(limits):
        chunks, choices = propagated(classes, choose_chunk_sizes(classes, length, target, reused))
        this = Round.of(chunks, choices)
        kept = for_files or close
        if kept is not None and not kept.chunks.lengths.keys() <= chunks.lengths.keys():
            return kept  # smaller chunks cut other axes, which takes more work
        if legalized(function, chunks):
            rounds.append(this)
            return None
        schedule = scheduled(function, chunks, choices)
        plan = estimated(function, schedule, process_bytes, _threads(limits))
        plans.append(plan)
        is_in_memory = memory is not None and close is not None and close.plan.peak_bytes <= memory
        if close is not None and is_in_memory and _tasks(plan) > MOST_TASKS * _tasks(close.plan):
            return for_files or close
        found = ChunkProgram(program, schedule, plan, ChunkLayout((*rounds, this)))
        if memory is None or fits(plan.peak_bytes):
            return found
        if for_files is None and fits(plan.file_peak_bytes):
            for_files = found
        if plan.file_peak_bytes <= memory and (close is None or plan.peak_bytes <= memory < close.plan.peak_bytes):
            close = found
    if for_files is None and close is None:
        raise _refusal(min(plans, key=lambda plan: plan.file_peak_bytes), limits, process_bytes)
    return for_files or close


def _tasks(plan: Plan) -> int:
    return sum(phase.tasks for phase in plan.phases)


def _targets(limits: Limits) -> Iterator[int]:
    """Yield decreasing chunk sizes in bytes, in steps of a quarter and a third."""
    if chunk_length(limits.chunks) is not None:
        yield CHUNK_BYTES  # has no effect: the length is given
        return
    target = size_in_bytes(limits.chunks) if limits.chunks else CHUNK_BYTES
    while target > SMALLEST_CHUNK_BYTES:
        yield target
        yield target * 3 // 4
        target //= 2
    yield target


def _reused(function: Function, classes: AxisClasses) -> frozenset[Node]:
    """Return the results whose chunks should be small enough for malloc to reuse their memory: those that a task
    computes at once, unless they would have too many chunks.
    """
    results = [result for result in tree_nodes(function.results) if result.element_type is not None]
    sizes = {result: result.nbytes for result in results}
    if max(sizes.values(), default=0) <= CHUNK_BYTES:
        return frozenset()
    chunks, choices = propagated(classes, choose_chunk_sizes(classes, None, CHUNK_BYTES))
    made = (x for x in results if chunks.is_cut(x) and choices[x] in (MAP_BLOCKS, WINDOWS))
    return frozenset(x for x in made if CHUNK_BYTES < sizes[x] <= FEW * REUSED_BYTES)


def _refusal(plan: Plan, limits: Limits, process_bytes: int) -> UnsupportedError:
    needs = f"the program needs about {plan.file_peak_bytes >> 20} MiB in chunks and may use {limits.memory}"
    worst = max(plan.phases, key=lambda phase: phase.file_task_bytes, default=None)
    if worst is None or size_in_bytes(limits.memory) <= process_bytes:
        and_more = "" if process_bytes == PROCESS_BYTES else ", with what compiles block functions,"
        holds = f"Python, NumPy and dask{and_more} take {process_bytes >> 20} MiB themselves"
    else:
        holds = f"one task of {worst.name} holds {worst.file_task_bytes >> 20} MiB"
    hint = (worst and worst.note) or "allow more with --memory"
    return UnsupportedError(Diagnostic("XP740", f"{needs}: {holds}", hint=hint))


# -- writes of a loop at computed places


def without_computed_stores(function: Function) -> None:
    """Turn the stores of loops at computed positions into carried values. A block function updates these in place all
    the same.
    """
    for node in topological(roots(function)):
        if node.opcode == "loop":
            loop: Loop = node.parameters["loop"]
            for store in loop.stores:
                if not all(map(is_known_on_host, store.indices)):
                    _carry(function, loop, store)
            loop.stores = [store for store in loop.stores if store.carry.following is None]


def _carry(function: Function, loop: Loop, store: Store) -> None:
    graph, carry = function.graph, store.carry
    function.live = None
    operands = (carry.parameter, store.value, *store.indices)
    with graph.inside(loop.region), graph.coming_as(store.result, graph):
        carry.following = graph.typed(
            "setitem", operands, carry.parameter.shape, carry.parameter.element_type, index=store.index
        )


# -- sizes as users give them


def chunk_length(text: str) -> int | None:
    """Return the chunk length along every axis if the text is a number of elements, else None.

    Raises UsageError (XP741) for 0.
    """
    if re.fullmatch(r"[0-9]{1,18}", text.strip()) is None:
        return None
    if not int(text):
        hint = "at least one element along an axis, or a number of bytes with a unit, such as 32MiB"
        raise UsageError(Diagnostic("XP741", f"{text!r} is not a size", hint=hint))
    return int(text)


def size_in_bytes(text: str) -> int:
    """Return ``2GiB``, ``500 MB`` or ``1048576`` as a number of bytes. Raises UsageError (XP741)."""
    found = re.fullmatch(r"([0-9]{1,18}(?:\.[0-9]{1,18})?)\s*([KMGT]?)(i?)B?", text.strip(), re.IGNORECASE)
    if found is None:
        hint = "a number of bytes with a unit, such as 2GiB or 500MB"
        raise UsageError(Diagnostic("XP741", f"{shorten(text)!r} is not a size", hint=hint))
    number, unit, binary = found[1], found[2].upper(), found[3]
    scale = UNITS[unit] if binary or not unit else 1000 ** list(UNITS).index(unit)
    return int(float(number) * scale)
