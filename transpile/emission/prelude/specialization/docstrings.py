"""Docstrings of copied functions: of several paragraphs the first, which says what the function does."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

_QUOTES = '"' * 3
_SAYS_MORE = re.compile(r"\n *\n")


@cache
def with_short_docstrings(source: str) -> str:
    """Return the source of a function or class with the first paragraphs of its docstrings."""
    if _SAYS_MORE.search(source) is None:
        return source
    lines = source.split("\n")
    for text in sorted(_docstrings(ast.parse(source)), key=lambda text: -text.lineno):
        begin, end = text.lineno - 1, text.end_lineno or text.lineno
        paragraph = "\n".join(lines[begin:end]).partition(_QUOTES)[2].rpartition(_QUOTES)[0]
        first, *rest = _SAYS_MORE.split(paragraph.rstrip())
        if rest:
            indent = " " * text.col_offset
            lines[begin:end] = _written(first, indent).split("\n")
    return "\n".join(lines)


def _written(paragraph: str, indent: str) -> str:
    line = f"{indent}{_QUOTES}{paragraph}{_QUOTES}"
    return line if "\n" not in line else f"{indent}{_QUOTES}{paragraph}\n{indent}{_QUOTES}"


def _docstrings(tree: ast.AST) -> Iterator[ast.Expr]:
    """The docstrings of functions and classes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            text = node.body[0]
            assert isinstance(text, ast.Expr)
            yield text
