"""Factorizations and triangular systems of matrices in square tiles."""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt

from ....transpile.array.node import Node
from ..planning.axis_classes import Axis, AxisClasses
from ..planning.chunked_implementation import ChunkedImplementation, Implementations, Lengths, as_it_is

SquareAxes = dict[tuple[int, int], int | None]


def _sides(node: Node) -> SquareAxes:
    """Return the axes of operands that are sides of tiles, each with the axis of the result that is cut alike."""
    rows, columns = node.ndim - 2, node.ndim - 1
    if len(node.operands) == 1:
        return {(0, rows): rows, (0, columns): columns}
    return {(0, rows): rows, (0, columns): rows, (1, rows): rows}


def _same_chunks(node: Node) -> Iterator[tuple[Axis, Axis]]:
    """Yield pairs that make all sides of tiles alike."""
    for place in _sides(node).values():
        if place is not None:
            yield (node.operands[0], node.ndim - 1), (node, place)


def _propose(
    node: Node, classes: AxisClasses, sizes: Lengths, lengths: Lengths, needs: Lengths, target: int
) -> Lengths:
    """Propose square tiles for matrices that are too large, and square pieces for right-hand sides."""
    side = isqrt(target // node.type.dtype.itemsize)
    rows, columns = node.ndim - 2, node.ndim - 1
    if sizes.get(classes.find(node.operands[0], columns), 1) <= side:
        return {}
    now = {classes.find(node, axis): side if axis >= rows else 1 for axis in range(node.ndim)}
    now[classes.find(node.operands[0], columns)] = side
    return {key: length for key, length in now.items() if length < lengths.get(key, sizes.get(key, 1))}


IMPLEMENTATIONS: Implementations = {
    "cholesky": (
        ChunkedImplementation("cholesky_in_chunks", _sides, as_it_is, _same_chunks, _propose, reads=1, holds=4),
    ),
    "triangular_solve": (
        ChunkedImplementation(
            "triangular_solve_in_chunks", _sides, as_it_is, _same_chunks, _propose, reads=2, holds=4, takes_files=True
        ),
    ),
}
