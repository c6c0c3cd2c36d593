"""Arrays that are moved, joined or written into others along axes with several chunks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ....transpile.array.node import Node, Slot, literal_value
from ....transpile.array.scalars import is_known_on_host
from ....transpile.array.value import FULL
from ..planning.chunked_implementation import (
    EVERY_OPERAND,
    Arguments,
    ChunkedImplementation,
    Implementations,
    OperandAxes,
)
from ..planning.nodes import is_argument, is_filled
from ..planning.scatters import is_scatter


class _Box(NamedTuple):
    """A box in an array: its start (a number, or an operand that is a number in ``main``), shape and step along each
    axis.
    """

    starts: tuple[int | Slot, ...]
    shape: tuple[int, ...]
    steps: tuple[int, ...]

    @property
    def is_dense(self) -> bool:
        """Whether all steps are 1."""
        return set(self.steps) == {1}


def _box(node: Node) -> _Box | None:
    """Return the box that an index selects, or None if the index does not select a box."""
    x, items = node.operands[0], node.parameters["index"]
    parts = [_part(node, item, n) for item, n in zip(items, x.shape, strict=False)]
    parts += [(0, n, 1) for n in x.shape[len(items) :]]
    found = [part for part in parts if part is not None]
    return _Box(*map(tuple, zip(*found, strict=True))) if len(found) == len(parts) == x.ndim > 0 else None


def _part(node: Node, item: Any, size: int) -> tuple[int | Slot, int, int] | None:
    """Return the start, length and step that an item of an index selects; None for items of other kinds."""
    if item == FULL:
        return 0, size, 1
    if not isinstance(item, tuple):
        return None
    if len(item) == 2:  # a start and a length
        start, length = item
        if not isinstance(start, Slot):
            return start, length, 1
        place = node.operands[start.index]
        if place.is_literal:
            return int(literal_value(place)), length, 1
        return (start, length, 1) if is_known_on_host(place) else None
    taken = range(size)[slice(*item)]
    return taken.start, len(taken), taken.step


def _all_axes(node: Node) -> OperandAxes:
    """Return all axes of all operands that have the rank of the result."""
    arrays = [k for k, operand in enumerate(node.operands) if operand.ndim == node.ndim]
    filled = all(0 not in node.operands[k].shape for k in arrays)
    sizes = {(k, axis): node.operands[k].shape[axis] for k in arrays for axis in range(node.ndim)}
    return {place: place[1] if n == node.shape[place[1]] else None for place, n in sizes.items()} if filled else {}


def _roll(node: Node) -> Arguments:
    shift, axis = (
        several if isinstance(several, tuple) else (several,)
        for several in (node.parameters["shift"], node.parameters["axis"])
    )
    return (Slot(0), shift, axis), {}


def _concatenate(node: Node) -> Arguments:
    return tuple(Slot(k) for k in range(len(node.operands))), {"axis": node.parameters["axis"]}


def _padded(node: Node) -> OperandAxes:
    if node.opcode != "pad" or not node.operands[1].is_literal:
        return {}  # the prelude's pad also pads between elements
    is_grown = all(side >= 0 for width in node.parameters["widths"] for side in width)
    return _all_axes(node) if is_filled(node) and is_grown else {}


def _sliced(node: Node) -> OperandAxes:
    """Return the axes of a slice that keeps the rank. dask.array reverses computed arrays in place, so that is left to
    it.
    """
    x = node.operands[0]
    is_turned = x.shape == node.shape and not is_argument(x)
    return _all_axes(node) if len(x.shape) == node.ndim and not is_turned and _box(node) is not None else {}


def _slice(node: Node) -> Arguments:
    box = _box(node)
    assert box is not None
    return (Slot(0), box.starts, box.shape, *(() if box.is_dense else (box.steps,))), {}


def _written(node: Node) -> OperandAxes:
    box = _box(node) if not is_scatter(node) else None
    fits = box is not None and box.is_dense and node.operands[1].shape == box.shape
    return _all_axes(node) if fits else {}


def _write(node: Node) -> Arguments:
    box = _box(node)
    assert box is not None
    return (Slot(0), Slot(1), box.starts), {}


def _reshaped(node: Node) -> OperandAxes:
    """Return all axes: a reshape may merge or split any of them."""
    return {(0, axis): None for axis in range(node.operands[0].ndim)} if is_filled(node) else {}


def _reshape(node: Node) -> Arguments:
    return (Slot(0), node.shape), {}


def _placing(
    function: str, divides: Callable[[Node], OperandAxes], arguments: Callable[[Node], Arguments]
) -> tuple[ChunkedImplementation, ...]:
    return (
        ChunkedImplementation(
            function,
            divides,
            arguments,
            reads=EVERY_OPERAND,
            holds=1,
            each=None,
            is_sized=True,
            takes_files=True,
            by_rows=True,
            for_pieces="PlacingUnread",
        ),
    )


IMPLEMENTATIONS: Implementations = {
    "roll": _placing("roll_in_chunks", _all_axes, _roll),
    "concatenate": _placing("concatenate_in_chunks", _all_axes, _concatenate),
    "pad": _placing("pad_in_chunks", _padded, lambda node: ((Slot(0), Slot(1), node.parameters["widths"]), {})),
    "getitem": _placing("slice_in_chunks", _sliced, _slice),
    "reshape": (
        ChunkedImplementation(
            "reshape_in_chunks", _reshaped, _reshape, reads=1, holds=1, each=None, is_sized=True, by_rows=True
        ),
    ),
    "setitem": _placing("update_slice_in_chunks", _written, _write),
}
