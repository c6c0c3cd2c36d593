"""Pairs as tests: a file of HLO modules, each with the Python that is expected for it.

A file in ``pairs/`` is HLO with comments, one topic each::

    // ----- what this pair shows
    // options: sources=examples          (optional: keywords of emit)
    ENTRY main { .. }
    // =>
    // def main(x):
    //     return x + 1

``python -m xla2py.tests.emission.write_pairs`` writes what is emitted today into the files: read every difference
before you commit it, for what stands there is what the emitter is held to.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import black

import xla2py
from xla2py.transpile.emission.prelude.library import prelude

FOLDER = Path(__file__).parent / "pairs"
_RULE = re.compile(r"^// ----- (.+)$", re.MULTILINE)
_OPTIONS = re.compile(r"^// options: (.+)$", re.MULTILINE)
_ARROW = "// =>\n"


@dataclass(frozen=True)
class Pair:
    """HLO text and the Python expected for it."""

    topic: str
    title: str
    hlo: str
    expected: str

    @property
    def options(self) -> dict[str, Any]:
        """Keywords of ``emit``: literals of Python, joined by ``;``."""
        found = _OPTIONS.search(self.hlo)
        items = (item.split("=", 1) for item in found[1].split(";")) if found else ()
        return {key.strip(): ast.literal_eval(value.strip()) for key, value in items}

    def emitted(self) -> str:
        return shown(xla2py.emit(self.hlo, **self.options).source)

    def __str__(self) -> str:
        return f"{self.topic}: {self.title}"


def read_pairs(path: Path) -> Iterator[Pair]:
    """The pairs of a file."""
    _, *parts = _RULE.split(path.read_text("utf-8"))
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        hlo, _, comments = body.partition(_ARROW)
        lines = [line.removeprefix("//").removeprefix(" ") for line in comments.strip().splitlines()]
        yield Pair(path.stem, title, hlo, "\n".join(lines))


def write_pairs(path: Path) -> None:
    """Replace what the pairs of a file expect by what is emitted."""
    preface = _RULE.split(path.read_text("utf-8"))[0]
    parts = [preface]
    for pair in read_pairs(path):
        python = "".join(f"// {line}".rstrip() + "\n" for line in pair.emitted().splitlines())
        parts.append(f"// ----- {pair.title}\n{pair.hlo.strip()}\n{_ARROW}{python}\n")
    path.write_text("".join(parts).rstrip() + "\n", "utf-8")


def shown(source: str) -> str:
    """What a pair shows of a module: no header, imports, types, checks and copied prelude."""
    tree = ast.parse(source)
    lines = source.splitlines()
    pieces = []
    for statement in tree.body:
        if _is_shown(statement):
            start = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))])
            shown_lines = lines[start - 1 : statement.end_lineno]
            if isinstance(statement, ast.FunctionDef):
                head = slice(statement.lineno - start, statement.body[0].lineno - start)
                shown_lines[head] = untyped(statement).splitlines()
            pieces.append("\n".join(shown_lines))
    return re.sub(r"\n    check_arguments\((?:.*\)|\n(?:        .*\n)+    \))(?=\n)", "", "\n".join(pieces))


def untyped(function: ast.FunctionDef) -> str:
    """The ``def`` line of a function without the types."""
    parameters = [argument.arg for argument in function.args.args]
    hooks = [argument.arg for argument in function.args.kwonlyargs]
    line = f"def {function.name}({', '.join([*parameters, *(['*', *hooks] if hooks else [])])}):"
    return black.format_str(f"{line} ...", mode=black.Mode()).removesuffix(" ...\n")


def _is_shown(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.FunctionDef):
        return statement.name not in prelude().definitions
    if isinstance(statement, ast.Assign):
        (target,) = statement.targets
        return isinstance(target, ast.Name) and target.id not in {
            "__all__",
            "Array",
            "Scalar",
            "SIGNATURE",
            *prelude().definitions,
        }
    return False


def lines(hlo: str, **options: Any) -> list[str]:
    """The body of the emitted ``main``, line by line, without the check of arguments."""
    source = shown(xla2py.emit(hlo, **options).source)
    (main,) = [s for s in ast.parse(source).body if isinstance(s, ast.FunctionDef) and s.name == "main"]
    body = source.splitlines()[main.body[0].lineno - 1 : main.end_lineno]
    return textwrap.dedent("\n".join(body)).splitlines()
