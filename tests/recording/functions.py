"""What makes a function: its text, and all that it reads. Two functions alike are traced to one program."""

from __future__ import annotations

import ast
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, partial
from operator import itemgetter
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from xla2py.tests.recording.values import NoAnswerError

_LIBRARIES, _STANDARD = {"site-packages", "dist-packages"}, sysconfig.get_path("stdlib")
_PLAIN = (bool, int, float, complex, str, bytes, type(None), slice, range, np.ndarray, np.generic, np.dtype)


@dataclass(frozen=True)
class Place:
    """The lines of a function in its file."""

    file: str
    first: int
    last: int


@dataclass
class Fingerprint:
    """Values in the terms of :class:`.questions.Question`, and the functions among them, each once."""

    places: list[Place] = field(default_factory=list)
    _seen: dict[int, int] = field(default_factory=dict)
    _kept: list[Any] = field(default_factory=list)  # so that no other value gets the identity of a seen one

    def of(self, value: Any) -> Any:
        """Return what makes a value. Raises ``NoAnswerError`` for one whose making is not known."""
        if isinstance(value, _PLAIN):
            return value if not isinstance(value, np.dtype | slice | range) else repr(value)
        if isinstance(value, tuple | list):
            return [type(value).__name__, *map(self.of, value)]
        if isinstance(value, set | frozenset):
            return [type(value).__name__, *sorted(map(repr, value))]
        if isinstance(value, Mapping):
            return [type(value).__name__, *([repr(key), self.of(part)] for key, part in value.items())]
        if hasattr(value, "recorded_as"):  # of lazy JAX
            return self._once(value, lambda: self.of(value.recorded_as))
        if isinstance(value, ModuleType | type) or not hasattr(value, "__dict__"):
            return self._named(value)
        return self._once(value, lambda: self._made(value))

    def _once(self, value: Any, made: Callable[[], Any]) -> Any:
        if id(value) in self._seen:
            return ["again", self._seen[id(value)]]
        self._seen[id(value)] = len(self._seen)
        self._kept.append(value)
        return made()

    def _made(self, value: Any) -> Any:
        if isinstance(value, FunctionType):
            return self._function(value)
        if isinstance(value, partial):
            return ["partial", *map(self.of, (value.func, value.args, value.keywords))]
        if isinstance(value, MethodType):
            return ["method", self.of(value.__func__), self.of(value.__self__)]
        if callable(value) and hasattr(value, "__wrapped__"):
            return [type(value).__name__, self.of(value.__wrapped__)]
        if is_dataclass(value):
            return [type(value).__qualname__, *(self.of(getattr(value, each.name)) for each in fields(value))]
        if callable(value):
            return self._named(value)
        raise NoAnswerError(f"what makes a {type(value).__name__} is not known")

    def _named(self, value: Any) -> Any:
        if isinstance(value, ModuleType) and _is_ours(value.__name__):
            return ["module", value.__name__, Path(value.__file__ or "").read_text(encoding="utf-8")]
        if isinstance(value, type) and _is_ours(value.__module__):
            methods = [self.of(each) for each in vars(value).values() if isinstance(each, FunctionType)]
            return ["class", value.__qualname__, methods]
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
        if name is None or not (callable(value) or isinstance(value, ModuleType)):
            raise NoAnswerError(f"what makes a {type(value).__name__} is not known")
        return ["name", getattr(value, "__module__", None) or "", name]

    def _executed(self, function: FunctionType) -> Any:
        """Return what makes a function whose text is in no file: its instructions, and what these read."""
        code, read = function.__code__, function.__globals__
        known = {name: self.of(read[name]) for name in sorted(_globals(code) & read.keys())}
        inner = [cell.cell_contents for cell in function.__closure__ or ()]
        given = function.__defaults__, function.__kwdefaults__
        return ["executed", _instructions(code), known, self.of(inner), *map(self.of, given)]

    def _function(self, function: FunctionType) -> Any:
        if not _is_ours(function.__module__ or ""):
            return ["name", function.__module__, function.__qualname__]
        if not Path(function.__code__.co_filename).is_file():
            return self._executed(function)
        node = _node(function.__code__)
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
        self.places.append(Place(function.__code__.co_filename, first, node.end_lineno or node.lineno))
        read = {name: self.of(value) for name, value in sorted(_read(function, node), key=itemgetter(0))}
        return ["function", ast.unparse(node), read, self.of(function.__defaults__), self.of(function.__kwdefaults__)]


@cache
def _is_ours(module: str) -> bool:
    """Tell whether a module's text may change: one of the tests, of the examples, or none that was imported.

    Functions of libraries are known by their names.
    """
    if module.startswith("xla2py."):
        return module.startswith("xla2py.tests")
    if module in ("", "__main__") or module not in sys.modules:
        return True
    file = getattr(sys.modules[module], "__file__", None)
    return file is not None and not _LIBRARIES.intersection(Path(file).parts) and not file.startswith(_STANDARD)


def _instructions(code: CodeType) -> list[Any]:
    constants = [_instructions(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts]
    return [code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants]


def _read(function: FunctionType, node: ast.AST) -> Iterator[tuple[str, Any]]:
    """Return the names of a function's surroundings that it reads, and their values."""
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    inner = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for name in names:
        if name in inner:
            yield name, inner[name].cell_contents
        elif name in function.__globals__ and name in _globals(function.__code__):
            yield name, function.__globals__[name]


@cache
def _globals(code: CodeType) -> frozenset[str]:
    """Return the names that a code and those within it may read of its module."""
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    return frozenset(code.co_names).union(*map(_globals, inner))


@cache
def _nodes(file: str) -> Mapping[tuple[str, int], list[ast.AST]]:
    """Return the functions of a file by name and first line."""
    found: dict[tuple[str, int], list[ast.AST]] = {}
    for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
            found.setdefault((getattr(node, "name", "<lambda>"), first), []).append(node)
    return found


def _node(code: CodeType) -> Any:
    """Return the definition of a function's code; of several lambdas in a line the one with its instructions."""
    try:
        found = _nodes(code.co_filename)[code.co_name, code.co_firstlineno]
    except (KeyError, OSError):
        raise NoAnswerError(f"{code.co_name} is not found in its file") from None
    if len(found) == 1:
        return found[0]
    places = set(code.co_positions())
    own = [node for node in found if _place(node.body) in places]
    if len(own) != 1:
        raise NoAnswerError(f"{code.co_name} is not found in its line")
    return own[0]


def _place(node: Any) -> tuple[int, int, int, int]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
