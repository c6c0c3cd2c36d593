"""Copying prelude functions into emitted modules: each one used, and what it uses itself."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache

from .expression import TEMPLATES


@dataclass(frozen=True, slots=True)
class Definition:
    """A function, class or constant at the top level of a prelude module."""

    name: str
    source: str
    uses: tuple[str, ...]  # names of other definitions and of imports
    order: int


@dataclass(frozen=True, slots=True)
class Prelude:
    """All prelude modules: what they define and what they import."""

    definitions: dict[str, Definition]
    imports: dict[str, str]  # local name: the import statement that binds it

    def closure(self, names: list[str]) -> list[Definition]:
        """The definitions of the names and all they need, in the order of the prelude's own files."""
        found: dict[str, Definition] = {}
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            definition = self.definitions.get(name)
            if definition is not None and name not in found:
                found[name] = definition
                waiting.extend(definition.uses)
        return sorted(found.values(), key=lambda definition: definition.order)

    def imports_of(self, definitions: list[Definition]) -> set[str]:
        """The import statements that the definitions need."""
        return {self.imports[use] for definition in definitions for use in definition.uses if use in self.imports}


@cache
def prelude() -> Prelude:
    """Read the prelude modules once."""
    definitions: dict[str, Definition] = {}
    imports: dict[str, str] = {}
    for path in sorted((TEMPLATES / "prelude").glob("*.py")):
        text = path.read_text("utf-8")
        tree = ast.parse(text)
        lines = text.splitlines()
        for statement in tree.body:
            if isinstance(statement, ast.Import | ast.ImportFrom):
                _add_import(statement, imports)
                continue
            for name in _names(statement):
                definitions[name] = Definition(name, _source(statement, lines), _used(statement), len(definitions))
    return Prelude(definitions, imports)


def _add_import(statement: ast.Import | ast.ImportFrom, imports: dict[str, str]) -> None:
    for alias in statement.names:
        local = alias.asname or alias.name
        renamed = f" as {alias.asname}" if alias.asname else ""
        if isinstance(statement, ast.Import):
            imports[local] = f"import {alias.name}{renamed}"
        elif statement.level == 0 and statement.module:
            imports[local] = f"from {statement.module} import {alias.name}{renamed}"


def _names(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Assign):
        return [target.id for target in statement.targets if isinstance(target, ast.Name) and target.id != "__all__"]
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return [statement.target.id]
    return []


def _source(statement: ast.stmt, lines: list[str]) -> str:
    """The statement's own lines, with decorators and the comments directly above it."""
    decorators = getattr(statement, "decorator_list", [])
    start = min([statement.lineno, *(decorator.lineno for decorator in decorators)]) - 1
    while start and lines[start - 1].startswith("#"):
        start -= 1
    return "\n".join(lines[start : statement.end_lineno])


def _used(statement: ast.stmt) -> tuple[str, ...]:
    names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    return tuple(sorted(names))
