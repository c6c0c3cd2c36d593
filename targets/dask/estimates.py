"""How much memory a program in chunks takes, before anything is read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import ceil, log, prod

from ...templates.prelude.tiles import TILE_BYTES, WINDOW_BYTES
from ...transpile.array.node import Node, Region
from ...transpile.array.program import Loop, Program
from ...transpile.array.traversal import body_and_captured
from ..base import Phase, Plan
from .cuts import Axis, Cuts
from .groups import Group, Tiles, block_bytes, in_one_chunk, tiles
from .links import contracted
from .nodes import is_argument, name_of, shape_of
from .phases import Phases
from .tracing import Key, Source, Trace
from .windows import layout_of, summed_letters, windows_of

PROCESS_BYTES = 100 << 20  # Python, NumPy and dask
THREADS = 4  # that a plan is made for
WINDOW_COPIES = 5  # of its argument and its result in a convolution
SPLIT = 4  # parts of a sum that dask adds up at a time
VIEWS = frozenset("expand getitem transpose item retype parameter literal integer reshape broadcast_to".split())


def estimated(program: Program, cuts: Cuts) -> Plan:
    """The phases of a program and the bytes it holds at most: what is whole, and for each thread the largest task
    and a block that waits for later phases or for who calls ``main``."""
    analysed = Phases(program.entry, cuts)
    levels, groups = analysed.levels, analysed.groups()
    repeated = {loop.region: len(range(loop.start, loop.stop, loop.step)) for loop in _counted_loops(cuts)}
    phases = []
    reads: dict[Node, int] = {}
    for group in groups:
        trace = analysed.traced(group)
        sources = list(trace.sources.values())
        for source in sources:
            if is_argument(source.node) and cuts.is_cut(source.node):
                reads[source.node] = reads.get(source.node, 0) + 1
        first = group.roots[0].node
        phases.append(
            Phase(
                name=name_of(first),
                level=levels[first],
                tasks=_tasks(group, cuts) * _times(group.region, repeated),
                task_bytes=_task_bytes(trace, group, cuts),
                mapped_task_bytes=_task_bytes(trace, group, cuts, are_mapped=True),
                reads=tuple(_name(program, source.node) for source in sources if source.node.ndim),
                note=in_one_chunk(trace, cuts),
            )
        )
    for node, level in levels.items():
        if cuts.forms[node] == "steps":
            trace = analysed.before_steps(node)
            for given in (source.node for source in trace.sources.values()):
                if is_argument(given) and cuts.is_cut(given):
                    reads[given] = reads.get(given, 0) + 1
            phases.append(_of_steps(program, cuts, trace, node, level, _times(node.region, repeated)))
        if _is_phase(node, cuts):
            for operand in filter(is_argument, node.operands):
                reads[operand] = reads.get(operand, 0) + 1
            phases.append(_of_arrays(program, cuts, node, level))
    arrays = [_whole_bytes(node, cuts) for node in levels if _is_phase(node, cuts) and not node.results]
    phases.sort(key=lambda phase: phase.level)
    whole = [node for node in cuts.classes.nodes if is_argument(node) and node.element_type and not cuts.is_cut(node)]
    busy = max((min(THREADS, phase.tasks) for phase in phases), default=1)
    parts = max((_result_bytes(group, cuts) * _waiting(_tasks(group, cuts), busy) for group in groups), default=0)
    handed_on = max([_handed_on(group, cuts) for group in groups] + arrays, default=0)
    fixed = PROCESS_BYTES + parts + busy * handed_on
    fixed += sum(prod(node.shape) * node.type.dtype.itemsize for node in whole)
    chunks = tuple(
        (_name(program, node), cuts.chunks(node))
        for node in cuts.classes.nodes
        if is_argument(node) and node.element_type is not None and cuts.is_cut(node)
    )
    return Plan(
        tuple(phases),
        passes=max(reads.values(), default=1),
        peak_bytes=fixed + _in_threads(phases, "task_bytes"),
        mapped_peak_bytes=fixed + _in_threads(phases, "mapped_task_bytes"),
        chunks=chunks,
    )


def _waiting(tasks: int, busy: int) -> int:
    """How many parts of a sum wait for each other: what comes next for each thread, and in each level of a tree all
    but one of those that are added up."""
    return min(tasks, busy + (SPLIT - 1) * ceil(log(max(1, tasks), SPLIT)))


def _in_threads(phases: Sequence[Phase], size: str) -> int:
    """What the tasks hold that run at the same time."""
    at_once = [phase for phase in phases if not phase.in_turn]
    busy = max((min(THREADS, phase.tasks) for phase in at_once), default=0)
    largest = max((getattr(phase, size) for phase in at_once), default=0)
    alone = [getattr(phase, size) for phase in phases if phase.in_turn]
    return sum(sorted([*[largest] * busy, *alone])[-THREADS:])


def _of_steps(program: Program, cuts: Cuts, trace: Trace, node: Node, level: int, times: int) -> Phase:
    """A loop, done so many times, of which each task does the steps of one chunk.

    A chunk of what it writes waits while the next is made; of what goes on there are the old and the new.
    """
    steps = cuts.classes.steps[node]
    made = [carry.parameter for carry in steps.loop.carries]
    made += made + [part for part in body_and_captured(node)[0] if part.opcode not in VIEWS and not part.results]
    size = sum(_whole_bytes(part, cuts) for part in made) + _alive(trace, cuts)
    part, axis = next((part, axis) for part, axis in steps.axes if cuts.flags[part][axis])
    return Phase(
        name="steps",
        level=level,
        tasks=ceil(steps.length / cuts.length(part, axis)) * times,
        task_bytes=size + _given_bytes(trace, cuts),
        mapped_task_bytes=size + _given_bytes(trace, cuts, are_mapped=True),
        reads=tuple(_name(program, source.node) for source in trace.sources.values() if source.node.ndim),
        note=in_one_chunk(trace, cuts),
        in_turn=bool(steps.carried),
    )


def _counted_loops(cuts: Cuts) -> Iterator[Loop]:
    """Those of ``main``."""
    for node, form in cuts.forms.items():
        if node.opcode == "loop" and form == "driver" and node.parameters["loop"].counter is not None:
            yield node.parameters["loop"]


def _times(region: Region, repeated: Mapping[Region, int]) -> int:
    """How often what stands in a body of ``main`` is done."""
    return prod(repeated.get(outer, 1) for outer in region.path())


def _handed_on(group: Group, cuts: Cuts) -> int:
    """The bytes of what one task gives to later phases or to who calls ``main``."""
    blocks = (root.node for root in group.roots if cuts.forms[root.node] in ("block", "product"))
    return sum(_whole_bytes(node, cuts) for node in blocks)


def _is_phase(node: Node, cuts: Cuts) -> bool:
    return cuts.forms[node] in ("windows", "lazy") or _is_cut_diagonal(node, cuts)


def _is_cut_diagonal(node: Node, cuts: Cuts) -> bool:
    """Of what dask.array does itself, what takes much more than it gives."""
    return node.opcode == "diagonal" and cuts.forms[node] == "native"


def _of_arrays(program: Program, cuts: Cuts, node: Node, level: int) -> Phase:
    """Diagonals: a chunk of the array. Windows: a block of the result and what they are of, a few rows at a time. Else
    what the form says."""
    x, form, given = node.operands[0], cuts.form_in_chunks(node), node.operands
    tasks = _count(node, cuts)
    if _is_cut_diagonal(node, cuts):
        size = _whole_bytes(node, cuts)
        tasks *= max(ceil(x.shape[axis] / cuts.length(x, axis)) for axis in (x.ndim - 2, x.ndim - 1))
    elif cuts.forms[node] == "windows" or form is None:
        given, size = tuple(filter(cuts.is_cut, given)), _whole_bytes(node, cuts) + _row_bytes(node, cuts)
        tasks *= _parts(node, cuts)
    else:
        others = given * (form.holds - 1) if node.results else (node,) * form.holds
        others += given * form.of_operands
        size = sum(_whole_bytes(block, cuts) for block in others) + form.element_bytes * prod(cuts.block_shape(node))
        each = node.operands[form.each]
        if form.each or not (form.reads and is_argument(each)):
            alike = {cuts.classes.of(node, axis) for axis in range(len(shape_of(node)))}
            places = form.may_be_cut(node).items()
            alike |= {cuts.classes.of(each, k) for (n, k), place in places if n == form.each and place is not None}
            tasks *= _count(each, cuts, alike)
        tasks *= form.tasks
    mapped = size + sum(_whole_bytes(block, cuts) for block in given if not _is_mapped(block, cuts))
    size += sum(_whole_bytes(block, cuts) for block in given)
    return Phase(name_of(node), level, tasks, size, mapped, tuple(_name(program, operand) for operand in node.operands))


def _is_mapped(node: Node, cuts: Cuts) -> bool:
    """An argument whose chunks need no memory where it is a file."""
    return is_argument(node) and cuts.is_cut(node)


def _count(node: Node, cuts: Cuts, without: Collection[Axis] = ()) -> int:
    """Of the chunks of an array along the axes of all but some classes."""
    axes = enumerate(shape_of(node))
    return prod(ceil(n / max(1, cuts.length(node, k))) for k, n in axes if cuts.classes.of(node, k) not in without)


def _parts(node: Node, cuts: Cuts) -> int:
    """The chunks of a kernel along which parts of a convolution are added up."""
    if len(node.operands) < 2:
        return 1
    kernel = node.operands[1]
    summed = zip(layout_of(node).partition(",")[2], range(kernel.ndim), strict=False)
    letters = summed_letters(node, cuts.flags[kernel])
    return prod(ceil(kernel.shape[axis] / cuts.length(kernel, axis)) for letter, axis in summed if letter in letters)


def _row_bytes(node: Node, cuts: Cuts) -> int:
    """What is held of windows for the rows that are computed at a time, as many as the prelude's."""
    x, windows = node.operands[0], windows_of(node)
    summed = {left for left, _ in contracted(node)}
    links = enumerate(cuts.classes.links[node][0])
    box = [cuts.length(x, k) if place is not None or k in summed else x.shape[k] for k, place in links]
    for one in windows:
        taps = cuts.length(node.operands[1], one.kernel) if one.is_summed and one.kernel is not None else one.size
        box[one.axis] = min(x.shape[one.axis], one.reach(cuts.length(node, one.result), taps))
    rows = min(windows, key=lambda one: one.result)
    row_bytes = max(1, prod(box) // box[rows.axis] * x.type.dtype.itemsize * rows.stride)
    count = min(cuts.length(node, rows.result), max(8 * rows.size, WINDOW_BYTES // row_bytes))
    height = min(box[rows.axis], rows.reach(count, rows.size)) if rows.is_summed else count * rows.stride
    return WINDOW_COPIES * height * row_bytes // rows.stride


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
    return prod(ceil(shape_of(node)[axis] / cuts.length(node, axis)) for (node, axis), _ in letters)


def _task_bytes(trace: Trace, group: Group, cuts: Cuts, *, are_mapped: bool = False) -> int:
    """The bytes alive at once in one task: blocks given, results, and what lies between, of a few rows at a time.

    Where arguments are mapped, their blocks count only if they are joined to larger ones.
    """
    by_rows, share = tiles(group, trace, cuts), 1.0
    results = _result_bytes(group, cuts)
    if cuts.forms[group.roots[0].node] == "product":
        results += 2 * _whole_bytes(group.roots[0].node, cuts)  # the sum and what is added
    if by_rows is not None:
        places = trace.sources if by_rows.rows is None else trace.order
        largest = max(block_bytes(*place, cuts) for place in places if by_rows.letter.of in place[1])
        share = min(1.0, max(TILE_BYTES, results) / max(1, largest))
        results += sum(_whole_bytes(root.node, cuts) for root in group.roots if cuts.forms[root.node] == "block")
    return _given_bytes(trace, cuts, are_mapped=are_mapped) + _alive(trace, cuts, by_rows, share) + results


def _given_bytes(trace: Trace, cuts: Cuts, *, are_mapped: bool = False) -> int:
    """Of the blocks that a task is given."""
    return sum(
        block_bytes(*place, cuts)
        for place, source in trace.sources.items()
        if not (are_mapped and _is_mapped(source.node, cuts) and not _is_joined(source, cuts))
    )


def _alive(trace: Trace, cuts: Cuts, by_rows: Tiles | None = None, share: float = 1.0) -> int:
    """What a task computes before its result, at most at once; that share of what it does by rows."""
    last: dict[tuple[Node, Key], int] = {}
    for at, place in enumerate(trace.order):
        for operand in trace.operands[place]:
            last[operand] = at
    alive = peak = 0
    dying: dict[int, int] = {}
    for at, place in enumerate(trace.order):
        size = 0 if place[0].opcode in VIEWS else block_bytes(*place, cuts)
        if by_rows is not None and by_rows.letter.of in place[1]:
            size = int(size * share)
        alive += size
        peak = max(peak, alive)
        end = last.get(place, len(trace.order))
        dying[end] = dying.get(end, 0) + size
        alive -= dying.pop(at, 0)
    return peak


def _is_joined(source: Source, cuts: Cuts) -> bool:
    """Whether a task is given several chunks of an array as one."""
    flags = cuts.flags[source.node]
    return any(flag and letter.of is None for flag, letter in zip(flags, source.letters, strict=True))


def _result_bytes(group: Group, cuts: Cuts) -> int:
    """Of the parts of sums, which wait for each other; other results are the user's to keep or to store."""
    parts = (root.node for root in group.roots if cuts.forms[root.node] not in ("block", "product"))
    return sum(_whole_bytes(node, cuts) for node in parts)


def _whole_bytes(node: Node, cuts: Cuts) -> int:
    return prod(cuts.block_shape(node)) * node.type.dtype.itemsize if node.element_type is not None else 0
