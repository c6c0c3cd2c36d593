"""Finds the axes that are cut alike, and follows chunks from the arrays that a function starts from to all others."""

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
    """The classes of the axes of a function, for a program that may use so many bytes of memory.

    ``planned`` are the shapes of its nodes at the sizes that the plan is made for, where these are others.
    """
    classes = AxisClasses(function, memory, planned)
    for node in classes.nodes:
        for strategy in STRATEGIES:
            for left, right in strategy.same_chunks(node, classes):
                classes.join(left, right)
    return classes


def propagated(classes: AxisClasses, lengths: Mapping[Axis, int]) -> tuple[Chunks, Choices]:
    """The chunks of all arrays, where classes of axes have chunks of these lengths, and how each node is done."""
    cut = {node: (False,) * len(shape_of(node)) for node in classes.nodes}
    chunks = Chunks(classes, lengths, MappingProxyType(cut))
    choices: dict[Node, Strategy] = {}
    changed = True
    while changed:  # loops hand chunks round
        changed = False
        for node in classes.nodes:
            choices[node] = next(one for one in reversed(STRATEGIES) if one.is_feasible(node, chunks))
            for target, axes in choices[node].propagated(node, chunks):
                changed |= cut[target] != axes
                cut[target] = axes
    return replace(chunks, fused=_fused(chunks, choices)), MappingProxyType(choices)


def _fused(chunks: Chunks, choices: Choices) -> frozenset[Node]:
    """Return the nodes that block functions compute along with others.

    The result of a call is there already. So is what lies in files for a call, which is read there by all others where
    it is made of such results: to compute it again, these would have to be kept as well.
    """
    stored = {x for node, choice in choices.items() for x in choice.stored(node, chunks) if x.region is node.region}
    fused: set[Node] = set()
    of_calls: set[Node] = set()  # what is fused and made of results of calls
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
