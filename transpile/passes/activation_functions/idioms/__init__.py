"""Functions that XLA expands into dozens of instructions, recognised instruction by instruction.

Each ``.hlo`` file beside this one is a pattern: the instructions that XLA emits for the function with the file's name
(up to the first dot), applied to the instruction ``x``. A new idiom is a file and a function of the prelude.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from ....array.live import live_nodes
from ....array.node import Node
from ....array.program import Function
from ....array.rewriting import prelude_call, rewrite
from ....array.support import Support
from ....hlo.element_types import F32, F64, ElementType
from ....hlo.parser import parse_module
from ...rewriting.rules import Rule, apply_rules
from ...to_array import ModuleLowering, Options

_FOLDER = Path(__file__).parent


def _rules(element_type: ElementType, suffix: str, root_half: str, slope: str) -> Iterator[Rule]:
    """JAX's normal distribution, and its derivative, in which JAX adds the terms of all three cases, of which only one
    is not 0.

    ``root_half`` is ``0.5**0.5``, ``slope`` the derivative of the error function at 0.
    """
    middle = f'compare(abs((w := multiply(x, {root_half}))), {root_half}, direction="LT")'
    upper = f'select(compare(w, 0, direction="GT"), subtract(2, (tail := prelude.erfc{suffix}(abs(w)))), tail)'
    distribution = f"multiply(select({middle}, add(prelude.erf{suffix}(w), 1), {upper}), 0.5)"
    yield Rule(distribution, f"prelude.normal_cdf{suffix}(x)", when=element_type.__eq__)
    case = f"select((near := compare(abs(w), {root_half}, direction='LT')), {{}}, {{}})"
    bell_of = "exponential(negate(multiply({0}, {0})))"
    rest = f"(rest := {case.format('0', 'g')})"
    for bell in ("middle", f"(bell := {bell_of.format('abs(w)')})"):
        above = f"multiply(multiply(select((up := compare(w, 0, direction='GT')), 0, {rest}), -{slope}), {bell})"
        below = f"multiply(multiply(negate(select(up, rest, 0)), -{slope}), {bell})"
        inside = f"multiply(multiply({case.format('g', '0')}, {slope}), (middle := {bell_of.format('w')}))"
        is_right = "(right := compare(w, 0, direction='GE'))"
        derivative = (
            f"subtract(add({inside}, select({is_right}, (far := add({above}, {below})), 0)), select(right, 0, far))"
        )
        yield Rule(derivative, f"multiply(multiply(g, {slope}), middle)", when=element_type.__eq__)


RULES = (
    *_rules(F32, "", "0.70710677", "1.1283792"),
    *_rules(F64, "_float64", "0.7071067811865476", "1.1283791670955126"),
)


class Idiom:
    """The nodes of a pattern: its root, its parameter, and the argument of the function."""

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
        """The argument of the function, if the node computes it; else None."""
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


FEWEST_NUMBERS = 20  # in any idiom: a program with fewer contains none, and the idioms need not be loaded for it


@cache
def library() -> tuple[Idiom, ...]:
    """All idioms, smallest first, since larger ones may contain them."""
    found: list[Idiom] = []
    for path in sorted(_FOLDER.glob("*.hlo"), key=lambda path: (path.stat().st_size, path.name)):
        found.append(Idiom(path, found))
    return tuple(found)


def idioms(function: Function, supports: Support) -> None:
    """Raise expanded functions to calls of the prelude."""
    if len(live_nodes(function).of(("literal",))) >= FEWEST_NUMBERS:
        _raise(function, library(), supports)
    apply_rules(function, RULES, supports)


def _raise(function: Function, known: Sequence[Idiom], supports: Support) -> None:
    graph = function.graph
    roots = {idiom.root.opcode for idiom in known}

    def rule(node: Node) -> Node | None:
        for idiom, argument in _found(known, node):
            made = prelude_call(graph, idiom.name, (argument,))
            if made.shape == node.shape and made.element_type is node.element_type and supports(made):
                return made
        return None

    rewrite(function, roots, rule, supports)


def _found(known: Sequence[Idiom], node: Node) -> Iterator[tuple[Idiom, Node]]:
    for idiom in known:
        argument = idiom.match(node)
        if argument is not None:
            yield idiom, argument
