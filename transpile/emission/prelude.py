"""Copying prelude functions into emitted modules: each one used, and what it uses itself."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from symtable import symtable

from ...targets.base import TEMPLATES, Target

SHARED = "prelude"  # the folder of what is written for NumPy
NUMPY = "np"  # what it calls the library
DEVICE = "device"  # the module with texts of C++: kernels, which come first, need them
ON_HOST = frozenset(("sidecar",))  # modules that stay NumPy's everywhere: they read files


@dataclass(frozen=True, slots=True)
class Definition:
    """A function, class or constant at the top level of a prelude module."""

    name: str
    source: str
    order: int
    module: str = ""  # the file that defines it

    @property
    def uses(self) -> tuple[str, ...]:
        """The names of other definitions and of imports that it mentions."""
        return _used(self.source)


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


def prelude(target: Target | None = None) -> Prelude:
    """The prelude of a target: NumPy's own; or where the target has a folder for it, what stands there, and for the
    rest NumPy's with the name of the library exchanged, of all modules or of those that the target names."""
    if target is None or target.prelude is None:
        return _shared_prelude()
    return _own_prelude(target.prelude, target.namespace, target.carried_over)


@cache
def _shared_prelude() -> Prelude:
    definitions: dict[str, Definition] = {}
    imports: dict[str, str] = {}
    _read(TEMPLATES / SHARED, definitions, imports)
    return Prelude(definitions, imports)


@cache
def _own_prelude(folder: Path, namespace: str, modules: frozenset[str] | None) -> Prelude:
    definitions: dict[str, Definition] = {}
    imports: dict[str, str] = {}
    _read(folder, definitions, imports)
    shared = _shared_prelude().definitions
    for name, definition in shared.items():
        if name not in definitions and (modules is None or definition.module in modules):
            is_numpy = namespace == NUMPY or definition.module in ON_HOST
            text = definition.source if is_numpy else carried_over(definition.source, namespace)
            order = definition.order - len(shared)  # before the target's own, whose classes may be made of them
            definitions[name] = Definition(name, text, order)
    return Prelude(definitions, _shared_prelude().imports | imports)


def _read(folder: Path, definitions: dict[str, Definition], imports: dict[str, str]) -> None:
    """Add what the modules of a folder define and import."""
    for path in sorted(folder.glob("*.py")):
        text = path.read_text("utf-8")
        tree = ast.parse(text)
        lines = text.splitlines()
        for statement in tree.body:
            if isinstance(statement, ast.Import | ast.ImportFrom):
                _add_import(statement, imports)
                continue
            for name in _names(statement):
                source = _source(statement, lines)
                definitions[name] = Definition(name, source, len(definitions), path.stem)


def carried_over(source: str, namespace: str) -> str:
    """A definition written for NumPy, for a library that has the same functions under another name.

    ``np.`` becomes ``cp.``, and the blocks that silence NumPy's warnings, which other libraries do not give, dissolve.
    """
    lines = source.splitlines()
    nodes = list(ast.walk(ast.parse(source)))
    places = [(n.lineno, n.col_offset) for n in nodes if isinstance(n, ast.Name) and n.id == NUMPY]
    for line, column in sorted(places, reverse=True):
        text = lines[line - 1].encode()  # offsets of syntax trees count bytes
        lines[line - 1] = (text[:column] + namespace.encode() + text[column + len(NUMPY) :]).decode()
    dissolved = set()
    for block in (node for node in nodes if isinstance(node, ast.With) and _silences(node)):
        dissolved.add(block.lineno - 1)
        for k in range(block.body[0].lineno - 1, block.end_lineno or 0):
            lines[k] = lines[k].removeprefix("    ")
    return "\n".join(line for k, line in enumerate(lines) if k not in dissolved)


def _silences(block: ast.With) -> bool:
    return all(ast.unparse(item).startswith(f"{NUMPY}.errstate(") for item in block.items)


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


@cache
def _used(source: str) -> tuple[str, ...]:
    """The names of the module and of Python that a definition mentions, its own variables aside."""
    whole = symtable(source, SHARED, "exec")
    names = {symbol.get_name() for symbol in whole.get_symbols() if symbol.is_referenced()}
    scopes = whole.get_children()
    while scopes:
        scope = scopes.pop()
        names.update(symbol.get_name() for symbol in scope.get_symbols() if symbol.is_global())
        scopes += scope.get_children()
    return tuple(sorted(names))
