"""Axis maps: which axis of its result each axis of an operand is.

Where a part of the result along one axis needs the same part of an operand and nothing else of it, the two axes belong
together. An axis of which every part of the result needs the whole has None.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..operation import AxisMap


def aligned(shape: Sequence[int], result: Sequence[int]) -> AxisMap:
    """Return the axis map of an operand that is broadcast: the last axes meet, and an axis that is repeated is needed
    whole.
    """
    offset = len(result) - len(shape)
    return tuple([offset + axis if size == result[offset + axis] else None for axis, size in enumerate(shape)])


def leading(ndim: int, count: int) -> AxisMap:
    """Return the axis map of an operand whose last ``count`` axes are needed whole."""
    return tuple([axis if axis < ndim - count else None for axis in range(ndim)])


def without(ndim: int, axes: Sequence[int], keepdims: bool = False) -> AxisMap:
    """Return the axis map of an operand whose ``axes`` are folded."""
    kept = [axis for axis in range(ndim) if axis not in axes]
    return tuple([None if axis in axes else axis if keepdims else kept.index(axis) for axis in range(ndim)])


def nothing(node: Any) -> list[AxisMap]:
    """Map no axis: every operand is needed whole."""
    return [(None,) * len(operand.shape) for operand in node.operands]


def elementwise(node: Any) -> list[AxisMap]:
    """Map the axes of operands that are broadcast to those of the result."""
    return [aligned(operand.shape, node.shape) for operand in node.operands]


def reduction(node: Any) -> list[AxisMap]:
    """The axes that a reduction keeps."""
    axes = node.parameters["axes"] if "axes" in node.parameters else (node.parameters["axis"],)
    return [without(node.operands[0].ndim, axes, bool(node.parameters.get("keepdims")))]


def all_but(node: Any, at: int) -> list[AxisMap]:
    """Map all axes but one, which is needed whole of each operand, as work goes along it."""
    return [tuple(axis if axis != at else None for axis in range(operand.ndim)) for operand in node.operands]


def all_but_one(node: Any) -> list[AxisMap]:
    """Return the rule for work along the axis that a parameter names."""
    return all_but(node, node.parameters["axis"])


def matrices(node: Any) -> list[AxisMap]:
    """The last two axes are those of matrices, which are needed whole."""
    return [leading(operand.ndim, 2) for operand in node.operands]


def rows(node: Any) -> list[AxisMap]:
    """The last axis is needed whole."""
    return [leading(operand.ndim, 1) for operand in node.operands]
