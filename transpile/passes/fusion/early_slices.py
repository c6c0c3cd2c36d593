"""Slices of element-wise results: the operands are sliced instead, so that the result is not stored.

The gates of an LSTM are slices of ``x @ w + b``: each is computed from slices of the product and of the bias, once, in
the kernel that needs all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node
from ...array.program import Function
from ...array.rewriting import rewrite
from ...array.value import FULL, getitem

Fuses = Callable[[Node], bool]


def early_slices(function: Function, fuses: Fuses) -> None:
    """Move disjoint slices before the operation whose result only they read, as long as there are any."""
    graph = function.graph
    while True:
        live = live_nodes(function)
        cut = {node for node in live if _is_cut(node, live, fuses)}
        if not cut:
            return

        def rule(node: Node, cut: set[Node] = cut) -> Node | None:
            return _moved(graph, node) if node.operands[0] in cut else None

        rewrite(function, ("getitem",), rule)


def _is_cut(node: Node, live: LiveNodes, fuses: Fuses) -> bool:
    """Whether a node is computed in kernels and read only as disjoint ranges along one axis, in kernels too."""
    if not node.ndim or not _is_computed(node, fuses) or live.is_root(node):
        return False
    parts = live.users(node)
    if not all(part.opcode == "getitem" and len(part.operands) == 1 for part in parts):
        return False
    if not all(_is_read_in_kernels(part, live, fuses) for part in parts):
        return False
    return _are_apart([part.parameters["index"] for part in parts], node.shape)


def _is_computed(node: Node, fuses: Fuses) -> bool:
    return node.operation.is_elementwise and not node.operation.joins and bool(node.operands) and fuses(node)


def _is_read_in_kernels(part: Node, live: LiveNodes, fuses: Fuses) -> bool:
    users = live.users(part)
    alike = all(user.region is part.region and _is_computed(user, fuses) for user in users)
    return alike and part.region is part.operands[0].region and not live.is_root(part)


def _are_apart(indices: Sequence[Sequence[Any]], shape: Sequence[int]) -> bool:
    """Whether indices select non-overlapping ranges along one and the same axis."""
    ranges = []
    for index in indices:
        cut = [(axis, item) for axis, item in enumerate(index) if item != FULL]
        if len(index) != len(shape) or len(cut) != 1 or not isinstance(cut[0][1], tuple):
            return False
        ((axis, item),) = cut
        start, stop, step = slice(*item).indices(shape[axis])
        ranges.append((axis, start, stop))
        if step != 1:
            return False
    ranges.sort()
    return all(one[0] == other[0] and one[2] <= other[1] for one, other in pairwise(ranges))


def _moved(graph: Graph, node: Node) -> Node:
    """The same slice, computed from slices of the operands."""
    (whole,) = node.operands
    index = node.parameters["index"]
    operands = []
    for operand in whole.operands:
        own = index[len(index) - operand.ndim :]
        items = [FULL if size == 1 else item for size, item in zip(operand.shape, own, strict=True)]
        operands.append(getitem(graph, operand, items))
    kind, known = whole.element_type, whole.interval
    with graph.coming_as(whole, graph):  # slices are named after the whole
        return graph.typed(whole.opcode, tuple(operands), node.shape, kind, interval=known, **whole.parameters)
