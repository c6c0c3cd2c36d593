"""How programs of JAX libraries read as NumPy: the page ``docs/library_programs.md``.

``examples/libraries/NAME.hlo.gz`` holds the programs of ``benchmarks/libraries`` as ``benchmarks/library_names.py
--write`` lowered them: small models, solvers and training steps written with libraries.
"""

from __future__ import annotations

import ast
import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median

from ..transpile.emission import emit
from ..transpile.emission.prelude.library import prelude
from .name_counts import NameCounts, name_counts
from .reading import Measure, measure

FOLDER = "examples/libraries"
_SUFFIX = ".hlo.gz"
_WORK = (ast.BinOp, ast.Compare, ast.BoolOp)  # what is computed, beside calls of what calls give


@dataclass(frozen=True, slots=True)
class LibraryReading:
    """One program: what is measured of its text, with its author's Python at hand and without."""

    name: str
    measures: tuple[Measure, Measure]
    names: tuple[NameCounts, NameCounts]
    constant_statements: int  # that depend on no argument, in the first text


def programs(checkout: Path) -> dict[str, str]:
    """The HLO texts of all programs, by name."""
    paths = sorted((checkout / FOLDER).glob(f"*{_SUFFIX}"))
    return {path.name.removesuffix(_SUFFIX): gzip.decompress(path.read_bytes()).decode() for path in paths}


@cache
def texts(checkout: Path) -> dict[str, tuple[str, str]]:
    """Emit each program with its sources and without, and return both texts by the name of the program."""
    given = programs(checkout).items()
    return {name: (emit(text, sources=checkout).source, emit(text).source) for name, text in given}


def readings(checkout: Path) -> list[LibraryReading]:
    """Measure what is emitted for all programs."""
    found = []
    for name, texts_of_program in texts(checkout).items():
        measures, names = map(measure, texts_of_program), map(name_counts, texts_of_program)
        constant = len(constant_statements(texts_of_program[0]))
        found.append(LibraryReading(name, (*measures,), (*names,), constant))  # type: ignore[arg-type]
    return found


def constant_statements(source: str) -> list[str]:
    """Return the assignments of a module's own functions that compute something without any argument.

    A call such as ``np.arange(8)`` alone tells a structure, and is none of them.
    """
    library = prelude().definitions
    functions = (part for part in ast.parse(source).body if isinstance(part, ast.FunctionDef))
    return [text for function in functions if function.name not in library for text in _constant_in(function)]


def _constant_in(function: ast.FunctionDef) -> Iterator[str]:
    stores: list[str] = [argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)]
    parameters = set(stores)
    stores += (node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    changed = {
        node.value.id
        for node in ast.walk(function)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name)
    }
    constant: set[str] = set()  # names of what depends on no argument, and never changes
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        read = {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)} & {*stores}
        if read - constant:
            continue
        name = node.targets[0].id
        if stores.count(name) == 1 and name not in parameters | changed:
            constant.add(name)
        if read or _computes(node.value):
            yield ast.unparse(node)


def _computes(value: ast.expr) -> bool:
    """Tell whether an expression is more than one call that says what an array looks like."""
    parts = list(ast.walk(value))
    calls = (part for part in parts if isinstance(part, ast.Call))
    nested = any(isinstance(inner, ast.Call) for call in calls for given in call.args for inner in ast.walk(given))
    return nested or any(isinstance(part, _WORK) for part in parts)


def page(checkout: Path, notice: str) -> str:
    """``docs/library_programs.md``."""
    found = readings(checkout)
    lines = [
        "# Programs written with libraries",
        "",
        notice,
        "",
        *_INTRODUCTION,
        "",
        _row(_HEADER),
        f"|{'---|' * len(_HEADER)}",
    ]
    for one in found:
        cells = [" / ".join(str(measured.statements) for measured in one.measures)]
        cells.append(" / ".join(str(measured.file_lines) for measured in one.measures))
        cells += (" / ".join(f"{share:.0%}" for share in shares) for shares in _shares(one))
        lines.append(_row([one.name, *cells, str(one.constant_statements)]))
    statements = (f"{median(one.measures[k].statements for one in found):.0f}" for k in range(2))
    files = (f"{median(one.measures[k].file_lines for one in found):.0f}" for k in range(2))
    kinds = zip(*map(_shares, found), strict=True)
    shares = [" / ".join(f"{median(column):.0%}" for column in zip(*kind, strict=True)) for kind in kinds]
    total = str(sum(one.constant_statements for one in found))
    lines.append(_row(["**median**", " / ".join(statements), " / ".join(files), *shares, f"{total} in all"]))
    return "\n".join(lines) + "\n"


def _shares(one: LibraryReading) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The shares of generic and of numbered names, with sources and without."""
    return tuple(counts.generic for counts in one.names), tuple(counts.numbered for counts in one.names)


def _row(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


_INTRODUCTION = (
    "How do programs that use JAX libraries read as NumPy? [`examples/libraries/`](../examples/libraries) has the HLO",
    "of small models, solvers and training steps written with flax, haiku, equinox, optax, diffrax, lineax,",
    "optimistix, jaxopt, numpyro, distrax, jraph, tinygp and ott, from `benchmarks/libraries/`.",
    "",
    "Pairs of figures are with the author's own Python files (`--sources`) and without.",
    "",
    "| column | counts |",
    "|---|---|",
    "| whole file | all lines, including the header, the check of arguments and copied functions |",
    "| generic names | names of operations, such as `total` and `product_2` |",
    "| numbered names | names that end in a number |",
    "| without arguments | statements that depend on no argument; their values are computed at emission |",
    "",
    "Neither uses the Python files of the libraries. With these, `benchmarks/library_names.py` counts 25 % generic and",
    "12 % numbered names.",
    "",
    "In the first count, of 57 programs of 28 libraries with all sources, 61 % of the names were generic and 66 %",
    "numbered, and 35 % of the statements depended on no argument.",
)
_HEADER = ("program", "statements", "whole file, lines", "generic names", "numbered names", "without arguments")
