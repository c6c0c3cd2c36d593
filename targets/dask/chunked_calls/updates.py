"""Writes at computed positions along axes with several chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....transpile.array.node import Node, Slot, Ufunc
from ....transpile.array.operations import OPERATIONS
from ..planning.axis_classes import Axis
from ..planning.chunked_implementation import (
    EVERY_OPERAND,
    Arguments,
    ChunkedImplementation,
    Implementations,
    OperandAxes,
    as_it_is,
)
from ..planning.nodes import is_filled
from ..planning.scatters import combiner, count_of_update_axes, first_slots, is_scatter


def _along_updates(node: Node) -> Iterator[Sequence[tuple[int, int]]]:
    """Yield, for each axis of the updates, the (operand, axis) pairs of the values and indices that have it."""
    if not is_scatter(node):
        return
    x, values, *indices = node.operands
    count, behind = count_of_update_axes(node), x.ndim - len(indices)
    for at in range(count):
        ends = [(1, values.ndim - behind - count + at)]
        ends += [(2 + k, index.ndim - count + at) for k, index in enumerate(indices)]
        found = [(k, axis) for k, axis in ends if axis >= 0 and node.operands[k].shape[axis] > 1]
        if found:
            yield found


def _same_chunks(node: Node) -> Iterator[tuple[Axis, Axis]]:
    for (first, axis), *others in _along_updates(node):
        for other, place in others:
            yield (node.operands[first], axis), (node.operands[other], place)


def _updates(node: Node) -> OperandAxes:
    """Return the axes of updates, if each chunk of updates can be scattered into its own array and these arrays
    combined.

    That changes the rounding, so narrow floats are excluded.
    """
    ufunc, element_type = combiner(node) if is_scatter(node) else None, node.element_type
    if not isinstance(ufunc, Ufunc) or element_type is None:
        return {}
    row = OPERATIONS.get(ufunc.opcode)
    if row is None or not row.is_commutative:
        return {}
    if element_type.bits < (32 if element_type.is_floating else 8) and element_type.name != "pred":
        return {}
    return {place: None for along in _along_updates(node) for place in along}


def _rows_and_updates(node: Node) -> OperandAxes:
    """Return the first axis of the array and the axes of updates; only the first axis of updates if they must stay in
    order.
    """
    if not is_scatter(node):
        return {}
    return {(0, 0): 0, **(_updates(node) or dict.fromkeys(next(_along_updates(node), ())))}


def _scatter(node: Node) -> Arguments:
    if node.opcode == "prelude":
        return as_it_is(node)
    index, combine = first_slots(node), combiner(node)
    where = index if len(index) > 1 else index[0]
    return (Slot(0), where, Slot(1), *([combine] if combine is not None else [])), {}


def _moved(node: Node) -> OperandAxes:
    x, update = node.operands[:2]
    axes = [axis for axis, n in enumerate(x.shape) if n != update.shape[axis]]
    return {**{(0, axis): axis for axis in axes}, **{(1, axis): None for axis in axes}} if is_filled(node) else {}


SCATTERS = (
    ChunkedImplementation(
        "scatter_at_in_parts", _updates, _scatter, _same_chunks, reads=EVERY_OPERAND, holds=6, each=2
    ),
    ChunkedImplementation("scatter_at_in_chunks", _rows_and_updates, _scatter, _same_chunks, reads=EVERY_OPERAND),
)
IMPLEMENTATIONS: Implementations = {
    **dict.fromkeys(("scatter_at", "setitem", "update_at"), SCATTERS),
    "dynamic_update_slice": (ChunkedImplementation("dynamic_update_slice_in_chunks", _moved, as_it_is, reads=2),),
}
