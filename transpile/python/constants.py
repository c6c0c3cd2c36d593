"""The integers and strings of an expression; expressions that differ only in these may form a counted sequence."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from .templates import template


class Parts(NamedTuple):
    """The integers and strings of an expression, and the text around them.

    ``lists`` has an entry for each constant: None if it is not an index, else the name of the indexed variable, or ""
    if the indexed expression is not a name.
    """

    gaps: list[str]
    constants: list[str]
    lists: list[str | None]


@lru_cache(maxsize=1 << 10)
def counted_parts(text: str) -> Parts:
    """Return the parts of an expression on one line."""
    data, found, end = text.encode(), Parts([], [], []), 0
    tree = template(text).tree
    indices: dict[ast.AST, ast.expr] = {
        node.slice: node.value for node in ast.walk(tree) if isinstance(node, ast.Subscript)
    }
    for node in sorted(_constants(tree), key=lambda node: node.col_offset):
        whole = indices.get(node)
        name = whole.id if isinstance(whole, ast.Name) else ""
        found.gaps.append(data[end : node.col_offset].decode())
        end = node.end_col_offset or 0
        found.constants.append(data[node.col_offset : end].decode())
        found.lists.append(None if whole is None else name)
    found.gaps.append(data[end:].decode())
    return found


def _constants(node: ast.AST) -> Iterator[ast.Constant]:
    """Yield the integers and strings in a node, except in format strings."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, str):
        yield node
    for part in ast.iter_child_nodes(node) if not isinstance(node, ast.JoinedStr) else ():
        yield from _constants(part)


def first_item(text: str) -> tuple[str, str, int] | None:
    """Return the list and the number of the item that an expression begins with, and the text behind it; None if it
    does not begin with an item.
    """
    for node in ast.walk(template(text).tree):
        match node:
            case ast.Subscript(ast.Name(name), ast.Constant(number), col_offset=0) if type(number) is int:
                return name, text.encode()[node.end_col_offset :].decode(), number
    return None
