"""All parts of an array concatenated are the array: ``np.concatenate([x[:1], x[1:3], x[3:]])`` is ``x``.

Flattening and rebuilding a tree of parameters does this, and ``jax.random.split(key, 1)``.
"""

from __future__ import annotations

from typing import Any

from ...array.node import Node
from ...array.program import Function
from ...array.rewriting import rewrite
from ...array.support import Support
from ...array.value import FULL


def joins(function: Function, supports: Support) -> None:
    """Read the array instead of the concatenation of all of its parts."""
    rewrite(function, ("concatenate", "stack"), _whole, supports)


def _whole(node: Node) -> Node | None:
    """The array whose parts along the axis are joined, in order and without gaps."""
    axis, source, end = node.parameters["axis"], None, 0
    for operand in node.operands:
        part = operand
        while part.opcode in ("reshape", "expand"):
            part = part.operands[0]
        if part.opcode != "getitem" or len(part.operands) != 1 or source not in (None, part.operands[0]):
            return None
        (source,) = part.operands
        taken = _taken(part, axis)
        own = (len(taken),) if node.opcode == "concatenate" else ()
        if taken.start != end or not taken or operand.shape != source.shape[:axis] + own + source.shape[axis + 1 :]:
            return None
        end = taken.stop
    return source if source is not None and source.shape == node.shape else None


def _taken(part: Node, axis: int) -> range:
    """The positions along an axis that a part selects; empty if it is no contiguous part, or does not select all of the
    other axes.
    """
    index, size = part.parameters["index"], part.operands[0].shape[axis] if axis < part.operands[0].ndim else 0
    if len(index) > axis and isinstance(index[axis], int) and 0 <= index[axis] < size:
        others = (*index[:axis], *index[axis + 1 :])
        return range(index[axis], index[axis] + 1) if all(item == FULL for item in others) else range(0)
    return part_of_axis(index, axis, size) or range(0)


def part_of_axis(index: tuple[Any, ...], axis: int, size: int) -> range | None:
    """The range that an index selects along one axis, if it selects all of the other axes and a contiguous part of this
    one.
    """
    if len(index) <= axis or any(item != FULL for k, item in enumerate(index) if k != axis):
        return None
    item = index[axis]
    taken = range(size)[slice(*item)] if isinstance(item, tuple) else None
    return taken if taken is not None and taken.step == 1 else None
