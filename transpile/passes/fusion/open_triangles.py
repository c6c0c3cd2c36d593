"""Triangles of values that kernels compute: selections by row and column, which are fused, instead of library calls."""

from __future__ import annotations

from collections.abc import Callable

from ...array.graph import Graph
from ...array.node import Node
from ...array.program import Function
from ...array.rewriting import rewrite
from ...hlo.element_types import PRED


def open_triangles(function: Function, joins: Callable[[Node], bool]) -> None:
    """Write ``np.tril(x)`` and ``np.triu(x)`` as selections where ``joins`` tells that kernels compute ``x``."""
    rewrite(function, ("tril", "triu"), lambda node: _selected(function.graph, node, joins))


def _selected(graph: Graph, node: Node, joins: Callable[[Node], bool]) -> Node | None:
    (x,), diagonal = node.operands, node.parameters["diagonal"]
    if not joins(x):
        return None
    is_lower = node.opcode == "tril"
    below = diagonal if is_lower else diagonal - 1
    mask = graph.add("tri", (), shape=x.shape[-2:], element_type=PRED, diagonal=below)
    zero = graph.literal(0, x.type)
    return graph.add("select", (mask, x, zero) if is_lower else (mask, zero, x))
