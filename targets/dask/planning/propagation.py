"""Merges the axes that must be cut alike, and propagates chunks from the sources of a function to all its arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from ....transpile.array.node import Node
from ....transpile.array.program import Function
from ..strategies import MAP_BLOCKS, STRATEGIES
from .axis_classes import Axis, AxisClasses
from .chunks import Chunks
from .nodes import is_argument, shape_of
from .strategy import ArrayStrategy, Strategy

Choices = Mapping[Node, Strategy]


def classified(function: Function, memory: int | None, planned: Sequence[tuple[int, ...]] | None = None) -> AxisClasses:
    """Return the axis classes of a function, for a program that may use ``memory`` bytes.

    ``planned`` are the shapes of the nodes at the sizes of the plan, if these differ.
    """
    classes = AxisClasses(function, memory, planned)
    for node in classes.nodes:
        for strategy in STRATEGIES:
            for left, right in strategy.same_chunks(node, classes):
                classes.join(left, right)
    return classes


def propagated(classes: AxisClasses, lengths: Mapping[Axis, int]) -> tuple[Chunks, Choices]:
    """Return the chunks of all arrays for given chunk lengths of axis classes, and the strategy of each node."""
    cut = {node: (False,) * len(shape_of(node)) for node in classes.nodes}
    chunks = Chunks(classes, lengths, MappingProxyType(cut))
    choices: dict[Node, Strategy] = {}
    changed = True
    while changed:  # chunks of loop-carried values need a fixed point
        changed = False
        for node in classes.nodes:
            choices[node] = next(one for one in reversed(STRATEGIES) if one.is_feasible(node, chunks))
            for target, axes in choices[node].propagated(node, chunks):
                changed |= cut[target] != axes
                cut[target] = axes
    return replace(chunks, fused=_fused(chunks, choices)), MappingProxyType(choices)


def _fused(chunks: Chunks, choices: Choices) -> frozenset[Node]:
    """Return the nodes that block functions compute together with their users.

    Results of calls are stored, so they are not fused. An operand that a call stores in files is not fused either if it
    is computed from results of calls: recomputing it would keep these results as well.
    """
    stored = {x for node, choice in choices.items() for x in choice.stored(node, chunks) if x.region is node.region}
    fused: set[Node] = set()
    of_calls: set[Node] = set()  # fused nodes that are computed from results of calls
    for node in chunks.classes.nodes:
        if not _is_by_blocks(node, choices):
            continue
        operands = [operand for operand in node.operands if chunks.is_cut(operand) and not is_argument(operand)]
        if any(operand in of_calls or operand not in fused for operand in operands):
            if node in stored:
                continue
            of_calls.add(node)
        fused.add(node)
    return frozenset(fused)


def _is_by_blocks(node: Node, choices: Choices) -> bool:
    if node.opcode == "item" and isinstance(choices[node.operands[0]], ArrayStrategy):
        return False
    return choices[node] is MAP_BLOCKS
