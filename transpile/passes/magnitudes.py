"""What cannot be negative is its own ``abs``, and its own maximum with 0."""

from __future__ import annotations

from collections.abc import Callable

from ..array.graph import Graph
from ..array.node import Node, literal_value
from ..array.program import Function
from .matching import Bindings
from .rules import Rule, apply_rules, is_full_float

_DEEPEST = 8  # operations that are looked through
_KEEPING = frozenset("sum mean prod max min expand getitem transpose reshape broadcast_to add multiply divide".split())


def _is_not_negative(node: Node, depth: int = _DEEPEST) -> bool:
    """Every element is NaN, or a number without a sign: -0 has one."""
    rule = _RULES.get(node.opcode)
    if rule is not None and rule(node):
        return True
    if node.opcode not in _KEEPING or depth == 0:
        return False
    return all(_is_not_negative(operand, depth - 1) for operand in node.operands[: _COUNTED.get(node.opcode)])


_COUNTED = {"getitem": 1}  # operands that have values, where others are indices
_RULES: dict[str, Callable[[Node], bool]] = {
    **dict.fromkeys(("abs", "exponential", "square", "var", "std"), lambda node: True),
    "literal": lambda node: bool(literal_value(node) > 0),
    "multiply": lambda node: node.operands[0] is node.operands[1],
    "prelude": lambda node: node.parameters["function"] == "svdvals",
    "library": lambda node: node.parameters["function"] in ("linalg.norm", "hypot"),
    "item": lambda node: node.operands[0].parameters.get("function") == "svd" and node.parameters["index"] == 1,
}


def _itself(graph: Graph, node: Node, found: Bindings) -> Node | None:
    x: Node = found["x"]
    return x if is_full_float(x.type) and _is_not_negative(x) else None


RULES = (
    Rule("abs(x)", _itself, when=is_full_float),
    Rule("maximum(x, 0)", _itself, when=is_full_float),
)


def magnitudes(function: Function) -> None:
    """Leave out what changes nothing."""
    apply_rules(function, RULES)
