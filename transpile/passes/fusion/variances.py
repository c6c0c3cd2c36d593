"""Variances of lines that kernels split into parts become means, which can be combined from partial results."""

from __future__ import annotations

from math import prod
from typing import Any

from ...array.graph import Graph
from ...array.node import Node
from ...array.program import Function
from ...array.rewriting import rewrite
from ...array.value import FULL, NEW
from ...kernels.lines import Lines, reduced_axes
from ...target import Kernels


def split_variances(function: Function, kernels: Kernels) -> None:
    """Write variances and standard deviations in terms of means where kernels split their lines into parts."""

    def rule(node: Node) -> Node | None:
        return _split(function.graph, node) if _is_cut(node, kernels) else None

    rewrite(function, ("var", "std"), rule)


def _is_cut(node: Node, kernels: Kernels) -> bool:
    if not kernels.reduces(node):
        return False
    lines = Lines.of(node)
    return lines is not None and kernels.parts(lines) > 1


def _split(graph: Graph, node: Node) -> Node:
    (x,), axes = node.operands, reduced_axes(node)
    kept = tuple(size for axis, size in enumerate(x.shape) if axis not in axes)
    mean = graph.typed("mean", (x,), kept, x.type, axes=axes)
    index = tuple(NEW if axis in axes else FULL for axis in range(x.ndim))
    beside = mean if axes == tuple(range(len(axes))) else graph.add("expand", (mean,), index=index)
    difference = graph.add("subtract", (beside, x))  # not shared with other uses of x - mean: that would be stored
    square = graph.add("multiply", (difference, difference))
    parameters: dict[str, Any] = {"axes": axes} | ({"keepdims": True} if node.ndim == x.ndim else {})
    total = graph.typed("sum", (square,), node.shape, node.type, **parameters)
    count = prod(x.shape[axis] for axis in axes) - node.parameters.get("ddof", 0)
    variance = graph.add("divide", (total, graph.literal(max(count, 0), node.type)))
    return variance if node.opcode == "var" else graph.add("sqrt", (variance,))
