"""Values that are consecutive pieces of one array along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import dropwhile
from math import prod
from typing import Any, NamedTuple

from ...array.graph import Graph
from ...array.node import Node
from ...array.value import FULL, NEW, Value, getitem


class Pieces(NamedTuple):
    """An array that was cut into equal pieces along an axis, with the index of each piece."""

    array: Node
    axis: int
    indices: list[tuple[Any, ...]]
    is_dropped: bool  # the pieces are one element long, and lack the axis


def pieces_of(graph: Graph, values: Sequence[Value]) -> Pieces | None:
    """Return the array whose pieces the values are, in order and without gaps; or None.

    The values must have the same axis map, so that the array cut into them has it too.
    """
    nodes = [value.node for value in values]
    if len(nodes) < 2 or any(node.opcode != "getitem" or len(node.operands) != 1 for node in nodes):
        return None
    if len({(value.axes, value.shape) for value in values}) != 1:
        return None
    if any(node.operands != nodes[0].operands for node in nodes):
        nodes = _rows_of_one(graph, nodes)
    if not nodes:
        return None
    source, indices = nodes[0].operands[0], [node.parameters["index"] for node in nodes]
    first = indices[0]
    cut = [axis for axis, items in enumerate(zip(*indices, strict=False)) if len(set(items)) > 1]
    if len({len(index) for index in indices}) != 1 or len(cut) != 1 or any(NEW in index for index in indices):
        return None
    (axis,) = cut
    taken = [_taken(index[axis], source.shape[axis]) for index in indices]
    start, length = taken[0].start, len(taken[0])
    if taken != [range(start + k * length, start + (k + 1) * length) for k in range(len(taken))]:
        return None
    stop = taken[-1].stop if taken[-1].stop < source.shape[axis] else None
    of_all = (start or None, stop, None)
    array = getitem(graph, source, (*first[:axis], of_all if any(of_all) else FULL, *first[axis + 1 :]))
    left = axis - sum(isinstance(item, int) for item in first[:axis])
    is_dropped = isinstance(first[axis], int)
    cuts: list[Any] = [k if is_dropped else (k * length or None, (k + 1) * length, None) for k in range(len(taken))]
    if not is_dropped:
        cuts[-1] = (cuts[-1][0], None, None)
    rest = [FULL] * (array.ndim - left - 1)
    return Pieces(array, left, [(*[FULL] * left, item, *rest) for item in cuts], is_dropped)


def _rows_of_one(graph: Graph, nodes: Sequence[Node]) -> list[Node]:
    """Return runs of elements of one array as the rows of a reshape of it; none if they are not. Some of the values may
    be parts of other reshapes of the array.
    """
    arrays = [node.operands[0] for node in nodes]
    arrays = [array.operands[0] if array.opcode == "reshape" else array for array in arrays]
    whole, shape = arrays[0], nodes[0].shape
    if any(array is not whole for array in arrays) or not (size := prod(shape)) or prod(whole.shape) % size:
        return []
    starts = [_first_element(node.parameters["index"], node.operands[0].shape) for node in nodes]
    if any(start is None or start % size for start in starts):
        return []
    rows = graph.add("reshape", (whole,), shape=(prod(whole.shape) // size, *shape))
    return [getitem(graph, rows, (start // size, *[FULL] * len(shape))) for start in starts if start is not None]


def _first_element(index: Sequence[Any], shape: Sequence[int]) -> int | None:
    """Return the flat position at which an index begins; None if its elements are not contiguous."""
    if NEW in index:
        return None
    taken = [_taken(item, size) for item, size in zip(index, shape, strict=True)]
    longer = dropwhile(lambda both: len(both[0]) == 1, zip(taken, shape, strict=True))
    first = next(longer, None)
    if (first and first[0].step != 1) or any(len(positions) != size for positions, size in longer):
        return None
    start = 0
    for positions, size in zip(taken, shape, strict=True):
        start = start * size + positions.start
    return start


def _taken(item: Any, size: int) -> range:
    """Return the positions that an item of an index takes along an axis."""
    if isinstance(item, int):
        return range(item, item + 1)
    return range(size) if item == FULL else range(size)[slice(*item)]


def joined(graph: Graph, values: Sequence[Value], dimension: int) -> Value | None:
    """Return the array that joining its pieces along a dimension gives back, or None."""
    found = pieces_of(graph, values)
    if found is None:
        return None
    first = values[0]
    axes = list(first.axes)
    if found.is_dropped:
        if first.axes[dimension] is not None or first.shape[dimension] != 1:
            return None
        axes = [axis if axis is None or axis < found.axis else axis + 1 for axis in axes]
        axes[dimension] = found.axis
    elif axes[dimension] != found.axis:
        return None
    sizes = (*first.shape[:dimension], first.shape[dimension] * len(values), *first.shape[dimension + 1 :])
    return Value(found.array, tuple(axes), sizes)
