"""Reach: the parts of an emitted program that its inputs execute: branches, loop bodies, reducers and other functions.

Code that did not run was not compared. The readable text for NumPy is traced, and stands for all targets.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any

from ...array.node import Region
from ...dataclass import dataclass
from ...emission.lines import Line, WrittenFunction
from ...emission.module.generated import GeneratedModule
from ...emission.places import bodies, definition_of, in_order, statements
from ..reference import tasks
from ..reference.participants import Workers
from ..reference.worker import RemoteError, WorkerDied, WorkerTimeout

MOST_DRAWS = 8  # of inputs, if some parts stay unreached


@dataclass(frozen=True, slots=True)
class Body:
    """A part of the text that may not run, lines ``first`` to ``last``, with a description in terms of the HLO."""

    what: str
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.what} (line {self.first})"


@dataclass(slots=True)
class Reach:
    """The lines of a module emitted for NumPy, or of an edited text of it, that inputs have reached so far.

    ``unreached`` names the outermost parts that no input of :meth:`try_inputs` reached. It is empty if a run failed,
    since nothing is known then.
    """

    module: GeneratedModule
    bodies: tuple[Body, ...]
    lines: frozenset[int] = frozenset()
    is_known: bool = True
    _tried: int = field(default=0, init=False)

    @staticmethod
    def of(emitted: GeneratedModule, edited: str | None = None) -> Reach:
        """Return the parts of an emitted module. Parts of an ``edited`` text have names of the HLO only if there are as
        many.
        """
        found = tuple(_bodies(emitted))
        if edited is None:
            return Reach(emitted, found)
        own = tuple(_bodies_of_text(edited, [function.name for function in emitted.functions]))
        if len(own) == len(found):
            own = tuple(Body(known.what, part.first, part.last) for known, part in zip(found, own, strict=True))
        return Reach(GeneratedModule(edited, emitted.name, emitted.target, emitted.constants), own)

    @property
    def is_complete(self) -> bool:
        return not self.is_known or not self.missed

    @property
    def missed(self) -> list[Body]:
        return [body for body in self.bodies if not any(body.first <= line <= body.last for line in self.lines)]

    @property
    def unreached(self) -> tuple[str, ...]:
        missed = self.missed if self.is_known and self._tried else []
        outermost = (
            body
            for body in missed
            if not any(other is not body and other.first <= body.first and body.last <= other.last for other in missed)
        )
        return tuple(map(str, outermost))

    def try_inputs(self, workers: Workers, arguments: Sequence[Any]) -> bool:
        """Run inputs, nested like the parameters of ``main``, and return whether they reach a new part."""
        if not self.bodies or not self.is_known:
            return False
        self._tried += 1
        try:
            answer = workers.ask(self.module.target, tasks.executed_lines, self.runnable, list(arguments))
        except (WorkerDied, WorkerTimeout, RemoteError):
            self.is_known = False
            return False
        before, self.lines = self.missed, self.lines | answer.value
        return len(self.missed) < len(before)

    @property
    def runnable(self) -> GeneratedModule:
        """The module without the data that only this process needs."""
        return GeneratedModule(self.module.source, self.module.name, self.module.target, self.module.constants)


def _bodies(emitted: GeneratedModule) -> Iterator[Body]:
    tree = ast.parse(emitted.source)
    for function in emitted.functions:
        names = _names(function)
        definition = definition_of(tree, function)
        lines = {statement: line for line, statement in statements(tree, function)}
        if function is not emitted.functions[-1] and function.name != "main":
            yield _body(f"function {function.function.computation.name}", definition.body)
        for statement, line in lines.items():
            for number, inside in enumerate(_optional(statement)):
                within = [lines[part] for part in ast.walk(ast.Module(inside, [])) if part in lines]
                yield _body(_what(statement, number, line, within, names), inside)


def _bodies_of_text(source: str, functions: Iterable[str]) -> Iterator[Body]:
    """Yield the parts of a text in the same order, with their lines only."""
    tree = ast.parse(source)
    definitions = {part.name: part for part in tree.body if isinstance(part, ast.FunctionDef)}
    for name in functions:
        if name in definitions:
            if name != "main":
                yield _body(f"function {name}", definitions[name].body)
            for statement in in_order(definitions[name].body):
                yield from (_body("a part", inside) for inside in _optional(statement))


def _optional(statement: ast.stmt) -> list[list[ast.stmt]]:
    """Return the bodies of a statement that may not run, without those that only pass."""
    inside = bodies(statement) if isinstance(statement, ast.If | ast.For | ast.While) else []
    return [body for body in inside if not all(isinstance(part, ast.Pass) for part in body)]


def _body(what: str, body: Sequence[ast.stmt]) -> Body:
    return Body(what, body[0].lineno, body[-1].end_lineno or body[-1].lineno)


# -- names from the HLO


def _names(function: WrittenFunction) -> dict[Region, str]:
    """Return the name of the computation of every region, with the instruction that calls it."""
    found: dict[Region, str] = {}
    for scope in function.function.scopes:
        for (instruction, computation), inner in scope.called.items():
            if inner.region is not scope.region and computation is not instruction.attributes.get("condition"):
                found.setdefault(inner.region, f"{computation.name} of {instruction.name}")
    return found


def _what(statement: ast.stmt, number: int, line: Line, within: Sequence[Line], names: dict[Region, str]) -> str:
    kind = "branch" if isinstance(statement, ast.If) else "loop body"
    nodes = [*line.inside, *(node for each in within for node in (*each.values, *each.after))]
    wanted = "branch" if kind == "branch" else "loop"
    regions = (region for node in nodes for region in node.region.path() if region.kind == wanted and region in names)
    region = min(regions, key=lambda region: region.depth, default=None)
    return f"{kind} {names[region]}" if region is not None else f"{kind} {number} of `{line.text}`"
