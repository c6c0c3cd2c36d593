"""The layout of functions that were cut: statements of several lines that fit one now, and lines that do not fit."""

from __future__ import annotations

import ast
import re

from ..formatting import formatted

_OPENED = re.compile(r"([(\[{]) ")
_CLOSED = re.compile(r",? ([)\]}])")


def laid_out(source: str) -> str:
    """The text of a function in black's layout."""
    lines = source.split("\n")
    (function,) = ast.parse(source).body
    for node in sorted(_simple(function), key=lambda node: node.lineno, reverse=True):
        end = node.end_lineno or node.lineno
        if end == node.lineno:
            continue
        joined = _joined(lines[node.lineno - 1 : end])
        if joined is not None:
            lines[node.lineno - 1 : end] = [joined]
    return formatted("\n".join(line.rstrip() for line in lines))


def _simple(function: ast.AST) -> list[ast.stmt]:
    return [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.stmt) and not hasattr(node, "body") and not _is_text(node)
    ]


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _joined(lines: list[str]) -> str | None:
    """The lines of a statement in one, None where comments stand between them."""
    if any("#" in line for line in lines[:-1]):
        return None
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    text = _OPENED.sub(r"\1", " ".join(line.strip() for line in lines))
    text = _CLOSED.sub(r"\1", text)
    same = ast.dump(ast.parse(text)) == ast.dump(ast.parse("\n".join(line.removeprefix(indent) for line in lines)))
    return indent + text if same else None
