"""Sorts along an axis in several chunks: sorted chunks wait in files to be merged."""

from __future__ import annotations

from ....transpile.array.node import Node, Slot
from ..chunked_implementation import (
    Arguments,
    ChunkedImplementation,
    Implementations,
    OperandAxes,
    as_it_is,
    axis_of_all,
)


def _sorted(node: Node) -> OperandAxes:
    return axis_of_all(node, node.parameters["axis"])


def _sorted_together(node: Node) -> OperandAxes:
    """The axis is the one of the arguments that is a number."""
    return axis_of_all(node, next(part for part in node.parameters["arguments"] if isinstance(part, int)))


def _sort(node: Node) -> Arguments:
    return (Slot(0),), {"axis": node.parameters["axis"]}


def _argsort(node: Node) -> Arguments:
    return (Slot(0), node.element_type), {"axis": node.parameters["axis"]}


def _last_axis(node: Node) -> OperandAxes:
    return {(0, node.operands[0].ndim - 1): None}


IMPLEMENTATIONS: Implementations = {
    "sort": (ChunkedImplementation("sort_in_chunks", _sorted, _sort, element_bytes=24, tasks=3),),
    "argsort": (ChunkedImplementation("argsort_in_chunks", _sorted, _argsort, element_bytes=24, tasks=3),),
    "sort_by_keys": (
        ChunkedImplementation("sort_by_keys_in_chunks", _sorted_together, as_it_is, element_bytes=24, tasks=3),
    ),
    "sort_with": (
        ChunkedImplementation("sort_with_in_chunks", _sorted_together, as_it_is, element_bytes=128, tasks=3),
    ),
    "top_k": (ChunkedImplementation("top_k_in_chunks", _last_axis, as_it_is, holds=1),),
}
