"""Fourier transforms along axes with several chunks: tasks read their lines from files."""

from __future__ import annotations

from ....transpile.array.node import Node, Slot
from ..planning.chunked_implementation import Arguments, ChunkedImplementation, Implementations, OperandAxes


def _transformed(node: Node) -> OperandAxes:
    ndim = node.ndim
    return {(0, axis): axis for axis in range(ndim - len(node.parameters["lengths"]), ndim)}


def _transform(node: Node) -> Arguments:
    return (Slot(0), node.parameters["kind"], node.parameters["lengths"]), {}


IMPLEMENTATIONS: Implementations = {
    "fft": (ChunkedImplementation("fft_in_chunks", _transformed, _transform, holds=3, tasks=4),)
}
