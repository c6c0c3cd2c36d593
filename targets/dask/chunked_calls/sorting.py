"""Sorts along an axis in several chunks: sorted chunks wait in files to be merged."""

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

CACHED_BYTES = 4 << 30  # of an array whose file the system keeps in memory while it is read again and again


def _axis(node: Node) -> int:
    axis: int = node.parameters["axis"]
    return axis


def _axis_of_call(node: Node) -> int:
    """The axis is the one of the arguments that is a number."""
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
    """Cut the other axes, the first ones most, so that a task sorts whole lines, where one is small enough.

    Of a large file, each task would read a few bytes of every page: its chunks are sorted and merged instead, and so
    are those of arrays whose other axes something else needs.
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
    """Return the bytes that a task holds of a line that it sorts as a whole, though a block has no room for it; 0 for
    lines that are sorted otherwise.
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
    """A function that sorts chunks along an ``axis`` and merges these."""
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
