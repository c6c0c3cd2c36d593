"""Row exchanges of LU factorisations as a permutation."""

from __future__ import annotations

from ...array.graph import Graph
from ...array.node import Node, Slot


def permutation(graph: Graph, rows: Node, size: int) -> Node:
    """The order of ``size`` rows after exchanging row ``k`` with row ``rows[.., k]``, from 0 on."""
    within = 0, max(size - 1, 0)
    parameters = {"function": "pivots_to_permutation", "arguments": (Slot(0), size), "keywords": {}}
    return graph.add("prelude", (rows,), interval=within, **parameters)
