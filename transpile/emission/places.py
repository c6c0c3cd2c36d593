"""The statements of the formatted text that the emitter's lines became.

Formatting moves and breaks lines, and never changes the order of statements: the n-th line of a function's body is its
n-th statement, without lines like ``else:``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ..python.templates import template_of
from .lines import Line, WrittenFunction


def main_of(tree: ast.Module) -> ast.FunctionDef:
    """Return the function ``main`` of an emitted module."""
    return next(part for part in tree.body if isinstance(part, ast.FunctionDef) and part.name == "main")


def definition_of(tree: ast.Module, function: WrittenFunction) -> ast.FunctionDef:
    """Return the definition of an emitted function in the syntax tree of its module."""
    (definition,) = [part for part in tree.body if isinstance(part, ast.FunctionDef) and part.name == function.name]
    return definition


def statements(tree: ast.Module, function: WrittenFunction) -> list[tuple[Line, ast.stmt]]:
    """Return each line of an emitted function with its statement in the syntax tree of the module, unedited."""
    lines = [line for line in function.lines if not template_of(line.text).is_else]
    return list(zip(lines, in_order(definition_of(tree, function).body), strict=True))


def bodies(statement: ast.stmt) -> list[list[ast.stmt]]:
    """Return the lists of statements inside a statement, in the order of the text."""
    return [part for name in ("body", "orelse", "finalbody") if (part := getattr(statement, name, []))]


def in_order(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a body and of the bodies inside, in the order of the text."""
    for statement in body:
        yield statement
        for inner in bodies(statement):
            yield from in_order(inner)
