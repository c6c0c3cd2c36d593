"""Tables of rewrite rules: a match of a pattern is replaced by the value of another expression.

``Rule("multiply(x, (r := divide(1, s)))", "divide(x, s)", once=("r",))``: both sides are expressions in the notation of
:mod:`.patterns`. The right side has the type of the node that it replaces; a comparison in it is of type pred.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Container, Sequence
from functools import cache, lru_cache, partial

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node
from ...array.operations import operation as operation_of
from ...array.program import Function
from ...array.rewriting import are_supported, call_parameters, rewrite
from ...array.support import Support
from ...dataclass import dataclass
from ...hlo.element_types import ElementType
from .patterns import Bindings, operation, pattern

Make = Callable[[Graph, Node, Bindings], Node | None]
_DEEPEST = 8  # consecutive rewrites of one node
_TABLES = 256  # of rules that are remembered: some are made for a program


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A rewrite of ``match`` to ``give``: an expression, or a function of the graph, the matched node and the bindings,
    which may refuse with None.

    The named parts in ``once`` must have no users outside of the match; ``when`` is a condition on the element type.
    """

    match: str
    give: str | Make
    once: tuple[str, ...] = ()
    when: Callable[[ElementType], bool] = lambda element_type: True

    def apply(self, graph: Graph, node: Node, live: LiveNodes, supports: Support) -> Node | None:
        """Return the replacement of a node; None if the rule does not match, or the target does not support the
        replacement.
        """
        found = pattern(self.match).match(node) if node.element_type is not None else None
        if (
            found is None
            or not self.when(node.type)
            or any(live.count(found[name]) > places(self.match, name) for name in self.once)
        ):
            return None
        if all(isinstance(part, Node) and part.is_literal for part in found.values()):
            return None  # a number, which `constants` folds
        with graph.recording() as given:
            if isinstance(self.give, str):
                made: Node | None = _built(graph, _parsed(self.give), node.type, found)
            else:
                made = self.give(graph, node, found)
        if made is None or made.shape != node.shape or made.element_type is not node.element_type:
            return None
        return made if are_supported(made, given, live, supports) else None


@cache
def _parsed(expression: str) -> ast.expr:
    return ast.parse(expression, mode="eval").body


@cache
def places(match: str, name: str) -> int:
    """Return how often a pattern uses the part of a name."""
    return len(re.findall(rf"\b{name}\b(?!=)", match))


def is_full_float(element_type: ElementType) -> bool:
    """Return whether a type is a float with its own arithmetic: a rewrite changes only the rounding of the last bit."""
    return element_type.is_floating and not element_type.is_extension and element_type.bits >= 32


# A rule for floats with their own arithmetic.
FloatRule = partial(Rule, when=is_full_float)


def rule_pass(module: str, meaning: str, *tables: Sequence[Rule]) -> Callable[[Function, Support], None]:
    """Return the pass with the name of a module, which applies tables of rules one after the other."""

    def run(function: Function, supports: Support) -> None:
        for rules in tables:
            apply_rules(function, rules, supports)

    run.__module__, run.__name__, run.__doc__ = module, module.rpartition(".")[2], meaning
    return run


def apply_rules(function: Function, rules: Sequence[Rule], supports: Support, but: Container[Node] = ()) -> None:
    """Rewrite nodes by the first rule that matches, operands first, until none does; nodes in ``but`` are skipped."""
    by_opcode, inner = _by_opcode(tuple(rules))
    graph, live = function.graph, live_nodes(function)

    def may_match(node: Node) -> bool:
        if "effect" in node.parameters or node in but:
            return False
        wanted = inner[node.opcode]
        if frozenset() in wanted:
            return True
        given = {operand.opcode for operand in node.operands}
        return any(each <= given for each in wanted)

    def rewritten(node: Node) -> Node | None:
        current = node
        for _ in range(_DEEPEST):
            found = (rule.apply(graph, current, live, supports) for rule in by_opcode.get(current.opcode, ()))
            following = next((one for one in found if one is not None), None)
            if following is None:
                break
            current = following
        return current

    rewrite(function, by_opcode, rewritten, may_match=may_match)


@lru_cache(_TABLES)
def _by_opcode(rules: tuple[Rule, ...]) -> tuple[dict[str, list[Rule]], dict[str, set[frozenset[str]]]]:
    """Return rules by the opcode of their root, and for each opcode the sets of opcodes that operands must have."""
    by_opcode: dict[str, list[Rule]] = {}
    inner: dict[str, set[frozenset[str]]] = {}
    for rule in rules:
        match = pattern(rule.match)
        by_opcode.setdefault(match.opcode, []).append(rule)
        inner.setdefault(match.opcode, set()).add(match.inner)
    return by_opcode, inner


def _built(graph: Graph, tree: ast.expr, element_type: ElementType, bound: Bindings) -> Node:
    """Return the node of an expression for the given bindings."""
    if isinstance(tree, ast.Name):
        node: Node = bound[tree.id]
        return node
    if isinstance(tree, ast.Call):
        opcode, function = operation(tree)
        parameters = {keyword.arg or "": ast.literal_eval(keyword.value) for keyword in tree.keywords}
        operands = tuple(_built(graph, argument, element_type, bound) for argument in tree.args)
        if function is not None:
            parameters = call_parameters(function, operands, **parameters)
            operands = tuple(operand for operand in operands if not operand.is_literal)
        row = operation_of(opcode, parameters)
        result = None if row.element_type is not None else element_type
        return graph.add(opcode, operands, element_type=result, **parameters)
    return graph.literal(ast.literal_eval(tree), element_type)
