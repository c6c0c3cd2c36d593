"""Black's line breaks for the most common forms of statements, without importing black, which takes as long as a small
program does.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

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


def broken(text: str, line_length: int) -> str | None:
    """Return a too long statement in black's layout: a function head broken at its parameters, a statement at the
    arguments of its only call or between the values that it returns. None for other forms, if these breaks are not
    enough, and if the text fits.
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
    rows = [inner + ", ".join(found.parts)]
    if found.apart or len(rows[0]) > line_length:
        rows = [f"{inner}{part}," for part in found.parts] if len(found.parts) > 1 else []
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
        case ast.Return(ast.Call() as call) | ast.Expr(ast.Call() as call):
            pass
        case ast.Assign([ast.Name() | ast.Tuple() as target], ast.Call() as call) if "(" not in text(target):
            pass
        case _:
            return None
    match call.func:
        case ast.Name() | ast.Attribute(ast.Name()):
            parts = [*map(text, (*call.args, *call.keywords))]
            return _Break(statement[: (call.func.end_col_offset or 0) + 1], parts, ")")
    return None
