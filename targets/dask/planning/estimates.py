"""Estimates the memory of a program in chunks before anything is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil, log, prod

from ....transpile.array.node import Node, Region
from ....transpile.array.program import Function
from ....transpile.target import Phase, Plan
from ..strategies import HOST_LOOP
from .block_phases import BlockPhase
from .nodes import is_argument
from .phases import Schedule, node_of, nodes_of
from .strategy import Cost

PROCESS_BYTES = 100 << 20  # Python, NumPy and dask
TASK_BYTES = 4 << 10  # of a task in a graph, with dask's bookkeeping
FEW_TASKS = 1 << 12  # whose graph is counted in PROCESS_BYTES
THREADS = 8  # the default of a plan
SPLIT = 4  # parts of a sum that dask adds in one task


def estimated(function: Function, schedule: Schedule, process_bytes: int, threads: int = THREADS) -> Plan:
    """Return the plan of ``main``: its phases, and its peak memory in ``threads`` threads.

    The peak is the sum of the process itself (``process_bytes``), arrays that are not cut, the graph of many tasks, and
    for each thread the largest task and a block that waits for later phases or for the caller.
    """
    repeats = _repeats(schedule)
    costs: list[Cost] = []
    rows: list[Phase] = []
    for phase in sorted(schedule.phases, key=lambda phase: (schedule.level(phase), not isinstance(phase, BlockPhase))):
        cost = phase.cost if isinstance(phase, BlockPhase) else phase.strategy.cost(phase, schedule.chunks)
        if cost is not None:
            times = prod(repeats.get(outer, 1) for outer in node_of(phase).region.path())
            costs.append(cost)
            rows.append(_row(function, cost, nodes_of(phase), schedule.level(phase), times))
    arguments = [x for x in schedule.chunks.classes.nodes if is_argument(x) and x.element_type is not None]
    whole = sum(x.nbytes for x in arguments if not schedule.chunks.is_cut(x))
    busy = max((min(threads, row.tasks) for row in rows), default=1)
    parts = max((cost.part_bytes * _waiting(cost.tasks, busy) for cost in costs), default=0)
    handed_on = max((cost.handed_on_bytes for cost in costs), default=0)
    graph = TASK_BYTES * max(0, sum(row.tasks for row in rows) - FEW_TASKS)
    fixed = process_bytes + graph + whole + parts + busy * handed_on
    passes = Counter(x for cost in costs for x in cost.passes if is_argument(x))
    return Plan(
        tuple(rows),
        passes=max(passes.values(), default=1),
        threads=threads,
        peak_bytes=fixed + _in_threads(threads, rows, "task_bytes"),
        file_peak_bytes=fixed + _in_threads(threads, rows, "file_task_bytes"),
        chunks=tuple(
            (_name(function, x), schedule.chunks.lengths_of(x)) for x in arguments if schedule.chunks.is_cut(x)
        ),
    )


def _row(function: Function, cost: Cost, nodes: tuple[Node, ...], level: int, times: int) -> Phase:
    return Phase(
        name=cost.name,
        level=level,
        tasks=cost.tasks * times,
        task_bytes=cost.task_bytes,
        file_task_bytes=cost.file_task_bytes,
        reads=tuple(_name(function, source) for source in cost.sources),
        note=cost.note,
        in_turn=cost.in_turn,
        arrays=nodes,
        sources=tuple(None if is_argument(x) else x for x in cost.sources),
    )


def _waiting(tasks: int, busy: int) -> int:
    """Return how many parts of a sum wait at the same time: the next part of each thread, and in each level of the tree
    all but one of the parts that are added together.
    """
    return min(tasks, busy + (SPLIT - 1) * ceil(log(max(1, tasks), SPLIT)))


def _in_threads(threads: int, phases: Sequence[Phase], size: str) -> int:
    """Return the bytes of the tasks that run at the same time."""
    at_once = [phase for phase in phases if not phase.in_turn]
    busy = max((min(threads, phase.tasks) for phase in at_once), default=0)
    largest = max((getattr(phase, size) for phase in at_once), default=0)
    alone = [getattr(phase, size) for phase in phases if phase.in_turn]
    return sum(sorted([*[largest] * busy, *alone])[-threads:])


def _repeats(schedule: Schedule) -> dict[Region, int]:
    """Return the trip counts of ``main``'s loops that have a counter, by their bodies."""
    loops = (node.parameters["loop"] for node in _loops(schedule))
    return {loop.region: loop.trip_count for loop in loops if loop.counter is not None}


def _loops(schedule: Schedule) -> Iterator[Node]:
    return (node for node, choice in schedule.choices.items() if choice is HOST_LOOP and node.opcode == "loop")


def _name(function: Function, node: Node) -> str:
    """Return the name of an argument of ``main`` in the program, or the operation of any other node."""
    path = ""
    while node.opcode == "item" and is_argument(node):
        path = f".{node.parameters['index']}{path}"
        (node,) = node.operands
    if "argument" in node.parameters:
        return f"{function.computation.parameters[node.parameters['argument']].name}{path}"
    return node.opcode
