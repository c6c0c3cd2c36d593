"""``1 / (1 + exp(-x))`` is ``sigmoid(x)`` if a program contains several."""

from __future__ import annotations

from ...array.graph import Graph
from ...array.live import live_nodes
from ...array.node import Node
from ...array.program import Function
from ...array.rewriting import called
from ...array.support import Support
from ..rewriting.patterns import Bindings, pattern
from ..rewriting.rules import FloatRule, apply_rules

_FEWEST = 2  # that are worth a function


def _sigmoid(graph: Graph, node: Node, found: Bindings) -> Node | None:
    x: Node = found["x"]
    if x.shape != node.shape:
        return None
    return called(graph, "sigmoid", (x,), node)


RULES = (FloatRule("logistic(x)", _sigmoid), FloatRule("divide(1, add(exponential(negate(x)), 1))", _sigmoid))


def sigmoids(function: Function, supports: Support) -> None:
    """Raise them to calls, if there are enough."""
    nodes = live_nodes(function).of({pattern(rule.match).opcode for rule in RULES})
    if sum(any(pattern(rule.match).match(node) is not None for rule in RULES) for node in nodes) >= _FEWEST:
        apply_rules(function, RULES, supports)
