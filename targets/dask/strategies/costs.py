"""Measures for the costs of phases."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from math import ceil, prod

from ....transpile.array.node import Node
from ..planning.axis_classes import Axis
from ..planning.chunks import Chunks
from ..planning.nodes import is_argument, shape_of


def count_of_chunks(node: Node, chunks: Chunks, without: Collection[Axis] = ()) -> int:
    """Return the number of chunks of an array, not counting the axes of the classes ``without``."""
    find, sizes = chunks.classes.find, enumerate(shape_of(node))
    return prod(ceil(n / max(1, chunks.length(node, k))) for k, n in sizes if find(node, k) not in without)


def given_bytes(nodes: Iterable[Node], chunks: Chunks, *, by_rows: bool = False) -> int:
    """Return the bytes of a block of each node, without those of ``main``'s arguments if they are read ``by_rows``."""
    counted = (x for x in nodes if not (by_rows and is_argument(x) and chunks.is_cut(x)))
    return sum(map(chunks.block_bytes, counted))
