"""Factorizations of tall matrices whose rows are in several chunks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ....transpile.array.node import Node
from ..planning.chunked_implementation import ChunkedImplementation, Implementations, OperandAxes, first_operand

COPIES = 10  # blocks of float32 that np.linalg.qr holds, with LAPACK's copies in float64


def _rows(node: Node) -> OperandAxes:
    """Return the row axis of a matrix with at least twice as many rows as columns, and that of its tall factor.

    There is none if the tall factor is to be square.
    """
    sizes = node.operands[0].shape
    if len(sizes) != 2 or not sizes[0] >= 2 * sizes[1] > 0:
        return {}
    if not node.results:
        return {(0, 0): None}
    return {(0, 0): 0} if tuple(node.results[0][0]) == tuple(sizes) else {}


def _least_bytes(node: Node, block: Sequence[int]) -> int:
    """Return the bytes that a task holds for the fewest rows of one factorization, twice the number of columns."""
    matrix = node.operands[0]
    return COPIES * 2 * matrix.shape[1] ** 2 * matrix.type.dtype.itemsize


_in_rows = partial(ChunkedImplementation, divides=_rows, arguments=first_operand, least_bytes=_least_bytes)

IMPLEMENTATIONS: Implementations = {
    "qr": (_in_rows("qr_in_chunks", holds=COPIES, tasks=2),),
    "svd": (_in_rows("svd_in_chunks", holds=COPIES, tasks=3),),
    "svdvals": (_in_rows("svdvals_in_chunks", holds=1, holds_of_operands=COPIES - 1),),
    "geqrf": (_in_rows("geqrf_in_chunks", holds=COPIES, tasks=2),),
}
