"""Sorts along an axis with several chunks: sorted chunks are written to files and merged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod

from ....templates.prelude.tiles import LINE_CHUNKS
from ....transpile.array.node import Node, Slot
from ..planning.axis_classes import AxisClasses
from ..planning.chunked_implementation import (
    Arguments,
    ChunkedImplementation,
    Implementations,
    Lengths,
    OperandAxes,
    as_it_is,
    axis_of_all,
)

CACHED_BYTES = 4 << 30  # of a file that stays in the page cache while it is read repeatedly


def _axis(node: Node) -> int:
    axis: int = node.parameters["axis"]
    return axis


def _axis_of_call(node: Node) -> int:
    """Return the sorted axis of a call: its only argument that is a number."""
    return next(part for part in node.parameters["arguments"] if isinstance(part, int))


def _sort(node: Node) -> Arguments:
    return (Slot(0),), {"axis": node.parameters["axis"]}


def _argsort(node: Node) -> Arguments:
    return (Slot(0), node.element_type), {"axis": node.parameters["axis"]}


def _last_axis(node: Node) -> OperandAxes:
    return {(0, node.operands[0].ndim - 1): None}


def _whole_lines(
    axis: Callable[[Node], int],
    node: Node,
    classes: AxisClasses,
    sizes: Lengths,
    lengths: Lengths,
    needs: Lengths,
    target: int,
) -> Lengths:
    """Propose chunks of whole lines, cut along the other axes (the first ones most), if a line fits into a task.

    There is no proposal for large files, of which each task would read a few bytes of every page, and none if a node
    needs another axis whole: their chunks are sorted and merged.
    """
    operand, sorted_axis = node.operands[0], axis(node)
    itemsize, n = operand.type.dtype.itemsize, operand.shape[sorted_axis]
    if not n * itemsize <= target < prod(operand.shape) * itemsize <= CACHED_BYTES:
        return {}
    found, room = {}, target // (n * itemsize)
    for other in reversed(range(operand.ndim)):
        key, size = classes.find(operand, other), operand.shape[other]
        if key in needs and other != sorted_axis:
            return {}
        if other != sorted_axis and min(room, size) < lengths.get(key, sizes.get(key, 1)):
            found[key] = min(room, size)
        room = max(1, room // size) if other != sorted_axis else room
    return found


def _bytes_of_a_line(
    axis: Callable[[Node], int], holds: int, element_bytes: int, node: Node, block: Sequence[int]
) -> int:
    """Return the bytes that a task holds to sort a whole line that is longer than a block; 0 if the line is sorted in
    runs.
    """
    line, room = node.operands[0].shape[axis(node)], prod(block)
    itemsizes = sum(operand.type.dtype.itemsize for operand in node.operands)
    return line * (holds * itemsizes + element_bytes) if room < line <= LINE_CHUNKS * room else 0


def _in_runs(
    function: str,
    axis: Callable[[Node], int],
    arguments: Callable[[Node], Arguments],
    element_bytes: int = 24,
    holds: int = 2,
) -> tuple[ChunkedImplementation]:
    """Return the implementation by a function that sorts chunks along an ``axis`` and merges them."""
    return (
        ChunkedImplementation(
            *(function, lambda node: axis_of_all(node, axis(node)), arguments),
            propose=partial(_whole_lines, axis),
            least_bytes=partial(_bytes_of_a_line, axis, holds, element_bytes),
            holds=holds,
            element_bytes=element_bytes,
            tasks=3,
        ),
    )


IMPLEMENTATIONS: Implementations = {
    "sort": _in_runs("sort_in_chunks", _axis, _sort, element_bytes=0, holds=3),
    "argsort": _in_runs("argsort_in_chunks", _axis, _argsort),
    "sort_by_keys": _in_runs("sort_by_keys_in_chunks", _axis_of_call, as_it_is),
    "sort_with": _in_runs("sort_with_in_chunks", _axis_of_call, as_it_is, element_bytes=128),
    "top_k": (ChunkedImplementation("top_k_in_chunks", _last_axis, as_it_is, holds=1),),
    "top_values": (ChunkedImplementation("top_values_in_chunks", _last_axis, as_it_is, holds=1),),
}
