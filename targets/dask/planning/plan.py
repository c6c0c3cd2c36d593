"""From a program to one that runs in chunks, within a limit of memory."""

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
    """``main`` over chunks with its block functions, and how that will run; in the chunks of a ``layout`` where there
    is one. What compiles block functions takes ``compiler_bytes``.

    Raises UnsupportedError (XP740) where no chunks are small enough for ``limits.memory``, UsageError (XP741) for a
    size that is none, UnsupportedError (XP424) where the program is not that of the layout.
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
    """The program with ``main`` rewritten, and its block functions; and what it has for nodes that it replaces."""
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
