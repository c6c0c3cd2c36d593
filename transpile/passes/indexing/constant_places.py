"""Additions at distinct constant positions: ``x[i] += y`` for ``np.add.at(x, i, y)``, and a permutation of rows for an
array of zeros that gets all of them.

Adding to 0 loses the sign of -0, so 0 is added where the sign makes a difference, other than to the sign of a zero.

The gradient of an assignment numbers the values, assigns the numbers to zeros, and asks where 0 is left:
``x[i] = 0`` is what it means.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Constant, Node, Slot, Ufunc, literal_value
from ...array.program import Function
from ...array.rewriting import called, rewrite, with_operands
from ...array.support import Support
from ...array.value import FULL, permute
from ..algebra.signed_zeros import is_never_minus_zero, sign_matters
from ..constants.interpreter import known_value
from ..rewriting.patterns import is_number, is_zeros, pattern

_MOST = 4096  # positions in a table that is examined
_ADD = Ufunc("add")
_HAS_OPERATOR = (_ADD, Ufunc("multiply"))
_NUMBERED = tuple(
    pattern(f"select(compare((numbered := setitem(zeros, numbers, {places})), 0, direction='EQ'), x, ZERO)")
    for places in ("i", "i, j")
)


def constant_places(function: Function, supports: Support) -> None:
    """Replace additions at distinct constant positions by assignments."""
    if not supports.features.arrays_are_mutable:
        return
    graph, live = function.graph, live_nodes(function)
    is_entry = function.is_entry
    rewrite(function, ("select",), lambda node: _without_numbered(graph, node), supports)
    rewrite(function, ("update_at",), lambda node: _assigned(graph, live, node, is_entry=is_entry), supports)
    rewrite(function, ("transpose",), lambda node: _along_axis(graph, live, node), supports)
    rewrite(function, ("setitem",), lambda node: _diagonal(graph, node), supports)


def _assigned(graph: Graph, live: LiveNodes, node: Node, *, is_entry: bool) -> Node | None:
    array, value, *indices = node.operands
    slots = tuple(Slot(2 + k) for k in range(len(indices)))
    if node.parameters["index"] != slots or "distinct" in node.parameters or not _are_distinct(indices, node.shape):
        return None
    if node.parameters["ufunc"] not in _HAS_OPERATOR:
        return None
    is_sum = node.parameters["ufunc"] == _ADD
    is_free = is_sum and _is_free(live, node, is_entry=is_entry)
    if is_sum and _is_zero_at(array, indices, slots):
        kept = value if is_free else graph.add("add", (value, graph.literal(0, value.type)))
        return graph.add("setitem", (array.operands[0], kept, *indices), index=slots)
    if not (is_zeros(array) and is_free):
        return with_operands(graph, node, node.operands, distinct=True)
    (index, *others), places = indices, _table(indices[0])
    if not others and places is not None and places.size == node.shape[0] and value.shape == node.shape:
        return _permuted(graph, value, index, np.argsort(places))
    return graph.add("setitem", (array, value, *indices), index=slots)


def _without_numbered(graph: Graph, node: Node) -> Node | None:
    """Return an array with 0 at the places that numbers were assigned to, for a selection of the others; or None."""
    found = next((found for each in _NUMBERED if (found := each.match(node)) is not None), None)
    if found is None or node.shape != found["x"].shape or node.shape != found["numbered"].shape:
        return None
    indices, zero, numbers = found["numbered"].operands[2:], found["ZERO"], found["numbers"].interval
    is_numbered = numbers is not None and numbers[0] > 0 and is_zeros(found["zeros"])
    if not is_numbered or literal_value(zero) or not is_never_minus_zero(zero):
        return None
    return graph.add("setitem", (found["x"], zero, *indices), index=found["numbered"].parameters["index"])


def _is_zero_at(array: Node, indices: Sequence[Node], slots: tuple[Slot, ...]) -> bool:
    """Return whether 0 was stored at the places."""
    is_stored = array.opcode == "setitem" and array.operands[2:] == tuple(indices)
    return is_stored and array.parameters["index"] == slots and is_number(array.operands[1], 0)


def _diagonal(graph: Graph, node: Node) -> Node | None:
    """Return ``np.diag(x)`` for an array of zeros with ``x`` stored on its diagonal; None for other updates."""
    array, value, *indices = node.operands
    is_row = len(indices) == 2 and indices[0] is indices[1] and indices[0].opcode == "arange"
    is_whole = is_row and value.shape * 2 == node.shape == indices[0].shape * 2
    is_new = is_zeros(array) and is_never_minus_zero(array.operands[0])
    is_stored = is_whole and is_new and node.parameters["index"] == (Slot(2), Slot(3))
    return called(graph, "np.diag", (value,), node) if is_stored else None


def _are_distinct(indices: Sequence[Node], shape: tuple[int, ...]) -> bool:
    """Return whether no position occurs twice: for constants, and for an order of all elements."""
    tables = [table for index in indices if (table := _table(index)) is not None]
    if len(tables) < len(indices):
        return len(indices) == 1 and indices[0].opcode == "argsort" and indices[0].ndim == 1
    places = _flat(tables, shape)
    return places is not None and len(np.unique(places)) == places.size


def _is_free(live: LiveNodes, node: Node, *, is_entry: bool) -> bool:
    """Return whether 0 plus a value may be replaced by the value."""
    is_sure = node.type.is_integral or is_never_minus_zero(node.operands[1])
    return is_sure or not sign_matters(live, node, is_entry=is_entry)


def _permuted(graph: Graph, value: Node, index: Node, order: np.ndarray) -> Node:
    if np.array_equal(order, np.arange(order.size)):
        return value
    constant = Constant.of(order.astype(index.type.dtype))
    table = graph.add("array", (), element_type=index.element_type, interval=index.interval, constant=constant)
    return graph.add("take", (value, table), axis=0, clamped=False)


def _along_axis(graph: Graph, live: LiveNodes, node: Node) -> Node | None:
    """Return an update or a take along its own axis, where the axis was moved to the front; or None."""
    axes, (changed,) = node.parameters["axes"], node.operands
    axis = axes.index(0)
    is_moved = axes == (*range(1, axis + 1), 0, *range(axis + 1, node.ndim))
    if changed.opcode == "take" and changed.parameters["axis"] == 0 and changed.operands[1].ndim == 1 and is_moved:
        x, table = changed.operands
        return graph.add("take", (permute(graph, x, axes), table), axis=axis, clamped=changed.parameters["clamped"])
    if changed.opcode not in ("setitem", "update_at") or live.count(changed) > 1 or not is_moved:
        return None
    array, value, *indices = changed.operands
    is_row = changed.parameters["index"] == (Slot(2),) and indices[0].ndim == 1 and value.ndim == node.ndim
    is_once = changed.opcode == "setitem" or changed.parameters.get("distinct", False)
    if not is_row or not is_once or not (array.operation.is_filled or array.opcode == "transpose"):
        return None
    operands = (_turned(graph, array, axes), permute(graph, value, axes), *indices)
    return graph.add(changed.opcode, operands, **{**changed.parameters, "index": (FULL,) * axis + (Slot(2),)})


def _turned(graph: Graph, array: Node, axes: Sequence[int]) -> Node:
    """Return an array with permuted axes; a filled array is filled anew."""
    if array.operation.is_filled:
        return graph.add(array.opcode, array.operands, shape=tuple(array.shape[axis] for axis in axes))
    return permute(graph, array, axes)


def _table(index: Node) -> np.ndarray | None:
    """Return the constant positions of an index, or None."""
    return known_value(index) if prod(index.shape) <= _MOST else None


def _flat(tables: Sequence[np.ndarray], shape: tuple[int, ...]) -> np.ndarray | None:
    """Return the positions as flat numbers, or None if one is outside of an array of the shape."""
    sizes = shape[: len(tables)]
    if any(table.size and not (table.min() >= 0 and table.max() < n) for table, n in zip(tables, sizes, strict=True)):
        return None
    return np.ravel_multi_index(tuple(np.broadcast_arrays(*tables)), sizes).ravel()
