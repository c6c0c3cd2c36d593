"""The entry point of the planner: from a program to a program in chunks within a memory limit."""

from __future__ import annotations

from dataclasses import replace

from ....transpile.array.node import Node
from ....transpile.array.program import Program
from ....transpile.target import Limits, Plan
from ..writing.block_writing import write_blocks
from ..writing.main_writer import MainWriter
from .block_phases import BlockPhase
from .chunk_layout import ChunkLayout
from .chunk_program import ChunkProgram, chunk_program
from .estimates import PROCESS_BYTES


def arrange(
    program: Program, limits: Limits, layout: ChunkLayout | None = None, compiler_bytes: int = 0
) -> tuple[Program, Plan]:
    """Return ``main`` over chunks with its block functions, and the plan; in the chunks of a ``layout`` if it is given.

    The compiler of block functions takes ``compiler_bytes``. Raises UnsupportedError (XP740) if no chunks are small
    enough for ``limits.memory``, UsageError (XP741) for an invalid size, UnsupportedError (XP424) if the program is not
    that of the layout.
    """
    found = chunk_program(program, limits, layout, PROCESS_BYTES + compiler_bytes)
    written, made = _written(found)
    phases = tuple(
        replace(
            phase,
            arrays=tuple(made.get(x, x) for x in phase.arrays),
            sources=tuple(x and made.get(x, x) for x in phase.sources),
        )
        for phase in found.plan.phases
    )
    return written, replace(found.plan, layout=found.layout, phases=phases)


def _written(found: ChunkProgram) -> tuple[Program, dict[Node, Node]]:
    """Return the program with ``main`` rewritten and its block functions, and the replacements of nodes."""
    program, schedule, chunks = found.program, found.schedule, found.chunks
    main = MainWriter(program.entry, chunks, schedule.kept, schedule.in_pieces)
    for phase in schedule.phases:
        if isinstance(phase, BlockPhase):
            write_blocks(phase, main)
        else:
            phase.strategy.write(phase, main)
    main.finish()
    for node in chunks.classes.nodes:
        if node.opcode in ("parameter", "item") and chunks.is_cut(node):
            main.function.chunks[node] = chunks.lengths_of(node)
    main.function.threads = found.plan.threads
    functions = [*program.functions[:-1], *main.block_functions.values(), main.function]
    return Program(program.module, functions, edges=program.edges), main.made
