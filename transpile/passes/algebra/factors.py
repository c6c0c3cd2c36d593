"""Numbers that a value is multiplied by one after the other are one where that rounds alike, as XLA has it:
``x * 2 * -0.5 / 4`` is ``x * -0.25``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np

from ...array.graph import Graph
from ...array.node import Node, literal_value
from ..rewriting.patterns import Bindings
from ..rewriting.rules import Make, Rule, is_full_float, rule_pass

_Number = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _together(*choices: tuple[str, str, _Number]) -> Make:
    """Return what makes one operation with a number of two: by the first choice whose number is a power of two."""

    def made(graph: Graph, node: Node, found: Bindings) -> Node | None:
        inner, outer = literal_value(found["INNER"]), literal_value(found["OUTER"])
        for exact, opcode, number in choices:
            if _is_power_of_two(literal_value(found[exact])) and _is_normal(both := np.asarray(number(inner, outer))):
                x: Node = found["x"]
                return x if both == 1 else graph.add(opcode, (x, graph.literal(both, node.type)))
        return None

    return made


def _is_power_of_two(number: np.ndarray) -> bool:
    return bool(np.isfinite(number)) and abs(np.frexp(number)[0]) == 0.5


def _is_normal(number: np.ndarray) -> bool:
    """Tell whether a number has all of its digits."""
    return bool(np.isfinite(number)) and abs(number) >= np.finfo(number.dtype).tiny


_PRODUCT = [(exact, "multiply", operator.mul) for exact in ("INNER", "OUTER")]
_QUOTIENT = [(exact, "divide", operator.mul) for exact in ("INNER", "OUTER")]
_SCALED = (
    ("OUTER", "multiply", lambda inner, outer: inner / outer),
    ("INNER", "divide", lambda inner, outer: outer / inner),
)
_DIVIDED = (
    ("INNER", "multiply", lambda inner, outer: outer / inner),
    ("OUTER", "divide", lambda inner, outer: inner / outer),
)

_CHAINS = {
    "multiply((inner := multiply(x, INNER)), OUTER)": _PRODUCT,
    "divide((inner := divide(x, INNER)), OUTER)": _QUOTIENT,
    "divide((inner := multiply(x, INNER)), OUTER)": _SCALED,
    "multiply((inner := divide(x, INNER)), OUTER)": _DIVIDED,
}
RULES = (*(Rule(text, _together(*choices), once=("inner",), when=is_full_float) for text, choices in _CHAINS.items()),)

factors = rule_pass(__name__, "Raise chains of factors.", RULES)
