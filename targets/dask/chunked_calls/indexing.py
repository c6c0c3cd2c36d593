"""Reads at computed positions along axes with several chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....transpile.array.node import Node, Slot
from ....transpile.array.scalars import is_known_on_host
from ....transpile.array.value import FULL
from ..computed_places import slot_of
from ..planning.chunked_implementation import Arguments, ChunkedImplementation, Implementations, OperandAxes, as_it_is
from ..planning.nodes import is_filled

PLACES = 5  # blocks that a look-up of narrow rows holds: positions, masks, parts and the joined parts


def _are_arrays(indices: Sequence[Node]) -> bool:
    """Return whether all indices are arrays in ``main``, not Python numbers."""
    return not any(index.is_literal or is_known_on_host(index) for index in indices)


def _table(node: Node) -> OperandAxes:
    return {(0, node.parameters["axis"]): None} if _are_arrays(node.operands[1:]) else {}


def _take(node: Node) -> Arguments:
    axis = node.parameters["axis"]
    return (Slot(0), Slot(1)), {"axis": axis} if axis else {}


def _first_indexed(node: Node) -> OperandAxes:
    """Return the first indexed axis of ``x[.., i, j]``."""
    index = node.parameters["index"]
    plain = all(item == FULL or isinstance(item, Slot) for item in index) and _are_arrays(node.operands[1:])
    return {(0, index.count(FULL)): None} if plain else {}


def _take_elements(node: Node) -> Arguments:
    index = node.parameters["index"]
    axis = index.count(FULL)
    return (Slot(0), tuple(index[axis:])), {"axis": axis} if axis else {}


def _place(node: Node) -> tuple[int, Any] | None:
    """Return the axis of ``x[:, i]`` or ``x[:, i : i + 4]`` that has a computed position, and its item; None if there
    are several or another kind of index.
    """
    found = [(axis, item) for axis, item in enumerate(node.parameters["index"]) if item != FULL]
    is_alone = len(found) == 1 and slot_of(found[0][1]) is not None and not node.operands[1].ndim
    return found[0] if is_alone and _are_arrays(node.operands[1:]) else None


def _indexed_axis(node: Node) -> int:
    (axis,) = (axis for axis, item in enumerate(node.parameters["index"]) if item != FULL)
    return axis


def _row(node: Node) -> OperandAxes:
    """Return the axis of ``x[:, i]`` with the computed number."""
    place = _place(node)
    return {(0, place[0]): None} if place is not None and isinstance(place[1], Slot) else {}


def _take_row(node: Node) -> Arguments:
    axis = _indexed_axis(node)
    return (Slot(0), Slot(1)), {"axis": axis} if axis else {}


def _rows(node: Node) -> OperandAxes:
    """Return the axis of ``x[:, i : i + 4]`` whose slice begins at a computed number."""
    place = _place(node)
    return {(0, place[0]): None} if place is not None and isinstance(place[1], tuple) and is_filled(node) else {}


def _take_rows(node: Node) -> Arguments:
    axis = _indexed_axis(node)
    return (Slot(0), tuple(Slot(1) if k == axis else 0 for k in range(node.ndim)), node.shape), {}


def _sliced(node: Node) -> OperandAxes:
    x, shape = node.operands[0], node.shape
    return {(0, axis): axis if n == shape[axis] else None for axis, n in enumerate(x.shape)} if is_filled(node) else {}


_SLICING: dict[str, Any] = {"reads": 1, "holds": PLACES, "is_sized": True, "by_rows": True}
IMPLEMENTATIONS: Implementations = {
    "getitem": (
        ChunkedImplementation("take_in_chunks", _row, _take_row, reads=1, each=None, by_rows=True),
        ChunkedImplementation("dynamic_slice_in_chunks", _rows, _take_rows, **_SLICING),
    ),
    "take": (ChunkedImplementation("take_in_chunks", _table, _take, reads=1, each=None, by_rows=True),),
    "advanced_index": (
        ChunkedImplementation("take_in_chunks", _first_indexed, _take_elements, reads=1, each=None, by_rows=True),
    ),
    "take_along_axis": (
        ChunkedImplementation("take_along_axis_in_chunks", _table, _take, reads=1, each=None, by_rows=True),
    ),
    "dynamic_slice": (ChunkedImplementation("dynamic_slice_in_chunks", _sliced, as_it_is, **_SLICING),),
}
