"""Functions that XLA spells out in dozens of instructions, recognised instruction by instruction.

Each ``.hlo`` file beside this one is a pattern: what XLA writes for the function of that name (up to the first dot) of
the instruction ``x``. A new idiom is a file and a function of the prelude.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from ....array.graph import Graph
from ....array.live import live_nodes
from ....array.node import Node, Slot
from ....array.program import Function
from ....array.rewriting import rewrite
from ....array.support import Support
from ....hlo.element_types import F32
from ....hlo.parser import parse_module
from ...matching import Bindings
from ...rules import Rule, apply_rules
from ...to_array import ModuleLowering, Options

_FOLDER = Path(__file__).parent


def _normal_cdf(graph: Graph, node: Node, found: Bindings) -> Node | None:
    x = found["x"]
    if x.shape != node.shape:
        return None
    return graph.add(
        "prelude",
        (x,),
        function="normal_cdf",
        arguments=(Slot(0),),
        keywords={},
    )


_UPPER = 'select(compare(w, 0, direction="GT"), subtract(2, (tail := prelude.erfc(abs(w)))), tail)'
_MIDDLE = 'compare(abs((w := multiply(x, 0.70710677))), 0.70710677, direction="LT")'

# The derivative of that, where JAX adds the parts of all three cases and only one is not 0.
_CASE = "select((near := compare(abs(w), 0.70710677, direction='LT')), {}, {})"
_BELL = "exponential(negate(multiply({0}, {0})))"
_REST = f"(rest := {_CASE.format('0', 'g')})"
_ABOVE = f"multiply(multiply(select((up := compare(w, 0, direction='GT')), 0, {_REST}), -1.1283792), {{bell}})"
_BELOW = "multiply(multiply(negate(select(up, rest, 0)), -1.1283792), {bell})"
_FAR = f"(far := add({_ABOVE}, {_BELOW}))"
_NEAR = f"multiply(multiply({_CASE.format('g', '0')}, 1.1283792), (middle := {_BELL.format('w')}))"
_DERIVATIVE = (
    f"subtract(add({_NEAR}, select((right := compare(w, 0, direction='GE')), {_FAR}, 0)), select(right, 0, far))"
)

RULES = (
    Rule(f"multiply(select({_MIDDLE}, add(prelude.erf(w), 1), {_UPPER}), 0.5)", _normal_cdf, when=F32.__eq__),
    *(
        Rule(_DERIVATIVE.format(bell=bell), "multiply(multiply(g, 1.1283792), middle)", when=F32.__eq__)
        for bell in ("middle", f"(bell := {_BELL.format('abs(w)')})")
    ),
)


class Idiom:
    """The nodes of a pattern: its root, its parameter, and what the function is applied to."""

    def __init__(self, path: Path, smaller: Sequence[Idiom]) -> None:
        self.name = path.name.partition(".")[0]
        function = ModuleLowering(parse_module(path.read_text("utf-8")), Options()).lower().entry
        _raise(function, smaller, Support())
        assert isinstance(function.results, Node)
        self.root = function.results
        (self.parameter,) = function.parameters
        named = [node for node, made in function.graph.results.items() if any(i.name == "x" for i in made)]
        self.argument = named[0] if named else self.parameter

    def match(self, node: Node) -> Node | None:
        """Return what the function is applied to, where the node computes it."""
        found: dict[Node, Node] = {}
        waiting = [(self.root, node)]
        while waiting:
            wanted, given = waiting.pop()
            if wanted in found:
                if found[wanted] is not given:
                    return None
                continue
            found[wanted] = given
            if wanted is self.parameter:
                continue
            if not _is_same_operation(wanted, given):
                return None
            waiting.extend(zip(wanted.operands, given.operands, strict=True))
        return found[self.argument]


def _is_same_operation(wanted: Node, given: Node) -> bool:
    return (
        wanted.opcode == given.opcode
        and wanted.element_type is given.element_type
        and len(wanted.operands) == len(given.operands)
        and wanted.parameters == given.parameters
        and (not given.is_literal or wanted.parameters["constant"].key == given.parameters["constant"].key)
    )


FEWEST_NUMBERS = 20  # of an idiom: a program with fewer has none, and the idioms need not be read for it


@cache
def library() -> tuple[Idiom, ...]:
    """All idioms, small ones first: larger ones may contain them."""
    found: list[Idiom] = []
    for path in sorted(_FOLDER.glob("*.hlo"), key=lambda path: (path.stat().st_size, path.name)):
        found.append(Idiom(path, found))
    return tuple(found)


def idioms(function: Function, supports: Support) -> None:
    """Raise functions that are spelt out to calls of the prelude."""
    if len(live_nodes(function).of(("literal",))) >= FEWEST_NUMBERS:
        _raise(function, library(), supports)
    apply_rules(function, RULES, supports)


def _raise(function: Function, known: Sequence[Idiom], supports: Support) -> None:
    graph = function.graph
    roots = {idiom.root.opcode for idiom in known}

    def rule(node: Node) -> Node | None:
        for idiom, argument in _found(known, node):
            made = graph.add("prelude", (argument,), function=idiom.name, arguments=(Slot(0),), keywords={})
            if made.shape == node.shape and made.element_type is node.element_type and supports(made):
                return made
        return None

    rewrite(function, roots, rule, supports)


def _found(known: Sequence[Idiom], node: Node) -> Iterator[tuple[Idiom, Node]]:
    for idiom in known:
        argument = idiom.match(node)
        if argument is not None:
            yield idiom, argument
