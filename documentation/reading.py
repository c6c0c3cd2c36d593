"""The reading test: emitted code beside what a person wrote for the same program.

``examples/by_hand/NAME.py`` holds the NumPy that an expert would write for ``examples/NAME.py``, with the emitted
``main``'s signature, and ship: with a docstring and a check of the arguments. Both are measured alike, without what is
not the program: docstrings, imports, the check of arguments, and functions of the prelude, which stand for a library.
``python -m xla2py.documentation.reading`` prints the page ``docs/reading.md``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from ..transpile.emission import emit
from ..transpile.emission.prelude.library import prelude
from ..transpile.hlo.parser import parse_module

CHECKOUT = Path(__file__).resolve().parents[1]

# The most emitted statements for one written by hand: (median over the programs, any program).
GOALS = {"with sources": (1.0, 1.5), "without": (1.3, 2.0)}


@dataclass(frozen=True, slots=True)
class Measure:
    """The measures of what a reader of a module has to take in.

    ``statements``: all of Python's, a ``def`` or the head of a loop counted as one, however many lines it takes;
    ``lines``: those that are not blank; ``characters``: of those lines, without indentation and comments;
    ``helpers``: how many different functions of the prelude are called; ``file_lines``: all of the file, with its head
    and what it carries of the prelude; ``bare_lines``: those without checks of arguments and the docstring of ``main``.
    """

    statements: int
    lines: int
    characters: int
    helpers: int
    file_lines: int
    bare_lines: int


@dataclass(frozen=True, slots=True)
class Reading:
    """One program: its size as HLO, and the measures of its three texts."""

    name: str
    instructions: int
    by_hand: Measure
    emitted: dict[str, Measure]  # by whether the author's source is at hand: the keys of GOALS

    def ratio(self, form: str) -> float:
        """Emitted statements for one written by hand."""
        return self.emitted[form].statements / self.by_hand.statements

    def file_ratio(self, form: str) -> float:
        """Lines of the whole emitted file for one of the file written by hand."""
        return self.emitted[form].file_lines / self.by_hand.file_lines

    def bare_ratio(self, form: str) -> float:
        """Lines of the whole emitted file for one of the file written by hand, without its docstring and its checks."""
        return self.emitted[form].file_lines / self.by_hand.bare_lines


def measure(source: str) -> Measure:
    """Measure the text of a module."""
    lines = source.splitlines()
    counted: set[int] = set()
    statements = 0
    helpers: set[str] = set()
    unread: set[int] = set()  # lines that check or describe
    for part in _program(ast.parse(source)):
        checks = [node for node in ast.walk(part) if isinstance(node, ast.stmt) and _checks(node)]
        checking = {inner for check in checks for inner in ast.walk(check)}
        within = [node for node in ast.walk(part) if node not in checking]
        statements += sum(_counts(node) for node in within)
        described = part.body[:1] if isinstance(part, ast.FunctionDef) and ast.get_docstring(part) else []
        unread.update(line for node in (*checks, *described) for line in _lines(node))
        names = (node.func.id for node in within if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
        helpers |= {name for name in names if name in prelude().definitions} - {"check_arguments"}
        counted.update(_lines(part))
    counted -= unread
    texts = [lines[number - 1].split("  # ")[0].strip() for number in sorted(counted)]
    texts = [text for text in texts if text and not text.startswith("#")]
    return Measure(statements, len(texts), sum(map(len, texts)), len(helpers), len(lines), len(lines) - len(unread))


def _program(tree: ast.Module) -> Iterator[ast.stmt]:
    """The functions and tables of a module that are no part of the prelude."""
    library = {*prelude().definitions, "Array", "Scalar"}
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):
            names = {statement.name}
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names = {target.id for target in targets if isinstance(target, ast.Name)}
        else:
            continue
        if not names & library:
            yield statement


def _counts(node: ast.AST) -> bool:
    """A statement, but for ``def main``, docstrings and the check of arguments."""
    if not isinstance(node, ast.stmt) or (isinstance(node, ast.FunctionDef) and node.name == "main"):
        return False
    return not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant)


def _checks(statement: ast.stmt) -> bool:
    """Tell whether a statement is a check of arguments: a call, or what does nothing but raise."""
    if isinstance(statement, ast.If | ast.For):
        return not statement.orelse and all(isinstance(part, ast.Raise) or _checks(part) for part in statement.body)
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "check_arguments"


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def readings(checkout: Path = CHECKOUT) -> list[Reading]:
    """All programs that are written by hand too, by name."""
    found = []
    for path in sorted((checkout / "examples" / "by_hand").glob("*.py")):
        hlo = (checkout / "examples" / "hlo" / f"{path.stem}.before.hlo").read_text(encoding="utf-8")
        emitted = {
            form: measure(emit(hlo, sources=folder).source)
            for form, folder in zip(GOALS, (checkout, None), strict=True)
        }
        instructions = sum(1 for _ in parse_module(hlo).instructions())
        found.append(Reading(path.stem, instructions, measure(path.read_text(encoding="utf-8")), emitted))
    return found


def summary(found: list[Reading], form: str) -> tuple[float, float]:
    """The median and the greatest ratio of statements."""
    ratios = [reading.ratio(form) for reading in found]
    return median(ratios), max(ratios)


def file_summary(found: list[Reading], form: str) -> tuple[float, float]:
    """The median and the greatest ratio of lines of whole files."""
    ratios = [reading.file_ratio(form) for reading in found]
    return median(ratios), max(ratios)


def bare_median(found: list[Reading], form: str) -> float:
    """The median ratio of lines of whole files to those by hand without checks."""
    return median(reading.bare_ratio(form) for reading in found)


def page(checkout: Path, notice: str) -> str:
    """``docs/reading.md``."""
    found = readings(checkout)
    lines = [
        "# Reading test",
        "",
        notice,
        "",
        *_INTRODUCTION,
        "",
        "| | median | greatest | goal | whole files: median | greatest | beside files that check nothing: median |",
        "|---|---|---|---|---|---|---|",
    ]
    for form, goals in GOALS.items():
        middle, greatest = summary(found, form)
        ratios = (*file_summary(found, form), bare_median(found, form))
        files = " | ".join(f"{ratio:.1f}" for ratio in ratios)
        lines.append(f"| {form} | {middle:.2f} | {greatest:.2f} | at most {goals[0]} and {goals[1]} | {files} |")
    lines += ["", *_COLUMNS, "", f"| {' | '.join(_HEADER)} |", f"|{'---|' * len(_HEADER)}"]
    for reading in found:
        measures = [reading.by_hand, *(reading.emitted[form] for form in GOALS)]
        cells = [f"[{reading.name}](../examples/by_hand/{reading.name}.py)", str(reading.instructions)]
        cells.append(" / ".join(str(m.statements) for m in measures))
        cells.append(" / ".join(f"{reading.ratio(form):.2f}" for form in GOALS))
        cells.append(" / ".join(f"{m.statements / reading.instructions:.2f}" for m in measures))
        cells += [" / ".join(str(getattr(m, part)) for m in measures) for part in _PARTS]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


_INTRODUCTION = (
    "How much longer is emitted code than handwritten code? `examples/by_hand/` has handwritten NumPy versions of some",
    "examples, with the same arguments and results. Emitted statements per handwritten statement, with the author's",
    "Python files for names (`--sources`) and without:",
)
_COLUMNS = (
    "The columns below show: by hand / with sources / without.",
    "",
    "| column | counts |",
    "|---|---|",
    "| statements | all Python statements, including `def` and loop headers, but not docstrings, imports, the check of "
    "arguments, and copied prelude functions |",
    "| characters | without indentation and comments |",
    "| helpers | distinct prelude functions that are called |",
    "| whole file | all lines: header, imports, the check of arguments, copied prelude functions |",
    "",
    "The handwritten files are what a careful person ships, with a docstring and a check of every argument's dtype and",
    "shape. An emitted file also has its origin, types, the minimum NumPy version, the function that checks arguments",
    "(17 lines), and copied functions.",
)
_PARTS = ("lines", "characters", "helpers", "file_lines")
_HEADER = (
    "program",
    "HLO instructions",
    "statements",
    "ratio",
    "statements an instruction",
    "lines",
    "characters",
    "helpers",
    "whole file",
)


if __name__ == "__main__":
    print(page(CHECKOUT, ""), end="")
