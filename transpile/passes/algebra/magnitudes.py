"""Rules for magnitudes: a non-negative value is its own ``abs`` and its own maximum with 0; the difference of the
maximum and the minimum of two numbers is ``abs(a - b)``, which is 0 where ``a - b`` is.
"""

from __future__ import annotations

from collections.abc import Callable

from ...array.graph import Graph
from ...array.node import Node, literal_value
from ..rewriting.patterns import Bindings
from ..rewriting.rules import FloatRule, Rule, is_full_float, rule_pass

_DEEPEST = 8  # nested operations that are followed


def has_no_sign(node: Node, depth: int = _DEEPEST) -> bool:
    """Whether every element is NaN or has no minus sign, which -0 does have."""
    rule = _SIGNS.get(node.opcode)
    return rule is not None and rule(node, depth)


Sign = Callable[[Node, int], bool]


def _of_operands(node: Node, depth: int) -> bool:
    return depth > 0 and all(has_no_sign(operand, depth - 1) for operand in node.operands)


def _of_first(node: Node, depth: int) -> bool:
    return depth > 0 and has_no_sign(node.operands[0], depth - 1)


def _of_call(node: Node, depth: int) -> bool:
    return node.parameters["function"] in ("svdvals", "linalg.norm", "hypot")


# By opcode, whether the elements of a result cannot be negative.
_SIGNS: dict[str, Sign] = {
    **dict.fromkeys(("abs", "exponential", "square", "var", "std"), lambda node, depth: True),
    **dict.fromkeys("sum mean prod max min add divide".split(), _of_operands),
    **dict.fromkeys("expand getitem transpose reshape broadcast_to".split(), _of_first),
    **dict.fromkeys(("prelude", "library"), _of_call),
    "literal": lambda node, depth: bool(literal_value(node) > 0),
    "multiply": lambda node, depth: node.operands[0] is node.operands[1] or _of_operands(node, depth),
    "item": lambda node, depth: node.operands[0].parameters.get("function") == "svd" and node.parameters["index"] == 1,
}


def _itself(graph: Graph, node: Node, found: Bindings) -> Node | None:
    x: Node = found["x"]
    return x if is_full_float(x.type) and has_no_sign(x) else None


def _compared(graph: Graph, node: Node, found: Bindings) -> Node:
    x: Node = found["x"]
    return graph.add("compare", (x, graph.literal(0, x.type)), direction=node.parameters["direction"])


RULES = (
    FloatRule("subtract(maximum(a, b), minimum(a, b))", "abs(subtract(a, b))"),
    *(Rule(f"compare(abs(x), 0, direction='{way}')", _compared) for way in ("EQ", "NE")),
    FloatRule("abs(x)", _itself),
    FloatRule("maximum(x, 0)", _itself),
)

magnitudes = rule_pass(__name__, "Leave out what changes nothing.", RULES)
