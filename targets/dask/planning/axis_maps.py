"""Axis maps, from the rows of operations and from rules that only chunks need.

An operand axis maps to a result axis if a block of the result needs only the block at the same position along it.
Otherwise the operand is needed whole along the axis, which is always correct.
"""

from __future__ import annotations

from ....transpile.array.node import Node
from ....transpile.array.operation import AxisMap
from ....transpile.array.operations import axes
from .nodes import name_of, shape_of
from .scatters import is_scatter, scatter_axes

# Functions of one matrix or of a batch, with the number of axes of the first operand that are not batch axes.
FACTORED = {
    **dict.fromkeys(
        "eigh eigvalsh geev gees gehrd geqp3 geqrf gesdd getrf orgqr ormqr potrf qr svd svdvals syevd sytrd".split(), 2
    ),
    **dict.fromkeys("gtsv gtsv_perturbed pivots_to_permutation".split(), 1),
}


def axis_maps(node: Node) -> list[AxisMap]:
    """Return the axis map of each operand of a node: the result axis of each operand axis, None if it is needed
    whole.
    """
    if node.opcode == "item":
        shared, (call,) = axes_of_its_call(node), node.operands
        return [tuple(axis if axis < shared else None for axis in range(len(shape_of(call))))]
    if node.opcode != "library" and (batches := count_of_batches(node)):
        return [axes.leading(operand.ndim, operand.ndim - batches) for operand in node.operands]
    if is_scatter(node):
        return scatter_axes(node)
    rule = node.operation.axes
    return rule(node) if rule is not None else axes.nothing(node)


def axes_of_its_call(item: Node) -> int:
    """Return how many leading axes of an item are those of its call's axis map.

    These are all axes if all results have the same axes as the operands, and for the first factor of a factorization;
    of other factors, the batch axes.
    """
    (call,) = item.operands
    if call.operation.shares_axes:
        return item.ndim
    if name_of(call) in ("qr", "geqrf", "svd") and item.parameters["index"] == 0:
        return item.ndim
    return count_of_batches(call)


# -- functions of matrices


def count_of_batches(node: Node) -> int:
    """Return the number of batch axes of a function of matrices."""
    name = name_of(node)
    return node.operands[0].ndim - FACTORED[name] if name in FACTORED and node.operands[0].ndim else 0
