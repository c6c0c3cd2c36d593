"""Probes in emitted code: a copy of a module that reports the value of each expression when it is computed.

The emitted text, or an edited one, is instrumented in its syntax tree: calls are put around expressions and behind
statements, and nothing else changes. To find the nodes of an edited text, its tree is matched with that of the emitted
text.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from dataclasses import field
from difflib import SequenceMatcher

from ...array.node import Node, Region
from ...dataclass import dataclass
from ...emission.lines import Line, WrittenFunction
from ...emission.module.generated import GeneratedModule
from ...emission.places import bodies, statements

PROBE, ITERATION, FUNCTION = "__probe__", "__iteration__", "__function__"


@dataclass(frozen=True, slots=True)
class Probe:
    """A place that reports the value of ``node``. ``line`` is in the text that runs; ``loops`` are the loops
    around it.
    """

    node: Node
    line: int
    loops: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LoopPlace:
    """A loop of the text: the region of its body, its line, and the loops around it."""

    region: Region
    line: int
    around: tuple[int, ...]


@dataclass(slots=True)
class Instrumented:
    """A module with probes; the numbers in its text are positions in these lists."""

    module: GeneratedModule
    functions: Sequence[WrittenFunction] = ()
    probes: list[Probe] = field(default_factory=list)
    loops: list[LoopPlace] = field(default_factory=list)


def instrument(emitted: GeneratedModule, source: str | None = None) -> Instrumented:
    """Return the module with probes in its text, or in ``source``, an edited form of its text."""
    pristine = ast.parse(emitted.source)
    tree = pristine if source is None else ast.parse(source)
    counterparts = {part: part for part in ast.walk(tree)} if source is None else _counterparts(pristine, tree)
    writer = _ProbeWriter(counterparts)
    for number, function in enumerate(emitted.functions):
        writer.function(number, function, statements(pristine, function), _definition(pristine, function.name))
    text = ast.unparse(ast.fix_missing_locations(writer.generic_visit(tree)))
    module = GeneratedModule(text, emitted.name, emitted.target, emitted.constants)
    return Instrumented(module, emitted.functions, writer.probes, writer.loops)


def _definition(tree: ast.Module, name: str) -> ast.FunctionDef:
    return next(part for part in tree.body if isinstance(part, ast.FunctionDef) and part.name == name)


# -- matching of the edited text with the emitted one


def _counterparts(pristine: ast.AST, edited: ast.AST) -> dict[ast.AST, ast.AST]:
    """Return the parts of the edited tree that correspond to parts of the pristine one; parts without a counterpart are
    missing.
    """
    found: dict[ast.AST, ast.AST] = {}
    moved: list[tuple[ast.stmt, ast.stmt]] = []
    pairs = [(pristine, edited)]
    while pairs:
        old, new = pairs.pop()
        found[old] = new
        if type(old) is not type(new):
            continue
        for name in old._fields:
            a, b = getattr(old, name, None), getattr(new, name, None)
            if isinstance(a, ast.AST) and isinstance(b, ast.AST):
                pairs.append((a, b))
            elif isinstance(a, list) and isinstance(b, list):
                pairs.extend(_pairs(a, b))
        if isinstance(old, ast.stmt) and isinstance(new, ast.stmt):
            moved.append((old, new))
    for before, after in moved:
        for part, elsewhere in _moved(before, after):
            place = found.get(part)
            if place is None or all(inner is not elsewhere for inner in ast.walk(place)):
                found[part] = elsewhere  # moved, unless only wrapped in another expression
    return found


def _moved(old: ast.stmt, new: ast.stmt) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield the expressions of a statement that are in another place of the edited one, word for word."""
    elsewhere = {ast.dump(part): part for part in _own_expressions(new)}
    for part in _own_expressions(old):
        text = ast.dump(part)
        if text in elsewhere:
            yield part, elsewhere[text]


def _pairs(old: list[ast.AST], new: list[ast.AST]) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield the corresponding items of two lists: statements by what they assign, others by position."""
    if len(old) == len(new):
        yield from ((a, b) for a, b in zip(old, new, strict=True) if isinstance(a, ast.AST) and isinstance(b, ast.AST))
        return
    if not all(isinstance(part, ast.stmt) for part in (*old, *new)):
        return
    matcher = SequenceMatcher(None, [_key(part) for part in old], [_key(part) for part in new], autojunk=False)
    for _, i, j, k, n in matcher.get_opcodes():
        yield from zip(old[i:j], new[k:n], strict=False)


def _key(statement: ast.AST) -> str:
    """Return the key of a statement: its targets if it has any, else the whole statement."""
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", statement)]
    return " ".join(map(ast.dump, targets))


# -- the probes


class _ProbeWriter(ast.NodeTransformer):
    def __init__(self, counterparts: dict[ast.AST, ast.AST]) -> None:
        self._counterparts = counterparts
        self.probes: list[Probe] = []
        self.loops: list[LoopPlace] = []
        self._around: dict[ast.AST, list[int]] = {}  # for an expression of the text to run: the probes around it
        self._behind: dict[ast.AST, list[ast.stmt]] = {}
        self._first: dict[ast.AST, list[ast.stmt]] = {}  # for a statement with a body: statements to insert first
        self._within: dict[ast.AST, tuple[str, int]] = {}  # for a statement with a body: the context around the body

    def function(
        self, number: int, function: WrittenFunction, places: list[tuple[Line, ast.stmt]], definition: ast.FunctionDef
    ) -> None:
        here = self._counterparts.get(definition)
        if not isinstance(here, ast.FunctionDef):
            return
        self._within[here] = (FUNCTION, number)
        self._first[here] = [self._told(node, name, here.lineno, ()) for node, name in function.parameters.items()]
        loops = _loops_around(definition)
        numbers: dict[ast.stmt, int] = {}
        for line, statement in places:
            around = tuple(numbers[loop] for loop in loops[statement] if loop in numbers)
            edited = self._counterparts.get(statement)
            if line.inside and isinstance(edited, ast.For | ast.While):
                numbers[statement] = len(self.loops)
                region = next(iter(line.inside)).region
                self.loops.append(LoopPlace(region, edited.lineno, around))
                inner = (*around, numbers[statement])
                self._within[edited] = (ITERATION, numbers[statement])
                self._first[edited] = [self._told(n, name, edited.lineno, inner) for n, name in line.inside.items()]
            if isinstance(edited, ast.stmt):
                self._statement(line, statement, edited, around)

    def _statement(self, line: Line, statement: ast.stmt, edited: ast.stmt, around: tuple[int, ...]) -> None:
        self._behind[edited] = [
            self._told(node, name, edited.lineno, around)
            for node, name in line.after.items()
            if not node.parameters.get("several")  # blocks of several arrays are not an array
        ]
        texts: dict[str, list[ast.expr]] = {}
        for expression in _own_expressions(statement):
            texts.setdefault(ast.dump(expression), []).append(expression)
        for node, text in line.values.items():
            if node in line.after or node.results:
                continue
            for expression in texts.get(ast.dump(ast.parse(text.strip(), mode="eval").body), []):
                here = self._counterparts.get(expression)
                if isinstance(here, ast.expr):
                    self._around.setdefault(here, []).append(self._probe(node, edited.lineno, around))

    def _probe(self, node: Node, line: int, around: tuple[int, ...]) -> int:
        self.probes.append(Probe(node, line, around))
        return len(self.probes) - 1

    def _told(self, node: Node, name: str, line: int, around: tuple[int, ...]) -> ast.stmt:
        value = ast.parse(name, mode="eval").body
        return ast.Expr(_call(PROBE, ast.Constant(self._probe(node, line, around)), value))

    def visit(self, node: ast.AST) -> ast.AST | list[ast.stmt]:
        changed: ast.AST = self.generic_visit(node)
        for number in self._around.get(node, []):
            assert isinstance(changed, ast.expr)
            changed = _call(PROBE, ast.Constant(number), changed)
        if node in self._within:
            name, number = self._within[node]
            body = [*self._first.get(node, []), *changed.body]  # type: ignore[attr-defined]
            context = _call(name, ast.Constant(number))
            changed.body = [ast.With([ast.withitem(context)], body)]  # type: ignore[attr-defined]
        behind = copy.deepcopy(self._behind.get(node, []))
        return [changed, *behind] if behind else changed  # type: ignore[list-item]


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _own_expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """Yield the expressions that a statement reads, without those of nested statements."""
    inside = {id(part) for body in bodies(statement) for part in body}
    stack: list[ast.AST] = [statement]
    while stack:
        part = stack.pop()
        if isinstance(part, ast.expr) and isinstance(getattr(part, "ctx", ast.Load()), ast.Load):
            yield part
        stack.extend(child for child in ast.iter_child_nodes(part) if id(child) not in inside)


def _loops_around(definition: ast.FunctionDef) -> dict[ast.stmt, tuple[ast.stmt, ...]]:
    """Return the loops around each statement of a function, outermost first."""
    found: dict[ast.stmt, tuple[ast.stmt, ...]] = {}
    stack: list[tuple[ast.stmt, tuple[ast.stmt, ...]]] = [(part, ()) for part in definition.body]
    while stack:
        statement, around = stack.pop()
        found[statement] = around
        inner = (*around, statement) if isinstance(statement, ast.For | ast.While) else around
        stack.extend((part, inner) for body in bodies(statement) for part in body)
    return found
