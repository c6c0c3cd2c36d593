"""All parts of an array side by side are the array: ``np.concatenate([x[:1], x[1:3], x[3:]])`` is ``x``.

What flattens a tree of parameters and puts it together again cuts so, and ``jax.random.split(key, 1)``.
"""

from __future__ import annotations

from ...array.node import Node
from ...array.program import Function
from ...array.rewriting import rewrite
from ...array.support import Support
from ...array.value import FULL
from .rolls import part_of_axis


def joins(function: Function, supports: Support) -> None:
    """Read the array in place of all of its parts."""
    rewrite(function, ("concatenate", "stack"), _whole, supports)


def _whole(node: Node) -> Node | None:
    """Return the array whose parts along the axis are joined, in order and without gaps."""
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
    """Return the places along an axis that a part takes; none where it takes no part of it, or not all of others."""
    index, size = part.parameters["index"], part.operands[0].shape[axis] if axis < part.operands[0].ndim else 0
    if len(index) > axis and isinstance(index[axis], int) and 0 <= index[axis] < size:
        others = (*index[:axis], *index[axis + 1 :])
        return range(index[axis], index[axis] + 1) if all(item == FULL for item in others) else range(0)
    return part_of_axis(index, axis, size) or range(0)
