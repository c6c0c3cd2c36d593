"""The mean of a symmetric matrix and its transpose is the matrix: JAX takes it before every Cholesky factor and
eigenvalue.

Symmetric are covariances, ``x @ x.T``, and what is computed alike for each pair of rows: ``np.exp(-np.abs(x[:, None] -
x))``. Of numbers above half of the largest, the sum of the two would be infinite.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...array.graph import Graph
from ...array.node import Node
from ...array.value import FULL, NEW, last_two_swapped
from ..rewriting.patterns import Bindings
from ..rewriting.rules import FloatRule, rule_pass

_DEEPEST = 12  # nested operations that are followed


def _matrix(graph: Graph, node: Node, found: Bindings) -> Node | None:
    x: Node = found["x"]
    y: Node = found["y"]
    if x.ndim < 2 or x.shape != y.shape:
        return None
    axes = x.ndim - 2, x.ndim - 1
    for one, other in ((x, y), (y, x)):
        is_pair = other is one or _is_transpose(other, one)
        if is_pair and _sign_of_exchange(one, axes, _DEEPEST) == 1:
            return one
    return None


def _is_transpose(node: Node, other: Node) -> bool:
    is_transpose = node.opcode == "transpose" and node.operands[0] is other
    return is_transpose and tuple(node.parameters["axes"]) == last_two_swapped(node.ndim)


def _sign_of_exchange(node: Node, axes: tuple[int, int], depth: int) -> int:
    """Return what an array is multiplied by if two axes are exchanged: 1 or -1, or 0 if that is unknown."""
    one, other = axes
    if not depth or node.shape[one] != node.shape[other]:
        return 0
    if node.opcode == "eye":
        return int(not node.parameters["diagonal"])
    if node.operation.is_filled:
        return int(not node.operands[0].ndim)
    if node.opcode == "array":
        table = node.parameters["constant"].array
        return int(np.array_equal(table, table.swapaxes(one, other)))
    if node.opcode in ("transpose", "expand"):
        first, second = (_origins(node)[axis] for axis in axes)
        if first is None or second is None:
            return 0
        return _sign_of_exchange(node.operands[0], (first, second), depth - 1)
    if node.operation.is_elementwise:
        return _of_elements(node, axes, depth)
    if node.operation.is_reduction and "axes" in node.parameters:
        return _of_reduced(node, axes, depth)
    if node.opcode == "matmul" and axes == (node.ndim - 2, node.ndim - 1):
        a, b = node.operands
        return int(_is_transpose(b, a) or _is_transpose(a, b))
    return 0


def _of_elements(node: Node, axes: tuple[int, int], depth: int) -> int:
    is_difference = node.opcode == "subtract"
    if (node.operation.is_commutative or is_difference) and _is_exchange(node, axes):
        return -1 if is_difference else 1
    signs = [_of_operand(operand, axes, node.ndim, depth) for operand in node.operands]
    if node.opcode in ("multiply", "divide"):
        is_square = node.operands[0] is node.operands[1]  # other products may be -0 and 0
        return prod(signs) if signs.count(-1) < 2 or is_square else 0
    if node.opcode in ("abs", "square"):
        return abs(signs[0])
    if node.opcode in ("subtract", "negate") and set(signs) == {-1}:
        return -1
    return int(set(signs) == {1})


def _of_operand(operand: Node, axes: tuple[int, int], ndim: int, depth: int) -> int:
    """Return the sign for an operand that is broadcast to ``ndim`` axes."""
    one, other = (axis - ndim + operand.ndim for axis in axes)
    is_same = [axis < 0 or operand.shape[axis] == 1 for axis in (one, other)]
    if any(is_same):
        return int(all(is_same))
    return _sign_of_exchange(operand, (one, other), depth - 1)


def _of_reduced(node: Node, axes: tuple[int, int], depth: int) -> int:
    (x,), gone = node.operands, node.parameters["axes"]
    kept = [axis for axis in range(x.ndim) if node.parameters.get("keepdims") or axis not in gone]
    one, other = (kept[axis] for axis in axes)
    sign = _sign_of_exchange(x, (one, other), depth - 1) if not {one, other} & set(gone) else 0
    return sign if sign == 1 or node.opcode in ("sum", "mean") else 0


def _is_exchange(node: Node, axes: tuple[int, int]) -> bool:
    """Return whether an operand of a node, broadcast to its axes, is the other one with two axes exchanged."""
    (source, of_a), (other, of_b) = (_source(operand, node.ndim) for operand in node.operands)
    one, two = axes
    of_a[one], of_a[two] = of_a[two], of_a[one]
    return bool(source == other) and of_a == of_b


def _source(node: Node, ndim: int) -> tuple[Any, list[int | None]]:
    """Return the array that a view shows, and the axis of it that each of ``ndim`` axes is."""
    axes: list[int | None] = [None] * (ndim - node.ndim)
    if node.opcode in ("transpose", "expand"):
        return (node.operands[0], ()), [*axes, *_origins(node)]
    if node.opcode == "getitem" and len(node.operands) == 1:
        part = tuple(item for item in node.parameters["index"] if item is not NEW)
        return (node.operands[0], part), [*axes, *_origins(node)]
    return (node, ()), [*axes, *range(node.ndim)]


def _origins(node: Node) -> list[int | None]:
    """Return the axis of its operand that each axis of a view is."""
    if node.opcode == "transpose":
        return list(node.parameters["axes"])
    (x,), index = node.operands, list(node.parameters["index"])
    index += [FULL] * (x.ndim - sum(item is not NEW for item in index))
    found: list[int | None] = []
    axis = 0
    for item in index:
        if not isinstance(item, int):
            found.append(None if item is NEW else axis)
        axis += item is not NEW
    return found


RULES = (FloatRule("divide(add(x, y), 2)", _matrix), FloatRule("multiply(add(x, y), 0.5)", _matrix))

symmetries = rule_pass(__name__, "Raise means of symmetric matrices and their transposes to the matrices.", RULES)
