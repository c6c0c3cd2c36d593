"""Arithmetic progressions: ``np.arange(19, -1, -1)``, and as indices the slice ``x[::-1]``.

JAX traces ``19 - np.arange(20)`` for the former, and takes elements at such indices for the latter. A row is an
``arange``, or a ``range`` with a start and a step, if no operation that computes it can wrap around.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node, Slot, literal_value
from ...array.program import Function
from ...array.rewriting import rewrite
from ...array.support import Support
from ...array.value import FULL, NEW, getitem
from ...hlo.element_types import PRED, S32
from ..rewriting.patterns import is_number

_TYPES = {"s32": 2**31, "s64": 2**63, "f32": 2**24, "f64": 2**53}  # integers below this are exact in the type
_LEAST_ROW = 3  # numbers of a computed row
_LEAST_TABLE = 4  # numbers of a table that is written as a range
_LEAST_MASK = 6
_DEEPEST = 6  # nested operations that are followed
_PIECE = 1 << 12  # numbers of a table that are checked at a time
_WHOLE = (None, None, None)  # a slice of all elements


def ranges(function: Function, supports: Support) -> None:
    """Write evenly spaced elements as slices, and rows of numbers by their start, stop and step."""
    if not supports.features.sizes_are_fixed:
        return
    graph, live = function.graph, live_nodes(function)
    rewrite(function, ("cumsum",), partial(_counting, graph), supports)
    rewrite(function, ("take", "setitem"), partial(_sliced, graph), supports)
    rewrite(function, ("add", "subtract", "multiply", "negate", "convert"), partial(_counted, graph, live), supports)


def tables(function: Function, supports: Support) -> None:
    """Write tables of evenly spaced integers as ranges, and elements at known positions as slices."""
    if supports.features.sizes_are_fixed:
        rewrite(function, ("prelude",), partial(_taken, function.graph), supports)
        rewrite(function, ("take", "setitem"), partial(_sliced, function.graph), supports)
        rewrite(function, ("array",), partial(_of_table, function.graph), supports)


def row_of(node: Node, depth: int = _DEEPEST) -> range | None:
    """The values of a node as a range, if they are evenly spaced and none of them is rounded, wraps around or is -0."""
    if node.ndim != 1 or node.element_type is None or node.type.name not in _TYPES or depth == 0:
        return None
    if node.interval is None and node.type.is_integral:
        return None
    row = _row_of_table(node) if node.opcode == "array" else _computed(node, depth)
    return row if row and max(abs(row[0]), abs(row[-1]), abs(row.stop)) < _TYPES[node.type.name] else None


def _computed(node: Node, depth: int) -> range | None:
    if node.opcode in ("arange", "range"):
        given = node.parameters
        return range(given.get("start", 0), given["stop"], given.get("step", 1))
    if node.opcode == "convert":
        return row_of(node.operands[0], depth - 1)
    if node.opcode == "getitem":
        return _part(row_of(node.operands[0], depth - 1), node.parameters["index"])
    if node.opcode == "negate":
        return _times(row_of(node.operands[0], depth - 1), -1, node)
    if node.opcode not in ("add", "subtract", "multiply"):
        return None
    left, right = map(_number, node.operands)
    number = left if left is not None else right
    row = row_of(node.operands[0 if left is None else 1], depth - 1)
    if row is None or number is None:
        return None
    if node.opcode == "multiply":
        return _times(row, number, node)
    if node.opcode == "subtract" and left is not None:
        return range(left - row.start, left - row.stop, -row.step)
    return _plus(row, number if node.opcode == "add" else -number)


def _part(row: range | None, index: tuple[Any, ...]) -> range | None:
    """A slice of a row."""
    is_slice = len(index) == 1 and isinstance(index[0], tuple)
    return row[slice(*index[0])] if row is not None and is_slice else None


def _number(node: Node) -> int | None:
    if not node.is_literal or not (node.type.is_integral or node.type.name in _TYPES):
        return None
    value = literal_value(node)
    is_whole = bool(np.isfinite(value)) and value == int(value) and not (value == 0 and np.signbit(value))
    return int(value) if is_whole else None


def _taken(graph: Graph, node: Node) -> Node | None:
    """Elements at the positions of a table, all within bounds, so that none is filled."""
    if node.parameters["function"] != "take_or_fill" or "fill" in node.parameters["keywords"]:
        return None
    (x, index), axis = node.operands, node.parameters["keywords"].get("axis", 0)
    within = index.interval if index.opcode == "array" else None
    is_inside = within is not None and -x.shape[axis] <= within[0] and within[1] < x.shape[axis]
    return graph.add("take", (x, index), axis=axis, clamped=False) if is_inside else None


def _times(row: range | None, factor: int, node: Node) -> range | None:
    """A row times a number; for floats, 0 times a negative number is -0."""
    if row is None or factor == 0 or (factor < 0 and not node.type.is_integral):
        return None
    return range(row.start * factor, row.stop * factor, row.step * factor)


def _plus(row: range, number: int) -> range:
    return range(row.start + number, row.stop + number, row.step)


def _row_of_table(node: Node) -> range | None:
    values = node.parameters["constant"].array
    if values.ndim != 1 or len(values) < 2 or not _are_whole(values[:2]):
        return None
    first, step = int(values[0]), int(values[1]) - int(values[0])
    row = range(first, first + step * len(values), step) if step else range(0)
    pieces = (slice(start, start + _PIECE) for start in range(0, len(values), _PIECE))
    is_row = all(values[k].tolist() == list(row[k]) and _are_whole(values[k]) for k in pieces)
    return row if is_row else None


def _are_whole(values: np.ndarray[Any, np.dtype[Any]]) -> bool:
    """Whether all numbers are integers, whatever their type; -0.0 is not."""
    if values.dtype.kind in "iu":
        return True
    return (
        bool(np.isfinite(values).all() and (values == np.trunc(values)).all())
        and not np.signbit(values[values == 0]).any()
    )


def _counting(graph: Graph, node: Node) -> Node | None:
    """The numbers 1, 2, .. for the running sum of ones."""
    (ones,) = node.operands
    is_short = node.ndim == 1 and node.type.name in _TYPES and node.shape[0] < _TYPES[node.type.name]
    is_of_ones = ones.operation.is_filled and is_number(ones.operands[0], 1)
    return _made(graph, node, range(1, node.shape[0] + 1)) if is_short and is_of_ones else None


def _counted(graph: Graph, live: LiveNodes, node: Node) -> Node | None:
    """A row that is computed only for this node, written by its numbers."""
    row = row_of(node)
    if node.opcode == "convert" and node.operands[0].opcode == "arange":
        return None  # handled by its own pass
    if row is None or any(live.count(part) > 1 for part in _inside(node)):
        return None
    return _made(graph, node, row)


def _inside(node: Node) -> list[Node]:
    """The non-literal nodes that a row is computed from."""
    parts = [operand for operand in node.operands if not operand.is_literal]
    return [*parts, *(inner for part in parts for inner in _inside(part))]


def _made(graph: Graph, node: Node, row: range) -> Node | None:
    if len(row) < _LEAST_ROW:
        return None
    kind, is_integral = node.element_type, node.type.is_integral
    interval = (min(row[0], row[-1]), max(row[0], row[-1])) if is_integral else None
    if row.start == 0 and row.step == 1:
        return graph.add("arange", (), element_type=kind, interval=interval, stop=row.stop)
    numbers: dict[str, Any] = {"start": row.start, "stop": row.stop, "step": row.step}
    return graph.add("range", (), element_type=kind, interval=interval, **numbers)


def _of_table(graph: Graph, node: Node) -> Node | None:
    if node.element_type is PRED:
        return _mask(graph, node)
    row = row_of(node)
    return _made(graph, node, row) if row is not None and len(row) >= _LEAST_TABLE else None


def _mask(graph: Graph, node: Node) -> Node | None:
    """``np.arange(8) < 3`` for a row that is true up to some place, or from there on."""
    values = node.parameters["constant"].array
    flat = values.reshape(-1)
    places = np.flatnonzero(flat[1:] != flat[:-1])
    if len(places) != 1 or max(values.shape) != flat.size or flat.size < _LEAST_MASK:
        return None
    counts = graph.add("arange", (), element_type=S32, interval=(0, flat.size - 1), stop=flat.size)
    (last,) = places
    number, direction = (0, "EQ") if flat[0] and last == 0 else (last + 1, "LT" if flat[0] else "GE")
    mask = graph.add("compare", (counts, graph.literal(int(number), S32)), direction=direction)
    return getitem(graph, mask, [FULL if size > 1 else NEW for size in values.shape])


# -- slices


def _sliced(graph: Graph, node: Node) -> Node | None:
    """``x[1:5]`` for the elements at 1, 2, 3 and 4."""
    array = node.operands[0]
    if node.opcode == "take":
        axis, place = node.parameters["axis"], 1
        index: tuple[object, ...] = (*(FULL,) * axis, Slot(1), *(FULL,) * (array.ndim - axis - 1))
    else:
        index = tuple(node.parameters["index"])
        slots = [item for item in index if isinstance(item, Slot)]
        if len(slots) != 1 or any(item != FULL and item is not slots[0] for item in index):
            return None
        axis, place = index.index(slots[0]), slots[0].index
    row = row_of(node.operands[place])
    if (
        row is None
        or len(row) < (2 if row.step == 1 else _LEAST_ROW)
        or not 0 <= min(row[0], row[-1]) <= max(row[0], row[-1]) < array.shape[axis]
    ):
        return None
    item = slice_of(row, array.shape[axis])
    index = tuple(item if k == axis else each for k, each in enumerate(index))
    if node.opcode == "take":
        return array if item == _WHOLE else graph.add("getitem", (array,), interval=node.interval, index=index)
    operands = tuple(operand for k, operand in enumerate(node.operands) if k != place)
    return graph.add("setitem", operands, interval=node.interval, **{**node.parameters, "index": index})


def slice_of(row: range, size: int) -> tuple[int | None, int | None, int | None]:
    """Start, stop and step as one would write them, with None for what is left out."""
    last = row[-1]
    if row.step > 0:
        start, stop = row.start or None, None if last + row.step >= size else last + 1
    else:
        start, stop = None if row.start == size - 1 else row.start, None if last + row.step < 0 else last - 1
    return start, stop, None if row.step == 1 else row.step
