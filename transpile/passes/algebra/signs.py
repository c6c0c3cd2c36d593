"""Differences in place of sums with what has a minus: ``x - y * 2`` for ``x + y * -2``. And ``x < 0`` for
``sign(x) < 0``.

Rounding does not see signs, so that both are the same in every bit, whatever ``x`` and ``y`` are. It comes after what
looks for like work, which differs where one copy has a minus that nothing else reads.
"""

from __future__ import annotations

from ...array.graph import Graph
from ...array.node import Node, literal_value
from ...hlo.element_types import ElementType
from ..rewriting.patterns import Bindings
from ..rewriting.rules import Make, Rule, rule_pass

_OPPOSITE = {"add": "subtract", "subtract": "add"}


def _is_float(element_type: ElementType) -> bool:
    return element_type.is_floating


def _opposite(part: str = "") -> Make:
    """Return what adds in place of subtracting, and the other way round, a part without the minus of its number."""

    def made(graph: Graph, node: Node, found: Bindings) -> Node | None:
        value = literal_value(found["NUMBER"])
        if not value < 0:
            return None
        term = number = graph.literal(-value, node.type)
        if part and value == -1 and found[part].opcode == "multiply":
            term = found["y"]
        elif part:
            old = found[part]
            operands = tuple(number if operand is found["NUMBER"] else operand for operand in old.operands)
            term = graph.add(old.opcode, operands)
        return graph.add(_OPPOSITE[node.opcode], (found["x"], term))

    return made


def _compared(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Compare with 0 what a sign is of."""
    x = found["x"]
    if literal_value(found["ZERO"]) != 0 or not x.type.is_floating:
        return None
    return graph.add("compare", (x, found["ZERO"]), **node.parameters)


def _with_minus(graph: Graph, node: Node, found: Bindings) -> Node:
    """Divide a number that takes the minus sign."""
    return graph.add("divide", (graph.literal(-literal_value(found["NUMBER"]), node.type), found["y"]))


# Products and quotients that begin with a minus, the same without it, and their parts that nothing else uses.
_WITH_MINUS = (
    ("multiply((minus := negate(y)), z)", "multiply(y, z)", ("minus",)),
    ("divide((minus := negate(y)), z)", "divide(y, z)", ("minus",)),
    (
        "multiply((ratio := divide((minus := negate(y)), z)), factor)",
        "multiply(divide(y, z), factor)",
        ("ratio", "minus"),
    ),
)

RULES = (
    Rule("compare(prelude.sign(x), ZERO)", _compared),
    Rule("multiply(x, -1)", "negate(x)", when=_is_float),
    Rule("negate(negate(x))", "x"),
    Rule("logistic(negate(x))", "divide(1, add(exponential(x), 1))", when=_is_float),
    Rule("negate((ratio := divide(NUMBER, y)))", _with_minus, once=("ratio",), when=_is_float),
    Rule("negate((ratio := divide(x, y)))", "divide(negate(x), y)", once=("ratio",), when=_is_float),
    Rule("add(x, (minus := negate(y)))", "subtract(x, y)", once=("minus",), when=_is_float),
    Rule("subtract(x, (minus := negate(y)))", "add(x, y)", once=("minus",), when=_is_float),
    Rule("add(x, NUMBER)", _opposite(), when=_is_float),
    Rule("subtract(x, NUMBER)", _opposite(), when=_is_float),
    Rule("add(x, (term := multiply(y, NUMBER)))", _opposite("term"), once=("term",), when=_is_float),
    Rule("add(x, (term := divide(NUMBER, y)))", _opposite("term"), once=("term",), when=_is_float),
    Rule("subtract(x, (term := multiply(y, NUMBER)))", _opposite("term"), once=("term",), when=_is_float),
    Rule("subtract(x, (term := divide(NUMBER, y)))", _opposite("term"), once=("term",), when=_is_float),
    *(
        Rule(
            f"{opcode}(x, (term := {term}))",
            f"{opposite}(x, {without})",
            once=("term", *parts),
            when=_is_float,
        )
        for opcode, opposite in _OPPOSITE.items()
        for term, without, parts in _WITH_MINUS
    ),
)

signs = rule_pass(__name__, "Write differences and minus signs in place of sums with numbers that have a minus.", RULES)
