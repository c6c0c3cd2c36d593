"""Factors of tall matrices whose rows come in several chunks."""

from __future__ import annotations

from ....transpile.array.node import Node
from ..chunked_implementation import ChunkedImplementation, Implementations, OperandAxes, first_operand

COPIES = 10  # blocks of float32 in np.linalg.qr, which copies them for LAPACK as float64


def _rows(node: Node) -> OperandAxes:
    """The rows of a matrix that has at least twice as many of them as columns, and those of the factor that is as tall.

    There are none where that factor is wanted square.
    """
    sizes = node.operands[0].shape
    if len(sizes) != 2 or not sizes[0] >= 2 * sizes[1] > 0:
        return {}
    if not node.results:
        return {(0, 0): None}
    return {(0, 0): 0} if tuple(node.results[0][0]) == tuple(sizes) else {}


IMPLEMENTATIONS: Implementations = {
    "qr": (ChunkedImplementation("qr_in_chunks", _rows, first_operand, holds=COPIES, tasks=2),),
    "svd": (ChunkedImplementation("svd_in_chunks", _rows, first_operand, holds=COPIES, tasks=3),),
    "svdvals": (
        ChunkedImplementation("svdvals_in_chunks", _rows, first_operand, holds=1, holds_of_operands=COPIES - 1),
    ),
    "geqrf": (ChunkedImplementation("geqrf_in_chunks", _rows, first_operand, holds=COPIES, tasks=2),),
}
