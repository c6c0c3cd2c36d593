"""``np.tril_indices`` and ``np.triu_indices``: JAX counts the elements of a mask to find these positions, and a table
may hold them, or two tables: those of all pairs, ``x[i] - x[j]``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from ...array.graph import Graph
from ...array.node import Constant, Node
from ...array.operations import OPERATIONS
from ...array.program import Function
from ...array.rewriting import call_parameters, rewrite, with_operands
from ...array.support import Support
from ..constants.interpreter import Array, known_value
from ..rewriting.users import index_places

_LEAST = 3  # positions; fewer are short lists
_MOST = 128  # rows of a matrix
_INDEXED = tuple(name for name, row in OPERATIONS.items() if row.takes_positions)
_CALLS = {"tril_indices": np.tril_indices, "triu_indices": np.triu_indices}
_OFFSETS_OF_PAIRS = {"triu_indices": (1, 0), "tril_indices": (-1, 0)}
_Call = tuple[str, tuple[int, ...], tuple[int, ...]]  # its name, its arguments, which of its results


def triangle_places(function: Function, supports: Support) -> None:
    """Raise constant positions of all elements of a triangle, row by row; other columns of a table of positions become
    tables of their own.
    """
    graph = function.graph
    rewrite(function, _INDEXED, lambda node: _by_column(graph, node), supports)
    rewrite(function, _INDEXED, lambda node: _by_name(graph, node), supports)


def _by_column(graph: Graph, node: Node) -> Node | None:
    """Return the same operation with its own tables in place of parts of a constant one, or None."""
    own = {place: table for place in index_places(node) if (table := _column(graph, node.operands[place])) is not None}
    return with_operands(graph, node, tuple(own.get(k, one) for k, one in enumerate(node.operands))) if own else None


def _column(graph: Graph, index: Node) -> Node | None:
    is_part = index.opcode == "getitem" and index.operands[0].opcode == "array"
    value = known_value(index) if is_part else None
    if value is None or not np.ndim(value):
        return None
    constant = Constant.of(np.ascontiguousarray(value))
    return graph.add("array", (), element_type=index.element_type, interval=index.interval, constant=constant)


def _by_name(graph: Graph, node: Node) -> Node | None:
    places = index_places(node)
    tables, sizes = [node.operands[place] for place in places], tuple(places.values())
    if not 1 <= len(sizes) <= 2 or any(table.ndim != 1 or table.opcode in ("arange", "item") for table in tables):
        return None
    if tables[0].shape[0] < _LEAST or max(sizes) > _MOST:
        return None
    values = [value for table in tables if (value := known_value(table)) is not None]
    if len(values) < len(tables):
        return None
    found = _of_pairs(sizes[0]).get(_key(values[0])) if len(values) == 1 else _triangle(values[0], values[1], sizes)
    if found is None:
        return None
    name, arguments, parts = found
    call = graph.add("library", (), **call_parameters(name, (), *arguments))
    positions = {
        place: graph.add("item", (call,), index=part, interval=(0, places[place] - 1))
        for place, part in zip(places, parts, strict=True)
    }
    return with_operands(graph, node, tuple(positions.get(k, one) for k, one in enumerate(node.operands)))


def _triangle(row: Array, column: Array, sizes: tuple[int, ...]) -> _Call | None:
    """Return the call that gives these positions of a matrix, or None."""
    if row.shape != column.shape or (row < 0).any() or (column < 0).any():
        return None
    first = column[row == row[0]]  # the columns of the first row
    ends = {
        "tril_indices": int(first[-1] - row[0]),
        "triu_indices": int(column[0] - row[0]) if column[0] else -int(row[column == 0].max()),
    }
    for name, places in _CALLS.items():
        expected = places(sizes[0], ends[name], sizes[1])
        if np.array_equal(row, expected[0]) and np.array_equal(column, expected[1]):
            return name, tuple(_short(sizes[0], ends[name], sizes[1])), (0, 1)
    return None


@cache
def _of_pairs(size: int) -> dict[bytes, _Call]:
    """Return the calls that list all pairs along an axis, each by one of its results."""
    return {
        _key(table): (name, tuple(_short(size, offset, size)), (part,))
        for name, offsets in _OFFSETS_OF_PAIRS.items()
        for offset in offsets
        for part, table in enumerate(_CALLS[name](size, offset))
    }


def _key(table: Array) -> bytes:
    return table.astype(np.int64).tobytes()


def _short(rows: int, offset: int, columns: int) -> Iterator[int]:
    """Yield the arguments without defaults."""
    yield rows
    if offset or rows != columns:
        yield offset
    if rows != columns:
        yield columns
