"""Black's line breaks for the most common forms of statements, without importing black, which takes as long as a small
program does.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeGuard

from .grammar import level

_INDENT = "    "
_LEAST_VALUES = 3  # of a tuple that is broken between its values; with two, black may break inside the last instead
_UNUSUAL = ("\n", "#", ",]", ",}", '"""')
_DEF = "def "


class _Break(NamedTuple):
    """The pieces of a broken statement: the text before and behind some parts. With ``apart``, each part gets a
    line.
    """

    before: str
    parts: list[str]
    behind: str
    apart: bool = False
    separator: str = ","


def broken(text: str, line_length: int) -> str | None:
    """Return a too long statement in black's layout: a function head broken at its parameters, a statement at the
    arguments of its only call, between the values that it returns or at operators. None for other forms, if these
    breaks are not enough, and if the text fits.
    """
    statement = text.lstrip()
    is_inner = statement.startswith(_DEF) and text != statement  # black puts an empty line before it
    fits = len(text) <= line_length
    if fits or is_inner or not text.isascii() or any(mark in text for mark in _UNUSUAL):
        return None
    found = _of_head(statement) if statement.startswith(_DEF) else _of_statement(statement)
    if found is None:
        return None
    indent = text[: len(text) - len(statement)]
    inner = indent + _INDENT
    rows = [inner + f"{found.separator} ".join(found.parts)]
    if found.apart or len(rows[0]) > line_length:
        rows = [f"{inner}{part}{found.separator}" for part in found.parts] if len(found.parts) > 1 else []
    lines = [indent + found.before, *rows, indent + found.behind]
    return "\n".join(lines) if rows and max(map(len, lines)) <= line_length else None


def _of_head(head: str) -> _Break | None:
    depth, begin, starts = 0, head.index("("), [head.index("(") + 1]
    for at in range(begin, len(head)):
        depth += (head[at] in "([{") - (head[at] in ")]}")
        if head[at] == "," and depth == 1:
            starts.append(at + 2)
        if not depth and '"' not in head and len(starts) > 1:
            parts = [
                head[start:end] for start, end in zip(starts, [*(next_ - 2 for next_ in starts[1:]), at], strict=True)
            ]
            return _Break(head[: begin + 1], parts, head[at:])
        if not depth:
            break
    return None


def _of_statement(statement: str) -> _Break | None:
    try:
        (node,) = ast.parse(statement).body
    except SyntaxError:
        return None

    def text(part: ast.AST) -> str:
        return statement[part.col_offset : part.end_col_offset]  # type: ignore[attr-defined]

    match node:
        case ast.Return(ast.Tuple(values) as whole) if len(values) >= _LEAST_VALUES and text(whole)[0] != "(":
            return _Break("return (", [*map(text, values)], ")", apart=True)
        case ast.Return((ast.BinOp() | ast.IfExp()) as value) | ast.Assign(
            [ast.Name()], (ast.BinOp() | ast.IfExp()) as value
        ):
            parts = _parts(value)
            is_nested = isinstance(value, ast.IfExp) and any(isinstance(part, ast.IfExp) for part in parts)
            if len(parts) < _LEAST_VALUES or is_nested:
                return None  # black may break at a bracket instead, or add some
            head, end = statement[: value.col_offset], value.end_col_offset or 0
            return _Break(head + "(", _pieces(statement, value, parts), ")" + statement[end:], separator="")
        case ast.Return(ast.Call() as call) | ast.Expr(ast.Call() as call):
            pass
        case ast.Assign([ast.Name() | ast.Tuple() as target], ast.Call() as call) if "(" not in text(target):
            pass
        case _:
            return None
    match call.func:
        case ast.Name() | ast.Attribute(ast.Name()):
            given = [*map(text, (*call.args, *call.keywords))]
            return _Break(statement[: (call.func.end_col_offset or 0) + 1], given, ")")
    return None


def breaks_well(text: str, fits: Callable[[str], bool]) -> bool:
    """Return whether black writes all arguments of a statement's call, or all operands of its value, on one inner line.
    ``fits`` tells whether a text fits into an inner line.
    """
    try:
        (node,) = ast.parse(text).body
    except SyntaxError:
        return False
    value = getattr(node, "value", None)
    parts = _parts(value) if isinstance(value, ast.expr) else []
    if value is None or not parts or not fits(text[: value.col_offset]):
        return False
    if isinstance(value, ast.Call):
        return fits(", ".join(text[part.col_offset : part.end_col_offset] for part in parts))
    if len(parts) == 2 and not _breaks_between(_pieces(text, value, parts), parts):
        return False
    return fits(text[value.col_offset : value.end_col_offset])


def _breaks_between(pieces: Sequence[str], parts: Sequence[ast.AST]) -> bool:
    """Return whether black breaks ``a + b`` around the operator or at the parentheses around an operand.

    Otherwise it breaks the first or the last brackets, such as those of a call, whatever they hold.
    """
    left, right = pieces
    right = right.partition(" ")[2]
    grouped = [
        piece[0] == "(" and piece[-1] == ")" and isinstance(part, ast.BinOp | ast.IfExp | ast.Compare)
        for piece, part in zip((left, right), parts, strict=True)
    ]
    if left[0] in "([":
        return grouped[0] and right[-1] not in ")]"
    return grouped[1] or (right[-1] != ")" and not isinstance(parts[1], ast.List))


def _parts(value: ast.expr) -> Sequence[ast.expr | ast.keyword]:
    """Return what black gives a line each; nothing for other forms of expressions."""
    match value:
        case ast.Call(ast.Name() | ast.Attribute(ast.Name() | ast.Attribute(ast.Name()))):
            return [*value.args, *value.keywords]
        case ast.IfExp(test, body, orelse):
            return [body, test, orelse]
        case ast.BinOp(left):
            parts: list[ast.expr] = [value.right]
            while _continues(left, value):
                parts.append(left.right)
                left = left.left
            return [left, *reversed(parts)]
    return []


def _continues(left: ast.expr, value: ast.BinOp) -> TypeGuard[ast.BinOp]:
    """Return whether the left operand of ``a + b + c`` is ``a + b``, without parentheses."""
    return isinstance(left, ast.BinOp) and level(left) == level(value) and left.col_offset == value.col_offset


def _pieces(text: str, value: ast.expr, parts: Sequence[ast.expr | ast.keyword]) -> list[str]:
    """Return the text of each part of an expression, with the operator before it."""
    starts = [value.col_offset]
    for part in parts[:-1]:
        end = part.end_col_offset or 0
        starts.append(end + len(text[end:]) - len(text[end:].lstrip(") ")))
    return [text[start:end].rstrip() for start, end in pairwise([*starts, value.end_col_offset])]
