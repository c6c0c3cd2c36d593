"""Axis maps: which axis of its result each axis of an operand is, as rows say it, and as only chunks ask it.

Where a block of the result needs the block at the same place of an operand and nothing else of it, their axes are
the same; any other axis is needed whole, which is always right.
"""

from __future__ import annotations

from ....transpile.array.node import Node
from ....transpile.array.operation import AxisMap
from ....transpile.array.operations import axes
from .nodes import name_of, shape_of
from .scatters import is_scatter, scatter_axes

# Functions of one matrix, or of many, each by itself, and how many axes of the first operand are not their numbers.
FACTORED = {
    **dict.fromkeys(
        "eigh eigvalsh geev gees gehrd geqp3 geqrf gesdd getrf orgqr ormqr potrf qr svd svdvals syevd sytrd".split(), 2
    ),
    **dict.fromkeys("gtsv gtsv_perturbed pivots_to_permutation".split(), 1),
}


def axis_maps(node: Node) -> list[AxisMap]:
    """The axis map of each operand of a node: which axis of the result each axis is, None for one needed whole."""
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
    """Return how many of the first axes of a result are those that its call is said to have.

    All are of a call with several results whose axes are all the same as its operands', and of the first result of a
    factorisation; of other factors only those are that number the matrices.
    """
    (call,) = item.operands
    if call.operation.shares_axes:
        return item.ndim
    if name_of(call) in ("qr", "geqrf", "svd") and item.parameters["index"] == 0:
        return item.ndim
    return count_of_batches(call)


# -- functions of matrices


def count_of_batches(node: Node) -> int:
    """Return how many axes number the matrices that are factored, each by itself."""
    name = name_of(node)
    return node.operands[0].ndim - FACTORED[name] if name in FACTORED and node.operands[0].ndim else 0
