"""Places in the text of a module: what stands around a number, and where functions begin."""

from __future__ import annotations

import re
import tokenize
from collections.abc import Iterable, Sequence

from ..layout import Layout
from .expressions import ATOM, POWER, PRODUCT, SUM

# An expression between these needs no parentheses.
_COMPARED = frozenset(("<", "<=", ">", ">=", "==", "!="))
_BEFORE, _AFTER = _COMPARED | frozenset(("(", "[", ",", ":", "=", "return")), _COMPARED | frozenset(")],:")
_CHECK = re.compile(r"\s+(check_sizes|check_tree_sizes|.* = cast_\w+)\(")
_PLACE = re.compile(r"  # \S+:\d+$")
_BLOCKS = ("def ", "class ", "@")


def apart(texts: Sequence[str], functions: Iterable[str]) -> tuple[list[str], str]:
    """The texts up to the last of the ``functions``, at least, and the rest that all have: most of a prelude."""
    lines = [text.split("\n") for text in texts]
    least = min(map(len, lines))
    alike = next((k for k in range(1, least) if len({own[-k] for own in lines}) > 1), least) - 1
    first = lines[0]
    heads = tuple(f"def {name}(" for name in functions)
    last = max((k for k, line in enumerate(first) if line.startswith(heads)), default=-1)
    possible = range(max(len(first) - alike, last + 1), len(first))
    starts = (k for k in possible if first[k].startswith(_BLOCKS))
    start = next(starts, len(first))
    shared = len(first) - start
    return ["\n".join(own[: len(own) - shared]) for own in lines], "".join(f"\n{line}" for line in first[start:])


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


def body_begins(lines: Sequence[str], name: str) -> int:
    """The line of the first statement of a function behind its docstring and its checks."""
    start = next(k for k, line in enumerate(lines) if line.startswith(f"def {name}("))
    at = next(k for k in range(start, len(lines)) if lines[k].endswith(":")) + 1
    if lines[at].strip().startswith('"""'):
        quotes = lines[at].count('"""')
        while quotes < 2:
            at += 1
            quotes += lines[at].count('"""')
        at += 1
    while _CHECK.match(lines[at]):
        at += 1
    return at
