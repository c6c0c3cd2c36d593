"""Determinants of matrices with two and three rows, for which JAX writes out the elimination with pivots."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from ...array.graph import Graph
from ...array.node import Node, literal_value
from ...array.rewriting import called
from ...array.value import FULL
from ...hlo.element_types import ElementType
from ..rewriting.patterns import Bindings
from ..rewriting.rules import Rule, is_full_float

# The parts of each pattern by name. For several matrices, COLUMN adds an axis of columns to a value of each matrix; for
# one matrix, it is empty.
_PIVOT = {
    "first": "getitem(a, index=row_0)",
    "second": "getitem(a, index=row_1)",
    "is_lower": "compare(abs(getitem(a, index=at_1_0)), abs(getitem(a, index=at_0_0)), direction='GT')",
    "pivot": "getitem(top, index=left)",
    "is_zero": "compare(pivot, ZERO, direction='EQ')",
    "divisor": "select(is_zero, ONE, pivot)",
    "sign": "select(is_lower, MINUS, PLUS)",
}
_OF_TWO = _PIVOT | {
    "determinant": "multiply(multiply(convert(sign), pivot), rest)",
    "top": "select(COLUMN(is_lower), second, first)",
    "low": "select(COLUMN(is_lower), first, second)",
    "factor": "select(is_zero, ZERO, divide(getitem(low, index=left), divisor))",
    "rest": "subtract(getitem(low, index=right), multiply(factor, getitem(top, index=right)))",
}
_OF_THREE = _PIVOT | {
    "determinant": "multiply(multiply(multiply(convert(last_sign), pivot), next_pivot), rest)",
    "third": "getitem(a, index=row_2)",
    "upper": "select(COLUMN(is_lower), second, first)",
    "middle": "select(COLUMN(is_lower), first, second)",
    "is_lowest": "compare(abs(getitem(a, index=at_2_0)), abs(getitem(upper, index=left)), direction='GT')",
    "top": "select(COLUMN(is_lowest), third, upper)",
    "low": "select(COLUMN(is_lowest), upper, third)",
    "middle_factor": "select(is_zero, ZERO, divide(getitem(middle, index=left), divisor))",
    "low_factor": "select(is_zero, ZERO, divide(getitem(low, index=left), divisor))",
    "middle_rest": "subtract(middle, multiply(COLUMN(middle_factor), top))",
    "low_rest": "subtract(low, multiply(COLUMN(low_factor), top))",
    "is_next": "compare(abs(getitem(low_rest, index=center)), abs(getitem(middle_rest, index=center)), direction='GT')",
    "next_top": "select(COLUMN(is_next), low_rest, middle_rest)",
    "next_low": "select(COLUMN(is_next), middle_rest, low_rest)",
    "next_pivot": "getitem(next_top, index=center)",
    "is_zero_next": "compare(next_pivot, ZERO, direction='EQ')",
    "next_divisor": "select(is_zero_next, ONE, next_pivot)",
    "factor": "select(is_zero_next, ZERO, divide(getitem(next_low, index=center), next_divisor))",
    "rest": "subtract(getitem(next_low, index=right), multiply(factor, getitem(next_top, index=right)))",
    "next_sign": "select(is_lowest, negate(sign), sign)",
    "last_sign": "select(is_next, negate(next_sign), next_sign)",
}
_PLACES = {"left": (0,), "center": (1,), "at_0_0": (0, 0), "at_1_0": (1, 0), "at_2_0": (2, 0)}
_ROWS = {f"row_{row}": (row, FULL) for row in range(3)}
_NUMBERS = {"ZERO": 0, "ONE": 1, "PLUS": 1, "MINUS": -1}


_NAME = re.compile(r"\w+")


def _pattern(parts: Mapping[str, str], column: str) -> str:
    """Return the pattern of the determinant. A part is written out where it is matched first; later it is only a
    name.
    """
    written: set[str] = set()

    def once(name: re.Match[str]) -> str:
        if name[0] not in parts or name[0] in written:
            return name[0]
        written.add(name[0])
        return f"({name[0]} := {re.sub(_NAME, once, parts[name[0]])})"

    return re.sub(_NAME, once, parts["determinant"]).replace("COLUMN", column)


def _determinant(rows: int, graph: Graph, node: Node, found: Bindings) -> Node | None:
    a: Node = found["a"]
    if a.shape[-2:] != (rows, rows):
        return None
    places = _PLACES | _ROWS | {"right": (rows - 1,)}
    batch = (FULL,) * (a.ndim - 2)
    is_right = all(tuple(found[name]) == (*batch, *place) for name, place in places.items() if name in found)
    are_numbers = all(literal_value(found[name]) == number for name, number in _NUMBERS.items())
    return called(graph, "small_det", (a,), node) if is_right and are_numbers else None


def _is_exact(element_type: ElementType) -> bool:
    return is_full_float(element_type) or element_type.is_complex


RULES = tuple(
    Rule(_pattern(parts, column), partial(_determinant, rows), when=_is_exact)
    for rows, parts in ((2, _OF_TWO), (3, _OF_THREE))
    for column in ("", "expand")
)
