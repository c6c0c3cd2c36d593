"""How many names of an emitted module say nothing: called after an operation alone, or told apart by a number."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from ..transpile.array.operations import OPERATIONS
from ..transpile.emission.prelude.library import prelude

# What a value, a function or a parameter is called where neither the program nor an operation has a word for it.
_NO_WORD = frozenset(("x", "value", "values", "step", "part", "parts", "state", "call", "branch", "results", "none"))
_NUMBERED = re.compile(r"(.+?)_\d+")


@dataclass(frozen=True, slots=True)
class NameCounts:
    """The names that the functions of a module bind, each once a function, without the arguments of ``main``."""

    names: tuple[str, ...]

    @property
    def generic(self) -> float:
        """The share of names that are an operation's, or nobody's: ``total``, ``product_2``, ``step_out``."""
        return self._share(_is_generic)

    @property
    def numbered(self) -> float:
        """The share of names that end in a number: ``total_2``."""
        return self._share(lambda name: _NUMBERED.fullmatch(name) is not None)

    def _share(self, tells: Callable[[str], bool]) -> float:
        return sum(map(tells, self.names)) / len(self.names) if self.names else 0.0


def name_counts(source: str) -> NameCounts:
    """Count the names of the text of a module; what it carries of the prelude is left out."""
    library = prelude().definitions
    names: list[str] = []
    for part in ast.parse(source).body:
        if isinstance(part, ast.FunctionDef) and part.name not in library:
            names += dict.fromkeys(_bound(part))
    return NameCounts(tuple(names))


def _bound(function: ast.FunctionDef) -> Iterator[str]:
    """The name of a function, of its parameters, and of what its statements bind."""
    if function.name != "main":
        yield function.name
        yield from (argument.arg for argument in function.args.args)
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id != "_":
            yield node.id


def _is_generic(name: str) -> bool:
    name = name.removeprefix("d_").removeprefix("new_")
    numbered = _NUMBERED.fullmatch(name)
    base = (numbered[1] if numbered else name).rstrip("_")
    return base.removesuffix("_out") in _words() or base.startswith("part_of_")


@cache
def _words() -> frozenset[str]:
    """Return what operations call their results, and operations themselves."""
    rows = OPERATIONS.values()
    words = {word for row in rows for word in (row.name.replace("-", "_"), *row.default_names)}
    return frozenset(words) | _NO_WORD
