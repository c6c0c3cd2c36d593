"""What operations read, and where, if they are computed at an element of a loop."""

from __future__ import annotations

from collections.abc import Iterator

from ...array.node import Node
from ...kernels.gathers import gather_of
from ...kernels.index_maps import Index, Map, broadcast, identity, is_view, piece, pieces, through
from ...kernels.lines import reduced_axes


def is_generated(node: Node) -> bool:
    """An array whose elements follow from their index."""
    return node.operation.is_generated and all(operand.is_literal for operand in node.operands)


def read_by(node: Node, at: Map, reduced: bool) -> Iterator[tuple[Node, Map]]:
    """Return what an operation reads if it is computed at ``at``, and where: behind views. A reduction reads whole
    rows.
    """
    gather = gather_of(node)
    if gather is not None:
        for number, (operand, place) in enumerate(gather.read_at(at)):
            yield (operand, place) if number == 0 else _behind_views(operand, place)
        return
    joins = node.operation.joins
    operands = pieces(node) if joins else node.operands
    for number, operand in enumerate(operands):
        if joins:
            place = piece(node, number, at)
        else:
            place = identity(operand.shape) if reduced else broadcast(operand, node, at)
        yield _behind_views(operand, place)


def _behind_views(operand: Node, place: Map) -> tuple[Node, Map]:
    while is_view(operand):
        place, operand = through(operand, place), operand.operands[0]
    return operand, place


def of_lines(node: Node) -> Map:
    """Return where the results of a reduction are, in the axes of what it reduces."""
    axes, shape = reduced_axes(node), node.operands[0].shape
    whole = identity(shape)
    if node.ndim == len(shape):
        return tuple(Index() if axis in axes else index for axis, index in enumerate(whole))
    return tuple(index for axis, index in enumerate(whole) if axis not in axes)
