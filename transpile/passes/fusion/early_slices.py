"""Parts of what is computed element by element: the operands are cut in place of the result, which is no array then.

The gates of an LSTM are parts of ``x @ w + b``: each is computed of parts of the product and of the bias, once, in the
kernel that needs all of them.
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
    """Move parts that share no element before what only they read, as long as there are such."""
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
    """Tell whether kernels compute a node, and all that is read of it, in kernels too, are parts along one axis."""
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
    """Tell whether indices take ranges along one and the same axis that do not overlap."""
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
    """The same part, computed of parts."""
    (whole,) = node.operands
    index = node.parameters["index"]
    operands = []
    for operand in whole.operands:
        own = index[len(index) - operand.ndim :]
        items = [FULL if size == 1 else item for size, item in zip(operand.shape, own, strict=True)]
        operands.append(getitem(graph, operand, items))
    kind, known = whole.element_type, whole.interval
    with graph.coming_as(whole, graph):  # parts are called what the whole is
        return graph.typed(whole.opcode, tuple(operands), node.shape, kind, interval=known, **whole.parameters)
