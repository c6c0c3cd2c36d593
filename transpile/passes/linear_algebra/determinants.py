"""``np.linalg.slogdet`` and ``np.linalg.det``: JAX multiplies the diagonal of LAPACK's LU factorisation, and counts row
exchanges. For matrices with two and three rows, it writes out the elimination with pivots.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from ...array.graph import Graph
from ...array.node import Node, Slot, literal_value
from ...array.rewriting import called
from ...array.value import FULL
from ...hlo.element_types import ElementType
from ..rewriting.patterns import Bindings
from ..rewriting.rules import FloatRule, Rule, is_full_float, rule_pass

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


def _of_numbers(rows: int, graph: Graph, node: Node, found: Bindings) -> Node | None:
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


_OF_NUMBERS = tuple(
    Rule(_pattern(parts, column), partial(_of_numbers, rows), when=_is_exact)
    for rows, parts in ((2, _OF_TWO), (3, _OF_THREE))
    for column in ("", "expand")
)


def _pattern_of_products() -> str:
    """Return the pattern of the sum of products that JAX writes for three rows."""
    columns = ((0, 1, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0), (0, 2, 1), (1, 0, 2))
    terms = [
        "multiply(multiply({}, {}), {})".format(*(f"e_{row}_{k}" for row, k in enumerate(each))) for each in columns
    ]
    total = terms[0]
    for k, term in enumerate(terms[1:]):
        total = f"{'add' if k < 2 else 'subtract'}({total}, {term})"
    elements = {f"e_{row}_{k}": f"getitem(a, index=at_{row}_{k})" for row in range(3) for k in range(3)}
    return _pattern(elements | {"determinant": total}, "")


def _of_products(graph: Graph, node: Node, found: Bindings) -> Node | None:
    a: Node = found["a"]
    places = {f"at_{row}_{k}": (row, k) for row in range(3) for k in range(3)}
    batch = (FULL,) * (a.ndim - 2)
    is_right = all(tuple(found[name]) == (*batch, *place) for name, place in places.items())
    return called(graph, "det_3x3", (a,), node) if is_right and a.shape[-2:] == (3, 3) else None


_DIAGONAL = (
    "(diagonal := diagonal(select((valid := compare((info := item(factored)), 0, direction='GE')), "
    "(lu := item(factored)), nan)))"
)
_SINGULAR = f"(singular := any(compare({_DIAGONAL}, 0, direction='EQ')))"
_EXCHANGES = (
    "(exchanges := sum(compare(subtract((pivots := item(factored)), 1), (places := arange()), direction='NE')))"
)
_CHANGES = "(changes := sum(compare(diagonal, 0, direction='LT')))"
_PARITY = f"remainder(add({_EXCHANGES}, {_CHANGES}), 2)"


def _is_factorisation(found: Bindings) -> bool:
    """Return whether a match is the factorisation of a square real matrix, with each part bound to the right result."""
    factored: Node = found["factored"]
    if factored.opcode != "prelude" or factored.parameters["function"] != "getrf":
        return False
    (a,) = factored.operands
    parts = {name: found[name].parameters["index"] for name in ("lu", "pivots", "info") if name in found}
    return (
        a.ndim == 2
        and a.shape[0] == a.shape[1] > 0
        and is_full_float(a.type)
        and all(index == ("lu", "pivots", "info").index(name) for name, index in parts.items())
    )


def _part(graph: Graph, node: Node, found: Bindings, index: int) -> Node | None:
    if not _is_factorisation(found):
        return None
    matrix: Node = found["factored"].operands[0]
    made = graph.add("library", (matrix,), function="linalg.slogdet", arguments=(Slot(0),), keywords={})
    return graph.add("item", (made,), index=index)


def _determinant(graph: Graph, node: Node, found: Bindings) -> Node | None:
    both: Node = found["both"]
    parts = (found["sign"].parameters["index"], found["size"].parameters["index"])
    if both.parameters.get("function") != "linalg.slogdet" or parts != (0, 1):
        return None
    return called(graph, "np.linalg.det", both.operands, node)


RULES = (
    FloatRule(f"select({_SINGULAR}, 0, convert(add(multiply({_PARITY}, -2), 1)))", partial(_part, index=0)),
    FloatRule(f"select({_SINGULAR}, -inf, sum(log(abs(diagonal))))", partial(_part, index=1)),
    FloatRule("multiply((sign := item(both)), exponential((size := item(both))))", _determinant),
    *_OF_NUMBERS,
    Rule(_pattern_of_products(), _of_products, when=_is_exact),
)

determinants = rule_pass(__name__, "Raise them.", RULES)
