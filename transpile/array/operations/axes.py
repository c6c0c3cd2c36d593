"""Axis maps: which axis of the result each axis of an operand becomes.

Two axes correspond if a part of the result along one needs only the same part of the operand along the other. An
operand axis maps to None if every part of the result needs the whole axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..operation import AxisMap


def aligned(shape: Sequence[int], result: Sequence[int]) -> AxisMap:
    """Return the axis map of a broadcast operand: axes are aligned at the last one, and a broadcast axis maps to
    None.
    """
    offset = len(result) - len(shape)
    return tuple([offset + axis if size == result[offset + axis] else None for axis, size in enumerate(shape)])


def leading(ndim: int, count: int) -> AxisMap:
    """Return the axis map of an operand whose last ``count`` axes are needed whole."""
    return tuple([axis if axis < ndim - count else None for axis in range(ndim)])


def without(ndim: int, axes: Sequence[int], keepdims: bool = False) -> AxisMap:
    """Return the axis map of an operand that is reduced along ``axes``."""
    kept = [axis for axis in range(ndim) if axis not in axes]
    return tuple([None if axis in axes else axis if keepdims else kept.index(axis) for axis in range(ndim)])


def nothing(node: Any) -> list[AxisMap]:
    """Return axis maps without any axis: every operand is needed whole."""
    return [(None,) * len(operand.shape) for operand in node.operands]


def elementwise(node: Any) -> list[AxisMap]:
    """Return the axis maps of an element-wise operation with broadcast operands."""
    return [aligned(operand.shape, node.shape) for operand in node.operands]


def reduction(node: Any) -> list[AxisMap]:
    """Return the axis map of a reduction."""
    axes = node.parameters["axes"] if "axes" in node.parameters else (node.parameters["axis"],)
    return [without(node.operands[0].ndim, axes, bool(node.parameters.get("keepdims")))]


def all_but(node: Any, at: int) -> list[AxisMap]:
    """Return axis maps of all axes except ``at``, along which the operation needs each operand whole."""
    return [tuple(axis if axis != at else None for axis in range(operand.ndim)) for operand in node.operands]


def all_but_one(node: Any) -> list[AxisMap]:
    """Return axis maps of all axes except the one in the parameter ``axis``."""
    return all_but(node, node.parameters["axis"])


def matrices(node: Any) -> list[AxisMap]:
    """Return axis maps for operations on matrices: the last two axes are needed whole."""
    return [leading(operand.ndim, 2) for operand in node.operands]


def rows(node: Any) -> list[AxisMap]:
    """Return axis maps for operations along the last axis, which is needed whole."""
    return [leading(operand.ndim, 1) for operand in node.operands]
