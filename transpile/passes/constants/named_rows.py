"""Rows that a library function gives are calls of it: windows, such as ``np.hanning(64)``, and the frequencies of a
transform, ``np.fft.fftfreq(64, 0.1)``.

JAX writes their formulas out, and some libraries give them as tables. They are found by their values, which are worked
out in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node, literal_value
from ...array.program import Function
from ...array.rewriting import called, rewrite
from ...array.support import Support
from ...array.value import getitem
from ...hlo.element_types import F64
from ..rewriting.rules import is_full_float

Row = np.ndarray[Any, np.dtype[np.float64]]

_SHORTEST, _LONGEST = 8, 4096  # numbers of a row that is looked up
_UNITS = {True: 2, False: 16}  # in the last place of the largest number, for quotients and for formulas
_MOST_DIGITS = 6  # of a parameter that is found from a row
_LARGEST_BETA = 100
_STEPS = 80  # of a bisection
_WINDOWS = ("hanning", "hamming", "blackman", "bartlett")
_FREQUENCIES = "np.fft.fftfreq"
_ROOTS = ("add", "subtract", "multiply", "divide", "square", "array")
_OPERATIONS: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "add": np.add,
    "cosine": np.cos,
    "divide": np.divide,
    "exponential": np.exp,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "multiply": np.multiply,
    "negate": np.negative,
    "remainder": np.fmod,
    "sine": np.sin,
    "sqrt": np.sqrt,
    "square": np.square,
    "subtract": np.subtract,
}
_COMPARISONS: dict[str, Callable[..., Any]] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}


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
    unit = np.finfo(node.type.dtype).eps * np.abs(row).max()
    for name, arguments, cut, other in _candidates(row):
        if np.abs(row - other[: len(row)]).max() <= _UNITS[name == _FREQUENCIES] * unit:
            like = graph.add("full", (graph.literal(0, F64),), shape=(len(other),))
            made = called(graph, name, (), like, *arguments)
            made = getitem(graph, made, ((None, -1, None),)) if cut else made
            return made if wide else graph.add("convert", (made,), element_type=node.element_type)
    return None


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
    with np.errstate(all="ignore"):
        return _RULES[node.opcode](node, *given) if node.opcode in _RULES else _elementwise(node, *given)


def _elementwise(node: Node, *operands: Row) -> Row | None:
    function = _OPERATIONS.get(node.opcode)
    return function(*operands) if function is not None and is_full_float(node.type) else None


def _literal(node: Node) -> Row | None:
    return _wide(literal_value(node))


def _table(node: Node) -> Row | None:
    return _wide(node.parameters["constant"].array)


def _wide(array: Any) -> Row | None:
    return np.asarray(array, np.float64) if np.asarray(array).dtype.kind in "iuf" else None


def _counted(node: Node) -> Row:
    given = node.parameters
    return np.arange(given.get("start", 0), given["stop"], given.get("step", 1), dtype=np.float64)


def _converted(node: Node, operand: Row) -> Row | None:
    is_kept = is_full_float(node.type) or (node.type.is_integral and bool((operand == np.trunc(operand)).all()))
    return operand if is_kept else None


def _called(node: Node, *operands: Row) -> Row | None:
    """Return what a function of the library or of the prelude gives, for those that such formulas have."""
    arguments = [item.array for item in node.parameters["arguments"] if hasattr(item, "array")]
    if node.parameters["function"] in ("mod", "fmod") and len(operands) == len(arguments) == 1:
        rest: Row = getattr(np, node.parameters["function"])(operands[0], arguments[0].astype(np.float64))
        return rest
    if node.parameters["function"] in ("i0e", "i0e_float64") and len(operands) + len(arguments) == 1:
        (x,) = operands or arguments
        scaled: Row = np.i0(np.abs(x)) * np.exp(-np.abs(x))
        return scaled
    return None


def _compared(node: Node, one: Row, other: Row) -> Any:
    return _COMPARISONS[node.parameters["direction"]](one, other)


def _result(node: Node, *operands: Row) -> Row | None:
    """Return what a function of the program gives that takes nothing."""
    result = node.parameters["function"].results
    return _value(result, {}) if isinstance(result, Node) and not operands else None


_RULES: dict[str, Callable[..., Any]] = {
    "literal": _literal,
    "array": _table,
    "arange": _counted,
    "range": _counted,
    "convert": _converted,
    "library": _called,
    "prelude": _called,
    "call": _result,
    "compare": _compared,
    "select": lambda node, *operands: np.where(*operands),
}
