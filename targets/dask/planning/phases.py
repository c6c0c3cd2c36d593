"""The phases of a program for larger-than-memory arrays: the arrays that ``main`` handles, and their block functions.

Arrays that are ready at the same time and cut alike share a block function, so that their sources are read once. Later
phases recompute from ``main``'s arguments, which are read again rather than held.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ....transpile.array.node import Node
from ....transpile.array.program import Function, tree_nodes
from ....transpile.array.scalars import is_known_on_host
from ....transpile.dataclass import dataclass
from ..strategies import DASK_BUILTIN, SCAN_IN_CHUNKS
from ..writing.tracing import Trace, key_of
from .block_phases import BlockPhase
from .chunks import Chunks
from .propagation import Choices
from .strategy import ArrayPhase, ArrayStrategy, BlockStrategy

Phase = BlockPhase | ArrayPhase


@dataclass(frozen=True, slots=True)
class Schedule:
    """The phases of ``main`` in execution order.

    ``choices`` has the strategy of each node, ``levels`` the number of phases that each array of ``main`` has to wait
    for. ``kept`` are the arrays that several levels use. ``in_pieces`` are those of which all users take a few rows at
    a time.
    """

    chunks: Chunks
    choices: Choices
    levels: Mapping[Node, int]
    phases: tuple[Phase, ...]
    kept: frozenset[Node]
    in_pieces: frozenset[Node]

    def level(self, phase: Phase) -> int:
        """Return the number of phases in a row that a phase has to wait for."""
        return self.levels[node_of(phase)]


def node_of(phase: Phase) -> Node:
    """Return the array that a phase computes, or the first of several."""
    return phase.first if isinstance(phase, BlockPhase) else phase.node


def nodes_of(phase: Phase) -> tuple[Node, ...]:
    """Return all arrays that a phase computes."""
    return tuple(root.node for root in phase.roots) if isinstance(phase, BlockPhase) else (phase.node,)


def scheduled(function: Function, chunks: Chunks, choices: Choices) -> Schedule:
    """Return the phases of an entry function, for given chunks and strategies."""
    needs, arrays = _needs(function, chunks, choices)
    levels: dict[Node, int] = {}
    used: dict[Node, set[int]] = {}
    for node in chunks.classes.nodes:
        if node in needs:
            levels[node] = max((levels[other] + 1 for other in needs[node]), default=0)
            for other in needs[node]:
                used.setdefault(other, set()).add(levels[node])
    kept = frozenset(node for node, at in used.items() if len(at) > 1)
    position = {node: at for at, node in enumerate(chunks.classes.nodes)}
    phases: list[Phase] = [*_block_phases(chunks, choices, levels), *arrays]
    phases.sort(key=lambda phase: (levels[node_of(phase)], position[node_of(phase)]))
    return Schedule(chunks, choices, MappingProxyType(levels), tuple(phases), kept, _in_pieces(function, phases))


def _in_pieces(function: Function, phases: Iterable[Phase]) -> frozenset[Node]:
    """Return the arrays whose only users are block functions that take a few rows at a time."""
    takes: set[Node] = set()
    others = {*tree_nodes(function.results), function.effect}
    for phase in phases:
        if isinstance(phase, BlockPhase):
            sources = {source.node for source in phase.trace.sources.values()}
            if phase.takes_pieces:
                takes |= sources
            else:
                others |= sources
        else:
            others |= {*phase.strategy.needs(phase)}
    return frozenset(takes - others)


def _needs(function: Function, chunks: Chunks, choices: Choices) -> tuple[dict[Node, list[Node]], list[ArrayPhase]]:
    """Return the arrays of ``main`` with the arrays that each is made from, and the phases of those that ``main``
    handles.
    """
    needs: dict[Node, list[Node]] = {}
    arrays: list[ArrayPhase] = []
    waiting = [*tree_nodes(function.results), *([function.effect] if function.effect is not None else [])]
    while waiting:
        node = waiting.pop()
        if node in needs:
            continue
        strategy = _block_strategy(node, choices)
        if strategy is not None:
            trace = Trace(chunks, node.region)
            strategy.follow(strategy.root(node, trace), trace)
            needs[node] = [source.node for source in trace.sources.values()]
        else:
            phase = _array_phase(node, chunks, choices)
            needs[node] = phase.strategy.needs(phase)
            if node.opcode != "item" or choices[node.operands[0]] is not SCAN_IN_CHUNKS:
                arrays.append(phase)  # the items of a scan are written with it
        waiting += needs[node]
    return needs, arrays


def _array_phase(node: Node, chunks: Chunks, choices: Choices) -> ArrayPhase:
    choice = choices[node]
    strategy = choice if isinstance(choice, ArrayStrategy) else DASK_BUILTIN
    return ArrayPhase(node, strategy, strategy.trace(node, chunks))


def _block_strategy(node: Node, choices: Choices) -> BlockStrategy | None:
    """Return the strategy of a node that a block function computes; None if ``main`` has or makes the node itself."""
    choice = choices[node]
    if not isinstance(choice, BlockStrategy):
        return None
    if node.opcode == "item":
        (source,) = node.operands
        is_there = source.opcode in ("parameter", "item") or isinstance(choices[source], ArrayStrategy)
        return None if is_there else choice
    is_number = node.is_python_int or is_known_on_host(node)
    return None if is_number or node.operation.is_source or node.opcode in ("copy", "integer") else choice


def _block_phases(chunks: Chunks, choices: Choices, levels: Mapping[Node, int]) -> list[BlockPhase]:
    """Return the block phases: nodes that are ready at the same time and have the same chunks are computed together."""
    groups: dict[object, list[tuple[Node, BlockStrategy]]] = {}
    for node in chunks.classes.nodes:
        strategy = _block_strategy(node, choices) if node in levels else None
        if strategy is None:
            continue
        cut = frozenset(filter(None, key_of(strategy.root(node, Trace(chunks, node.region)).index)))
        key = node if strategy.accumulates else (levels[node], node.region, cut)
        groups.setdefault(key, []).append((node, strategy))
    return [_block_phase(members, chunks) for members in groups.values()]


def _block_phase(members: list[tuple[Node, BlockStrategy]], chunks: Chunks) -> BlockPhase:
    region = members[0][0].region
    trace = Trace(chunks, region)
    roots = tuple(strategy.root(node, trace) for node, strategy in members)
    for root in roots:
        root.strategy.follow(root, trace)
    return BlockPhase(region, roots, trace)
