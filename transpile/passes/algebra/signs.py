"""Differences instead of sums with negated terms: ``x - y * 2`` for ``x + y * -2``. And ``x < 0`` for ``sign(x) < 0``.

Rounding is symmetric in sign, so the results are identical in every bit, whatever ``x`` and ``y`` are. This runs after
the search for repeated code, since a minus that is read only in one copy would make copies differ.
"""

from __future__ import annotations

from collections.abc import Container
from functools import partial

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node, literal_value
from ...array.program import Function
from ...array.rewriting import rewrite
from ...array.support import Support
from ...hlo.element_types import ElementType
from ..rewriting.patterns import Bindings
from ..rewriting.rules import Make, Rule, apply_rules

_OPPOSITE = {"add": "subtract", "subtract": "add"}


def _is_float(element_type: ElementType) -> bool:
    return element_type.is_floating


def _opposite(part: str = "") -> Make:
    """A rule's result that subtracts instead of adding, or the reverse, a part without the minus of its number."""

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
    """Compare the operand of ``sign`` with 0 instead of the sign."""
    x = found["x"]
    if literal_value(found["ZERO"]) != 0 or not x.type.is_floating:
        return None
    return graph.add("compare", (x, found["ZERO"]), **node.parameters)


def _with_minus(graph: Graph, node: Node, found: Bindings) -> Node:
    """Divide the negated number."""
    return graph.add("divide", (graph.literal(-literal_value(found["NUMBER"]), node.type), found["y"]))


def _without_minus(opcode: str, graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Subtract a number for adding its negative, unless the sum converts it: the negative may have wrapped around."""
    y = found["y"]
    is_exact = y.type.is_floating or y.element_type is node.element_type
    return graph.add(opcode, (found["x"], y)) if is_exact else None


def _with_negated(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Divide the negated dividend, unless the quotient converts it: masks and unsigned integers have no minus."""
    x = found["x"]
    if x.element_type is not node.element_type:
        return None
    return graph.add("divide", (graph.add("negate", (x,)), found["y"]))


# Products and quotients with a negated factor, the same without the minus, and their parts that nothing else uses.
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
    Rule("negate((ratio := divide(x, y)))", _with_negated, once=("ratio",), when=_is_float),
    Rule("add(x, (minus := negate(y)))", partial(_without_minus, "subtract"), once=("minus",), when=_is_float),
    Rule("subtract(x, (minus := negate(y)))", partial(_without_minus, "add"), once=("minus",), when=_is_float),
    Rule("add(x, NUMBER)", _opposite(), when=_is_float),
    Rule("subtract(x, NUMBER)", _opposite(), when=_is_float),
    Rule("add(x, (term := multiply(y, NUMBER)))", _opposite("term"), once=("term",), when=_is_float),
    Rule("add(x, (term := divide(NUMBER, y)))", _opposite("term"), once=("term",), when=_is_float),
    Rule("subtract(x, (term := multiply(y, NUMBER)))", _opposite("term"), once=("term",), when=_is_float),
    Rule("subtract(x, (term := divide(NUMBER, y)))", _opposite("term"), once=("term",), when=_is_float),
    *(
        Rule(f"{opcode}(x, (term := {term}))", f"{opposite}(x, {without})", once=("term", *parts), when=_is_float)
        for opcode, opposite in _OPPOSITE.items()
        for term, without, parts in _WITH_MINUS
    ),
)


def signs(function: Function, supports: Support) -> None:
    """Write differences and minus signs in place of sums with numbers that have a minus."""
    graph, live = function.graph, live_nodes(function)
    shared = {node for node in live.of(("negate",)) if _is_only_in_terms(live, node)}
    if shared:
        rewrite(function, ("multiply",), lambda node: _with_minus_outside(graph, shared, node), supports)
    apply_rules(function, RULES, supports)


def _is_only_in_terms(live: LiveNodes, minus: Node) -> bool:
    """Return whether a negated number is read more than once, and only as a factor of terms that sums can subtract."""
    users = live.users(minus)
    if len(users) < 2 or not minus.type.is_floating or live.is_root(minus):
        return False
    return all(user.opcode == "multiply" and user.operands[0] is not user.operands[1] for user in users) and all(
        live.count(user) == 1 and any(_subtracts(sum_, user) for sum_ in live.users(user)) for user in users
    )


def _subtracts(node: Node, term: Node) -> bool:
    """Return whether a sum has the term after another, or beside one without a minus."""
    if node.opcode not in _OPPOSITE or node.operands[0] is node.operands[1]:
        return False
    other = node.operands[0] if node.operands[1] is term else node.operands[1]
    is_other_plain = not any(part.opcode == "negate" for part in (other, *other.operands))
    return node.operands[1] is term or (node.opcode == "add" and is_other_plain)


def _with_minus_outside(graph: Graph, shared: Container[Node], node: Node) -> Node | None:
    """Return the negated product for a product with a negated factor."""
    for minus, other in (node.operands, node.operands[::-1]):
        if minus in shared:
            return graph.add("negate", (graph.add("multiply", (minus.operands[0], other)),))
    return None
