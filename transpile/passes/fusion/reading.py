"""What operations read, and where, when they are computed at an element of a loop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...array.node import Node, Region
from ...kernels.gathers import gather_of
from ...kernels.index_maps import (
    ANYWHERE,
    Index,
    Map,
    broadcast,
    identity,
    is_in_order,
    is_view,
    piece,
    pieces,
    through,
)
from ...kernels.lines import reduced_axes
from ...kernels.operations import draw_of


def read_by(node: Node, at: Map, reduced: bool) -> Iterator[tuple[Node, Map]]:
    """The arrays, behind views, that an operation computed at ``at`` reads, each with the place. A reduction reads
    whole rows.
    """
    draw = draw_of(node)
    if draw is not None:
        yield draw.key, ANYWHERE
        return
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


def read_anywhere(node: Node) -> Node | None:
    """The array of which an operation may read any element: the one it gathers from, or the key that it draws with."""
    gather, draw = gather_of(node), draw_of(node)
    return draw.key if draw is not None else gather.array if gather is not None else None


def _behind_views(operand: Node, place: Map) -> tuple[Node, Map]:
    while is_view(operand):
        place, operand = through(operand, place), operand.operands[0]
    return operand, place


def of_lines(node: Node) -> Map:
    """The place of a reduction's results, in the axes of its operand."""
    axes, shape = reduced_axes(node), node.operands[0].shape
    whole = identity(shape)
    if node.ndim == len(shape):
        return tuple(Index() if axis in axes else index for axis, index in enumerate(whole))
    return tuple(index for axis, index in enumerate(whole) if axis not in axes)


def beside(node: Node, source: Node, at: Map, place: Map) -> Map | None:
    """The place in a loop of an operation that reads, at ``at``, one element per line of a ``source`` that is at
    ``place`` in the loop; None if it has more or fewer elements than lines, or has them in another order.
    """
    own: list[Index | None] = [None] * node.ndim
    for index, where, size in zip(at, place, source.shape, strict=True):
        if index.axis is None or index != Index(0, 1, index.axis):
            if index != where:
                return None
        elif node.shape[index.axis] != size:
            return None
        else:
            own[index.axis] = where
    filled = [Index() if where is None and size == 1 else where for where, size in zip(own, node.shape, strict=True)]
    found = tuple(index for index in filled if index is not None)
    return found if len(found) == node.ndim and is_in_order(found) else None


def read_from_around(nodes: Iterable[Node]) -> dict[Region, dict[Node, None]]:
    """For each inner body, the nodes it reads that are computed outside it."""
    found: dict[Region, dict[Node, None]] = {}
    for node in nodes:
        for needed in node.operands:
            for region in node.region.path():
                if region is needed.region or region.parent is None:
                    break
                found.setdefault(region, {}).setdefault(needed)
    return found
