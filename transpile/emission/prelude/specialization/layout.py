"""The layout of specialized functions: statements that now fit into a line are joined, others broken."""

from __future__ import annotations

import ast

from ....python.modules import statement_of
from ....python.templates import template
from ...formatting import formatted
from ...layout import Layout

_BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"))


def laid_out(source: str) -> str:
    """Return the text of a function in black's layout."""
    lines = source.split("\n")
    function = statement_of(source)
    for node in sorted(_statements(function), key=lambda node: node.lineno, reverse=True):
        end = _last_line(node, lines)
        if end == node.lineno:
            continue
        joined = _joined(lines[node.lineno - 1 : end])
        if joined is not None:
            lines[node.lineno - 1 : end] = [joined]
    return formatted("\n".join(line.rstrip() for line in lines), Layout())


def _statements(function: ast.AST) -> list[ast.stmt]:
    """Return the statements of a function, without docstrings and nested definitions."""
    nodes = (
        node for node in ast.walk(function) if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef)
    )
    return [node for node in nodes if not _is_text(node)]


def _last_line(node: ast.stmt, lines: list[str]) -> int:
    """Return the number of a statement's last line; for a statement with a body, that of its head."""
    body = getattr(node, "body", None)
    if not body:
        return node.end_lineno or node.lineno
    last: int = body[0].lineno - 1
    while last > node.lineno and (not lines[last - 1].strip() or lines[last - 1].lstrip().startswith("#")):
        last -= 1
    return last


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _joined(lines: list[str]) -> str | None:
    """Return the lines of a statement joined into one, or None if there are comments between them."""
    if any("#" in line for line in lines[:-1]):
        return None
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    text = " ".join(line.strip() for line in lines)
    for opening, closing in _BRACKETS:
        text = text.replace(f"{opening} ", opening).replace(f", {closing}", closing).replace(f" {closing}", closing)
    before = "\n".join(line.removeprefix(indent) for line in lines)
    return indent + text if ast.dump(template(text).tree) == ast.dump(template(before).tree) else None
