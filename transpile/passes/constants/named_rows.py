"""Rows that a library function gives are calls of it: windows, such as ``np.hanning(64)``, and the frequencies of a
transform, ``np.fft.fftfreq(64, 0.1)``.

JAX writes their formulas out, and some libraries give them as tables. They are found by their values, which are worked
out in float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node
from ...array.operations import OPERATIONS
from ...array.program import Function
from ...array.rewriting import called, rewrite
from ...array.support import Support
from ...array.value import getitem
from ...hlo.element_types import F64
from ..rewriting.rules import is_full_float
from .interpreter import value_of

Row = np.ndarray[Any, np.dtype[np.float64]]

_SHORTEST, _LONGEST = 8, 4096  # numbers of a row that is looked up
_NOTHING = 1e-14  # what is left of a difference of equal numbers
_MOST_DIGITS = 6  # of a parameter that is found from a row
_LARGEST_BETA = 100
_STEPS = 80  # of a bisection
_WINDOWS = ("hanning", "hamming", "blackman", "bartlett")
_FREQUENCIES = "np.fft.fftfreq"
_ROOTS = ("array", *(opcode for opcode, row in OPERATIONS.items() if row.is_elementwise))


def named_rows(function: Function, supports: Support) -> None:
    """Call the library's function for rows of constants that it gives."""
    if supports.features.sizes_are_fixed:
        live, values = live_nodes(function), dict[Node, "Row | None"]()
        rewrite(function, _ROOTS, lambda node: _named(function.graph, live, node, values), supports)


def _named(graph: Graph, live: LiveNodes, node: Node, values: dict[Node, Row | None]) -> Node | None:
    if node.ndim != 1 or not _SHORTEST <= node.shape[0] <= _LONGEST or not is_full_float(node.type):
        return None
    row = _value(node, values)
    if row is None:
        return None
    wide = node.type.dtype == np.float64
    for name, arguments, cut, other in _candidates(row):
        if (np.abs(row - other[: len(row)]) <= _allowed(node, name, other[: len(row)])).all():
            like = graph.add("full", (graph.literal(0, F64),), shape=(len(other),))
            made = called(graph, name, (), like, *arguments)
            made = getitem(graph, made, ((None, -1, None),)) if cut else made
            return made if wide else graph.add("convert", (made,), element_type=node.element_type)
    return None


def _allowed(node: Node, name: str, other: Row) -> Row:
    """Return by how much numbers may differ from those of a function. A formula's constants are rounded, but a window
    that ends with 0 does so still, since it may be a divisor. A table is what it says, but for its last bits.
    """
    eps, size = float(np.finfo(node.type.dtype).eps), np.abs(other)
    if _has_table(node):
        return 2 * eps * size + _NOTHING
    if name == _FREQUENCIES:
        return 2 * eps * size
    cancels = name == "np.blackman"  # 0.42 - 0.5 + 0.08
    return np.where((size > _NOTHING) | cancels, (16 * size + 0.5) * eps, _NOTHING)


def _has_table(node: Node) -> bool:
    """Return whether numbers of a row are given, not worked out."""
    return (node.opcode == "array" and node.ndim > 0) or any(map(_has_table, node.operands))


def _candidates(row: Row) -> Iterator[tuple[str, tuple[Any, ...], bool, Row]]:
    """Yield the functions that may give a row: the name, the arguments, whether the last number is left out, and what
    it gives.
    """
    n = len(row)
    if not np.isfinite(row).all():
        return
    if row.max() <= 1 + 1e-6 and row.min() >= -1e-6:
        for name in _WINDOWS:
            for size in (n, n + 1):  # symmetric, and periodic
                yield f"np.{name}", (size,), size > n, getattr(np, name)(size)
        if 0 < row[0] < 1 and abs(row[0] - row[-1]) <= 1e-6 and (beta := _beta(1 / row[0])) is not None:
            yield "np.kaiser", (n, beta), False, np.kaiser(n, beta)
    if row[0] == 0 and row[1] > 0 > row[-1] and row[1] % 1:
        spacing = _plain(1 / (n * row[1]))
        arguments: tuple[Any, ...] = (n,) if spacing == 1 else (n, spacing)
        yield _FREQUENCIES, arguments, False, np.fft.fftfreq(n, spacing).astype(np.float64)


def _beta(size: float) -> float | int | None:
    """Return the number of which the Bessel function ``np.i0`` has a value; None if it is large."""
    low, high = 0.0, float(_LARGEST_BETA)
    if not 1 < size < np.i0(high):
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if np.i0(middle) < size else (low, middle)
    return _plain(low)


def _plain(number: float) -> float | int:
    """Return a number with few digits."""
    rounded = float(f"{number:.{_MOST_DIGITS}g}")
    return int(rounded) if rounded == int(rounded) else rounded


def _value(node: Node, values: dict[Node, Row | None]) -> Row | None:
    """Return the value of a node that depends on nothing but constants, in float64; else None."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        missing = [operand for operand in one.operands if operand not in values]
        if one in values:
            continue
        if any(operand in values and values[operand] is None for operand in one.operands):
            values[one] = None
        elif missing:
            waiting += one, *missing
        else:
            values[one] = _computed(one, values)
    return values[node]


def _computed(node: Node, values: dict[Node, Row | None]) -> Row | None:
    given = [value for operand in node.operands if (value := values[operand]) is not None]
    if len(given) < len(node.operands) or node.ndim > 1 or (node.shape and node.shape[0] > _LONGEST):
        return None
    if node.opcode == "call":
        return _result(node)
    with np.errstate(all="ignore"):
        if (found := _called(node, *given)) is not None:
            return found
        if any(operand.element_type is None for operand in node.operands):
            return None
        own = [value.astype(operand.type.dtype) for value, operand in zip(given, node.operands, strict=True)]
        exact = value_of(node, own)
        if exact is not None:
            return np.asarray(exact, np.float64) if exact.dtype.kind in "biuf" else None
        function = getattr(np, node.operation.function or "", None) if node.element_type is not None else None
        is_known = function is not None and node.operation.is_elementwise and is_full_float(node.type)
        return np.asarray(function(*given), np.float64) if function is not None and is_known else None


def _called(node: Node, *operands: Row) -> Row | None:
    """Return what a function of the library or of the prelude gives, for those that such formulas have."""
    function = node.parameters.get("function")
    arguments = [item.array for item in node.parameters.get("arguments", ()) if hasattr(item, "array")]
    if function in ("mod", "fmod") and len(operands) == len(arguments) == 1:
        rest: Row = getattr(np, function)(operands[0], arguments[0].astype(np.float64))
        return rest
    if function in ("i0e", "i0e_float64") and len(operands) + len(arguments) == 1:
        (x,) = operands or arguments
        scaled: Row = np.i0(np.abs(x)) * np.exp(-np.abs(x))
        return scaled
    return None


def _result(node: Node) -> Row | None:
    """Return what a function of the program gives that takes nothing."""
    result = node.parameters["function"].results
    return _value(result, {}) if isinstance(result, Node) and not node.operands else None
