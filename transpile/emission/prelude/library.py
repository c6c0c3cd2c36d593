"""The prelude functions that are copied into emitted modules, each with the definitions that it uses."""

from __future__ import annotations

import ast
import re
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import cache, cached_property
from pathlib import Path
from symtable import symtable

from ...dataclass import dataclass
from ...python.modules import parsed
from ...target import TEMPLATES, Kernels, Target
from ...walks import reached

SHARED = "prelude"  # the folder of functions written for NumPy
NUMPY = "np"  # the library's name there
NAME_BY_TEXT = "name_by_text"  # a function that is called at the end of a module, and the macro of the call
DEVICE = "device"  # the module with texts of C++: kernels, which come first, need them
ON_HOST = frozenset(("schur", "sidecar", "tensors"))  # modules that stay NumPy's: sequential loops, and file access
_DEFINED = re.compile(r"^(?:(?:(?:async )?def|class) (\w+)|(\w+)(?:: [^=\n]+)? = )", re.MULTILINE)  # at the top level


@dataclass(frozen=True, slots=True)
class Definition:
    """A top-level function, class or constant of a prelude module; ``imports`` are the module's, by bound name."""

    name: str
    source: str
    order: tuple[int, int, int]  # the numbers of the folder, of its module, and of the definition in that
    module: str  # the file that defines it
    imports: Mapping[str, str] = field(repr=False)

    @property
    def uses(self) -> tuple[str, ...]:
        """The names of other definitions and of imports that it mentions."""
        return _used(self.source)

    @property
    def imported(self) -> set[str]:
        """The names that it mentions and imports bind."""
        return {use for use in self.uses if use in self.imports}


class Module:
    """One file of a prelude. Its names are found by a regular expression; it is parsed when a definition is needed."""

    def __init__(self, path: Path, order: tuple[int, int], namespace: str = NUMPY) -> None:
        self.name = path.stem
        self.text = path.read_text("utf-8")
        self._order = order
        self._namespace = namespace  # the library's name in the emitted definitions

    @property
    def names(self) -> list[str]:
        """The names that it defines, in order."""
        return [name for found in _DEFINED.finditer(self.text) if (name := found[1] or found[2]) != "__all__"]

    @cached_property
    def definitions(self) -> dict[str, Definition]:
        """Its definitions, by name."""
        tree, lines = ast.parse(self.text), self.text.splitlines()
        imports: dict[str, str] = {}
        sources: dict[str, str] = {}
        for statement in tree.body:
            if isinstance(statement, ast.Import | ast.ImportFrom):
                _add_import(statement, imports)
            for name in _names(statement):
                source = _source(statement, lines)
                sources[name] = source if self._namespace == NUMPY else carried_over(source, self._namespace)
        return {
            name: Definition(name, source, (*self._order, k), self.name, imports)
            for k, (name, source) in enumerate(sources.items())
        }


class Definitions(Mapping[str, Definition]):
    """The definitions of the modules of a prelude; later modules override earlier ones."""

    def __init__(self, modules: Iterable[Module]) -> None:
        self._modules = {name: module for module in modules for name in module.names}

    def __getitem__(self, name: str) -> Definition:
        return self._modules[name].definitions[name]

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


def needed_by(definitions: Mapping[str, Definition], used: Iterable[str]) -> dict[str, Definition]:
    """Return the definitions of some names, and those that these need."""
    names = reached(sorted(used, reverse=True), lambda name: definitions[name].uses if name in definitions else ())
    return {name: definitions[name] for name in names if name in definitions}


@dataclass(frozen=True, slots=True)
class Prelude:
    """The definitions of all prelude modules."""

    definitions: Mapping[str, Definition]

    def closure(self, names: list[str]) -> list[Definition]:
        """Return the definitions of the names and all that they need, in the order of the prelude's own files."""
        return sorted(needed_by(self.definitions, names).values(), key=lambda definition: definition.order)

    def with_definitions(self, changed: dict[str, Definition]) -> Prelude:
        """Return the prelude with some definitions replaced."""
        return Prelude(ChainMap(changed, self.definitions)) if changed else self  # type: ignore[arg-type]

    def imports_of(self, definitions: list[Definition]) -> set[str]:
        """Return the import statements that the definitions need."""
        return {definition.imports[name] for definition in definitions for name in definition.imported}


def prelude(target: Target | None = None, *, in_graph: bool = False, kernels: Kernels | None = None) -> Prelude:
    """Return the prelude of a target: its own folders, and NumPy's prelude with the library's name exchanged.

    Of NumPy's, it has all modules, or those that the target names; those that it has from another target stay as they
    are. The target's prelude for graphs overrides these if the program is to be captured, and so does that of its
    ``kernels`` if these are written.
    """
    if target is None or not target.prelude:
        return _prelude((), NUMPY, None)
    namespace = NUMPY if target.arrange is not None else target.namespace  # blocks are NumPy's arrays
    of_graphs = target.graphs.prelude if in_graph and target.graphs is not None else None
    of_kernels = kernels.prelude if kernels is not None else None
    folders = tuple(folder for folder in (*target.prelude, of_graphs, of_kernels) if folder is not None)
    return _prelude(folders, namespace, target.carried_over, frozenset(target.helpers_of))


@cache
def names_in(folder: Path) -> frozenset[str]:
    """Return the names that the modules of a folder define, without parsing."""
    return frozenset(name for path in folder.glob("*.py") for name in Module(path, (0, 0)).names)


@cache
def _prelude(
    folders: tuple[Path, ...], namespace: str, carried: frozenset[str] | None, others: frozenset[str] = frozenset()
) -> Prelude:
    modules = []
    as_written = ON_HOST | others
    for k, path in enumerate(sorted((TEMPLATES / SHARED).glob("*.py"))):
        if not folders or carried is None or path.stem in carried:
            # Before the target's own modules, whose classes may derive from them.
            modules.append(Module(path, (0, k), NUMPY if path.stem in as_written else namespace))
    for number, folder in enumerate(folders, 1):
        modules += (Module(path, (number, k)) for k, path in enumerate(sorted(folder.glob("*.py"))))
    return Prelude(Definitions(modules))


def carried_over(source: str, namespace: str) -> str:
    """Return a definition written for NumPy for a library that has the same functions under another name.

    ``np.`` becomes ``cp.``, and blocks that silence NumPy's warnings, which other libraries do not give, are dissolved.
    """
    lines, tree = source.splitlines(), parsed(source).tree
    places = [(n.lineno, n.col_offset) for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == NUMPY]
    for line, column in sorted(places, reverse=True):
        text = lines[line - 1].encode()  # offsets of syntax trees count bytes
        lines[line - 1] = (text[:column] + namespace.encode() + text[column + len(NUMPY) :]).decode()
    return _without_blocks(lines, tree)


def unsilenced(source: str) -> str:
    """Return a definition without code that silences NumPy's warnings, for a module that silences them as a whole."""
    if f"{NUMPY}.errstate(" not in source:
        return source
    return _without_blocks(source.splitlines(), parsed(source).tree, decorators=True)


def _without_blocks(lines: list[str], tree: ast.Module, *, decorators: bool = False) -> str:
    """Return a definition without blocks that silence NumPy's warnings, and optionally without such decorators."""
    gone = set()
    nodes = list(ast.walk(tree))
    for block in (node for node in nodes if isinstance(node, ast.With)):
        if not all(_is_errstate(item.context_expr) for item in block.items):
            continue
        gone.add(block.lineno - 1)
        for k in range(block.body[0].lineno - 1, block.end_lineno or 0):
            lines[k] = lines[k].removeprefix("    ")
    for function in (node for node in nodes if isinstance(node, ast.FunctionDef) and decorators):
        gone.update(each.lineno - 1 for each in function.decorator_list if _is_errstate(each))
    return "\n".join(line for k, line in enumerate(lines) if k not in gone)


def _is_errstate(expression: ast.expr) -> bool:
    return ast.unparse(expression).startswith(f"{NUMPY}.errstate(")


def _add_import(statement: ast.Import | ast.ImportFrom, imports: dict[str, str]) -> None:
    for alias in statement.names:
        local = alias.asname or alias.name
        renamed = f" as {alias.asname}" if alias.asname else ""
        if isinstance(statement, ast.Import):
            imports[local] = f"import {alias.name}{renamed}"
        elif statement.level == 0 and statement.module:
            imports[local] = f"from {statement.module} import {alias.name}{renamed}"


def _names(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Assign):
        return [target.id for target in statement.targets if isinstance(target, ast.Name) and target.id != "__all__"]
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return [statement.target.id]
    return []


def _source(statement: ast.stmt, lines: list[str]) -> str:
    """Return the statement's own lines, with decorators and the comments directly above it."""
    decorators = getattr(statement, "decorator_list", [])
    start = min([statement.lineno, *(decorator.lineno for decorator in decorators)]) - 1
    while start and lines[start - 1].startswith("#"):
        start -= 1
    return "\n".join(lines[start : statement.end_lineno])


@cache
def _used(source: str) -> tuple[str, ...]:
    """Return the global and built-in names that a definition mentions."""
    whole = symtable(source, SHARED, "exec")
    names = {symbol.get_name() for symbol in whole.get_symbols() if symbol.is_referenced()}
    scopes = whole.get_children()
    while scopes:
        scope = scopes.pop()
        names.update(symbol.get_name() for symbol in scope.get_symbols() if symbol.is_global())
        scopes += scope.get_children()
    return tuple(sorted(names))
