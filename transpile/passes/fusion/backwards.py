"""Cumulative operations from the last element to the first: in kernels a loop that runs backwards, elsewhere flips
around a forward one.
"""

from __future__ import annotations

from ...array.graph import Graph
from ...array.live import live_nodes
from ...array.node import Node
from ...array.operations import RUNNING
from ...array.program import Function
from ...array.rewriting import copied, rewrite
from ...array.value import FULL, getitem
from ...kernels.operations import is_backwards
from ...target import Kernels

_FLIP = (None, None, -1)


def turn_around(function: Function, kernels: Kernels) -> None:
    """Make cumulative operations on flipped arrays run backwards, where only their flips are read and kernels may
    compute them.
    """
    live = live_nodes(function)

    def rule(node: Node) -> Node | None:
        (total, *indices) = node.operands
        if indices or total.opcode not in _NAMES or not kernels.runs(total) or live.count(total) > 1:
            return None
        if node.parameters["index"] != _flipped(total) or total.region is not node.region:
            return None
        graph = function.graph
        (x,) = total.operands
        return copied(graph, total, (getitem(graph, x, _flipped(total)),), total.interval, _parameters(total, True))

    rewrite(function, ("getitem",), rule)


def turn_back(function: Function) -> None:
    """Make cumulative operations that are in no kernel run forwards again."""

    def rule(node: Node) -> Node | None:
        return forwards(function.graph, node, node.operands[0]) if is_backwards(node) else None

    rewrite(function, _NAMES, rule)


def forwards(graph: Graph, node: Node, x: Node) -> Node:
    """A backward cumulative operation on ``x``, written with flips."""
    flip = _flipped(node)
    total = copied(graph, node, (getitem(graph, x, flip),), node.interval, _parameters(node, False))
    return getitem(graph, total, flip)


_NAMES = frozenset(RUNNING.values())


def _flipped(node: Node) -> tuple[object, ...]:
    return tuple(_FLIP if axis == node.parameters["axis"] else FULL for axis in range(node.ndim))


def _parameters(node: Node, backwards: bool) -> dict[str, object]:
    own = {name: value for name, value in node.parameters.items() if name != "backwards"}
    return own | ({"backwards": True} if backwards else {})
