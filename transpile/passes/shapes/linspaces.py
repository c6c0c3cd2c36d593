"""``linspace``, which JAX spells out: the numbers before the last, as weighted means of the two ends, and the last.

The prelude's function keeps the weights: ``np.linspace`` computes in float64 and rounds differently.
"""

from __future__ import annotations

from typing import Any

from ...array.graph import Graph
from ...array.node import Node, literal_value
from ...array.rewriting import called
from ..rewriting.patterns import Bindings
from ..rewriting.rules import FloatRule, rule_pass

_EXACT = "(ratio := divide((steps := arange(stop=stop)), GAPS))"
_INVERSE = "(ratio := multiply((steps := arange(stop=stop)), SHARE))"  # XLA divides constants beforehand
_FIRST = ("multiply(first, subtract(1, {ratio}))", "subtract(1, {ratio})")
_LAST = ("multiply(last, ratio)", "ratio", "multiply(divide(last, GAPS), steps)", "multiply(SLOPE, steps)")
_OPTIMISED = ("multiply(steps, multiply(last, SHARE))", "multiply(steps, SLOPE)", "ratio")


def _linspace(graph: Graph, node: Node, found: Bindings) -> Node | None:
    before, end = node.operands
    gaps, dtype = found["stop"], node.type.dtype.type
    share = dtype(1) / dtype(gaps)
    if not (end.operation.is_filled or end.opcode == "expand") or end.shape != (1,) or before.shape != (gaps,):
        return None
    one = graph.literal(1, node.type)  # a factor of 1 is not written
    last = end.operands[0]
    factor = found.get("last", None if "SLOPE" in found else one)
    same_end = factor is last or (factor is None and last.is_literal and _is_slope(found, literal_value(last), gaps))
    if not same_end or not _is(found, "GAPS", gaps) or not _is(found, "SHARE", share):
        return None
    ends = (found.get("first", one), last)
    if any(number.shape for number in ends):
        return None
    return called(graph, "linspace", ends, node, gaps + 1, node.element_type)


def _is_slope(found: Bindings, last: Any, gaps: int) -> bool:
    """Whether the literal is the step from one number to the next, as XLA or JAX computes it."""
    share = last.dtype.type(1) / last.dtype.type(gaps)
    return _is(found, "SLOPE", last * share) or _is(found, "SLOPE", last / last.dtype.type(gaps))


def _is(found: Bindings, name: str, wanted: float) -> bool:
    """Whether the literal of that name, if there is one, has the value."""
    return name not in found or bool(literal_value(found[name]) == wanted)


RULES = tuple(
    FloatRule(
        f"concatenate((total := add({first.format(ratio=ratio)}, {last})), end, axis=0)", _linspace, once=("total",)
    )
    for ratio, lasts in ((_EXACT, _LAST), (_INVERSE, _OPTIMISED))
    for first in _FIRST
    for last in lasts
)

linspaces = rule_pass(__name__, "Raise them to calls, where nothing else reads the numbers before the last.", RULES)
