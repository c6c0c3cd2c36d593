"""Tables of rewrites: what a pattern matches becomes what another expression builds.

``Rule("multiply(x, (r := divide(1, s)))", "divide(x, s)", once=("r",))``: both sides are expressions in the notation
of :mod:`.matching`. The right side has the type of what it replaces; a comparison in it is of type pred.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Container, Sequence
from functools import cache

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
_DEEPEST = 8  # rewrites of one node in a row


@dataclass(frozen=True, slots=True)
class Rule:
    """``give`` in place of ``match``: an expression, or a function of the graph, the matched node and the bindings,
    which may still say no by None.

    The named parts in ``once`` must have no user outside the match; ``when`` says for which element types.
    """

    match: str
    give: str | Make
    once: tuple[str, ...] = ()
    when: Callable[[ElementType], bool] = lambda element_type: True

    def apply(self, graph: Graph, node: Node, live: LiveNodes, supports: Support) -> Node | None:
        """Return what takes the place of a node, or None where the rule does not match, or the target does not support
        it.
        """
        found = pattern(self.match).match(node) if node.element_type is not None else None
        if (
            found is None
            or not self.when(node.type)
            or any(live.count(found[name]) > places(self.match, name) for name in self.once)
        ):
            return None
        if all(isinstance(part, Node) and part.is_literal for part in found.values()):
            return None  # a number, which `constants` works out
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
    """A float that is computed in itself: rewriting changes the rounding of the last bit, and no more."""
    return element_type.is_floating and not element_type.is_extension and element_type.bits >= 32


def rule_pass(module: str, meaning: str, *tables: Sequence[Rule]) -> Callable[[Function, Support], None]:
    """The pass that a module is called after, which applies tables of rules one after the other."""

    def run(function: Function, supports: Support) -> None:
        for rules in tables:
            apply_rules(function, rules, supports)

    run.__module__, run.__name__, run.__doc__ = module, module.rpartition(".")[2], meaning
    return run


def apply_rules(function: Function, rules: Sequence[Rule], supports: Support, but: Container[Node] = ()) -> None:
    """Rewrite by the first rule that matches, operands before their users, until none does; ``but`` some nodes."""
    by_opcode: dict[str, list[Rule]] = {}
    inner: dict[str, set[frozenset[str]]] = {}  # by the opcode of a node, those that its operands must have
    for rule in rules:
        match = pattern(rule.match)
        by_opcode.setdefault(match.opcode, []).append(rule)
        inner.setdefault(match.opcode, set()).add(match.inner)
    graph, live = function.graph, live_nodes(function)
    of_any_operands = {opcode for opcode, wanted in inner.items() if frozenset() in wanted}

    def may_match(node: Node) -> bool:
        if "effect" in node.parameters or node in but:
            return False
        if node.opcode in of_any_operands:
            return True
        given = {operand.opcode for operand in node.operands}
        return any(wanted <= given for wanted in inner[node.opcode])

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


def _built(graph: Graph, tree: ast.expr, element_type: ElementType, bound: Bindings) -> Node:
    """The node of an expression over what the names stand for."""
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
