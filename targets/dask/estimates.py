"""How much memory a program in chunks takes, before anything is read."""

from __future__ import annotations

from math import ceil, prod

from ...transpile.array.node import Node
from ...transpile.array.program import Program
from ..base import Phase, Plan
from .cuts import Cuts, is_argument, shape_of
from .groups import Group, tiles
from .phases import Arrangement
from .tracing import Key, Source, Trace

PROCESS_BYTES = 100 << 20  # Python, NumPy and dask
THREADS = 4  # that a plan is made for
TILE_BYTES = 1 << 18  # as in the prelude
PARTS = 8  # of a sum, waiting for each other
VIEWS = frozenset("expand getitem transpose item retype parameter literal integer reshape broadcast_to".split())


def estimated(program: Program, cuts: Cuts) -> Plan:
    """The phases of a program and the bytes it holds at most: what is whole, and in each thread the largest task."""
    arrangement = Arrangement(program, cuts)
    levels = arrangement.levels()
    phases = []
    reads: dict[Node, int] = {}
    for group in arrangement.groups(levels):
        trace = arrangement.traced(group)
        sources = list(trace.sources.values())
        for source in sources:
            if is_argument(source.node) and cuts.is_cut(source.node):
                reads[source.node] = reads.get(source.node, 0) + 1
        first = group.roots[0].node
        phases.append(
            Phase(
                name=first.opcode if first.opcode != "prelude" else str(first.parameters["function"]),
                level=levels[first],
                tasks=_tasks(group, cuts),
                task_bytes=_task_bytes(trace, group, cuts),
                reads=tuple(_name(program, source.node) for source in sources if source.node.ndim),
                note=_note(sources, cuts),
            )
        )
    for node, level in levels.items():
        if cuts.forms[node] in ("product", "windows") or (cuts.forms[node] == "native" and node.opcode == "matmul"):
            for operand in filter(is_argument, node.operands):
                reads[operand] = reads.get(operand, 0) + 1
            phases.append(_read_by_tasks(program, cuts, node, level))
    phases.sort(key=lambda phase: phase.level)
    whole = [node for node in cuts.classes.nodes if is_argument(node) and node.element_type and not cuts.is_cut(node)]
    held = sum(prod(node.shape) * node.type.dtype.itemsize for node in whole)
    largest = max((phase.task_bytes for phase in phases), default=0)
    parts = max((_result_bytes(group, cuts) for group in arrangement.groups(levels)), default=0)
    busy = max((min(THREADS, phase.tasks) for phase in phases), default=1)
    chunks = tuple(
        (_name(program, node), cuts.chunks(node))
        for node in cuts.classes.nodes
        if is_argument(node) and node.element_type is not None and cuts.is_cut(node)
    )
    peak = PROCESS_BYTES + held + busy * largest + min(PARTS, 2 * busy) * parts
    return Plan(tuple(phases), max(reads.values(), default=1), peak, chunks)


def _read_by_tasks(program: Program, cuts: Cuts, node: Node, level: int) -> Phase:
    """A product: two blocks of the result, a block of each operand. A convolution: two of the result, one window."""
    blocks = (
        [*node.operands, node, node] if node.opcode == "matmul" else [node.operands[0], node.operands[0], node, node]
    )
    size = sum(prod(cuts.block_shape(block)) * block.type.dtype.itemsize for block in blocks)
    tasks = prod(ceil(n / cuts.length(node, axis)) for axis, n in enumerate(node.shape))
    name = "matmul" if node.opcode == "matmul" else "convolution"
    return Phase(name, level, tasks, size, tuple(_name(program, operand) for operand in node.operands))


def _name(program: Program, node: Node) -> str:
    """What main's argument is called in the program; the operation of anything else."""
    path = ""
    while node.opcode == "item" and is_argument(node):
        path = f".{node.parameters['index']}{path}"
        (node,) = node.operands
    if "argument" in node.parameters:
        return f"{program.entry.computation.parameters[node.parameters['argument']].name}{path}"
    return node.opcode


def _tasks(group: Group, cuts: Cuts) -> int:
    letters = {letter.of for root in group.roots for letter in root.letters if letter.of is not None}
    return prod(ceil(shape_of(of[0][0])[of[0][1]] / cuts.lengths[of[0]]) for of in letters)


def _block_bytes(node: Node, key: Key, cuts: Cuts) -> int:
    if node.element_type is None:
        return 0
    sizes = [
        min(size, cuts.lengths[of[0]]) if of is not None else size for size, of in zip(node.shape, key, strict=False)
    ]
    return int(prod(sizes)) * node.element_type.dtype.itemsize


def _task_bytes(trace: Trace, group: Group, cuts: Cuts) -> int:
    """The bytes alive at once in one task: blocks given, results, and what lies between, of a few rows at a time."""
    given = {place: _block_bytes(source.node, place[1], cuts) for place, source in trace.sources.items()}
    by_rows = tiles(group, trace, cuts)
    share = 1.0
    results = _result_bytes(group, cuts)
    if by_rows is not None:
        largest = max(size for (_, key), size in given.items() if by_rows.letter.of in key)
        share = min(1.0, TILE_BYTES / max(1, largest))
        results += sum(_whole_bytes(root.node, cuts) for root in group.roots if cuts.forms[root.node] == "block")
    last: dict[tuple[Node, Key], int] = {}
    for at, place in enumerate(trace.order):
        for operand in trace.operands[place]:
            last[operand] = at
    alive = peak = 0
    dying: dict[int, int] = {}
    for at, place in enumerate(trace.order):
        size = 0 if place[0].opcode in VIEWS else _block_bytes(*place, cuts)
        if by_rows is not None and by_rows.letter.of in place[1]:
            size = int(size * share)
        alive += size
        peak = max(peak, alive)
        end = last.get(place, len(trace.order))
        dying[end] = dying.get(end, 0) + size
        alive -= dying.pop(at, 0)
    return sum(given.values()) + peak + results


def _result_bytes(group: Group, cuts: Cuts) -> int:
    """Of the parts of sums, which wait for each other; other results are the user's to keep or to store."""
    return sum(_whole_bytes(root.node, cuts) for root in group.roots if cuts.forms[root.node] != "block")


def _whole_bytes(node: Node, cuts: Cuts) -> int:
    return prod(cuts.block_shape(node)) * node.type.dtype.itemsize


def _note(sources: list[Source], cuts: Cuts) -> str:
    """The arrays that are needed whole along an axis that is cut elsewhere."""
    whole = [
        source.node
        for source in sources
        if any(flag and letter.of is None for flag, letter in zip(cuts.flags[source.node], source.letters, strict=True))
    ]
    names = dict.fromkeys("x".join(map(str, node.shape)) for node in whole)
    return f"whole in one task: {', '.join(names)}" if names else ""
