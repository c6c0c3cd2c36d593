"""Places in the text of a module: what stands around a number, and where functions begin."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Container, Iterator, Sequence

from ..layout import Layout
from .expressions import ATOM, POWER, PRODUCT, SUM

# An expression between these needs no parentheses.
_COMPARED = frozenset(("<", "<=", ">", ">=", "==", "!="))
_BEFORE, _AFTER = _COMPARED | frozenset(("(", "[", ",", ":", "=", "return")), _COMPARED | frozenset(")],:")
_PLACE = re.compile(r"  # \S+:\d+$")
_CHECKS = ("check_sizes", "check_tree_sizes")
_CAST = "cast_"


def apart(texts: Sequence[str], functions: Container[str]) -> tuple[list[str], str]:
    """The texts up to the last of the ``functions``, at least, and the rest that all have: most of a prelude."""
    lines = [text.split("\n") for text in texts]
    least = min(map(len, lines))
    alike = next((k for k in range(1, least) if len({own[-k] for own in lines}) > 1), least) - 1
    blocks = [node for node in ast.parse(texts[0]).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    last = max((node.lineno for node in blocks if node.name in functions), default=0)
    first = max(len(lines[0]) - alike, last)
    starts = (min([node, *node.decorator_list], key=lambda part: part.lineno).lineno - 1 for node in blocks)
    start = next((start for start in starts if start >= first), len(lines[0]))
    shared = len(lines[0]) - start
    return ["\n".join(own[: len(own) - shared]) for own in lines], "".join(f"\n{line}" for line in lines[0][start:])


def needed_level(one_before: str, before: str, after: str) -> int:
    """Return how tightly an expression must bind between these tokens to need no parentheses."""
    is_last = after in _AFTER or not after.strip()
    if is_last and before in _BEFORE:
        return SUM
    if is_last and before in ("+", "-") and (one_before[-1:].isalnum() or one_before in (")", "]")):
        return PRODUCT
    return ATOM if "**" in (before, after) or after == "." else POWER


def closing_bracket(tokens: Sequence[tokenize.TokenInfo], opening: int) -> int:
    """The number of the token that closes a bracket."""
    depth = 0
    for at in range(opening, len(tokens)):
        depth += (tokens[at].string in ("(", "[", "{")) - (tokens[at].string in (")", "]", "}"))
        if not depth:
            return at
    raise AssertionError("a bracket is open")


def without_long_place(line: str, layout: Layout) -> str:
    """A line without the place behind it that it comes from, where it would be too long with it."""
    return line if len(line) <= layout.line_length else _PLACE.sub("", line)


def is_comment_line(token: tokenize.TokenInfo) -> bool:
    """Tell whether a token is a comment on a line of its own in a function."""
    return token.type == tokenize.COMMENT and token.start[1] > 0 and not token.line[: token.start[1]].strip()


def is_docstring(token: tokenize.TokenInfo) -> bool:
    """Tell whether a string is the docstring of the module."""
    return token.start[0] == 1


def is_in_signature(tokens: Sequence[tokenize.TokenInfo], at: int) -> bool:
    """Tell whether a string stands in SIGNATURE."""
    statement = at
    while statement and tokens[statement - 1].type not in (tokenize.NEWLINE, tokenize.DEDENT):
        statement -= 1
    return tokens[statement].string == "SIGNATURE"


def kind_of(token: tokenize.TokenInfo) -> str:
    """Return what must be the same in all texts."""
    return "" if token.type in (tokenize.NUMBER, tokenize.STRING) else token.string


def bodies_begin(lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield each function and the line of its first statement behind its docstring and its checks, the last first."""
    for function in reversed(ast.parse("\n".join(lines)).body):
        if isinstance(function, ast.FunctionDef):
            at = next(node.lineno for node in function.body if not _is_before_body(node)) - 1
            while lines[at - 1].lstrip().startswith("#"):
                at -= 1
            yield function.name, at


def _is_before_body(node: ast.stmt) -> bool:
    """Tell whether a statement is a docstring or checks an argument."""
    value = getattr(node, "value", None)
    if isinstance(node, ast.Expr) and isinstance(value, ast.Constant):
        return True
    name = value.func.id if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else ""
    return name in _CHECKS if isinstance(node, ast.Expr) else isinstance(node, ast.Assign) and name.startswith(_CAST)
