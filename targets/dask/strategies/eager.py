"""The strategy of side effects, which happen while ``main`` runs."""

from __future__ import annotations

from collections.abc import Iterator

from ....transpile.array.node import Node
from ..planning.chunks import Chunks
from ..planning.strategy import ArrayStrategy


class Eager(ArrayStrategy):
    """``main`` computes the operands of a side effect, and calls it at once."""

    name = "eager"

    def is_feasible(self, node: Node, chunks: Chunks) -> bool:
        return "effect" in node.parameters

    def propagated(self, node: Node, chunks: Chunks) -> Iterator[tuple[Node, tuple[bool, ...]]]:
        yield node, chunks.is_cut_along[node]
