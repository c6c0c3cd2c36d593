"""Row exchanges of LU factorisations as a permutation."""

from __future__ import annotations

from ...array.graph import Graph
from ...array.node import Node, Slot


def permutation(graph: Graph, rows: Node, size: int) -> Node:
    """Return the order of ``size`` rows after exchanging row ``k`` with row ``rows[.., k]``, for all ``k`` in order."""
    within, arguments = (0, max(size - 1, 0)), (Slot(0), size)
    return graph.add(
        "prelude", (rows,), interval=within, function="pivots_to_permutation", arguments=arguments, keywords={}
    )
