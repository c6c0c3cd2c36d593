"""Black's layout of single statements at any depth of a function."""

from __future__ import annotations

import re
from functools import lru_cache

from ..options import LINE_LENGTH
from .wrapping import broken

_INDENT = "    "
_CONTINUES_IF = re.compile(r"(elif|else)\b")
_BLOCK = re.compile(r"^(def|class|@)", re.MULTILINE)
_HEAD = re.compile(r"(def|class|for|while|if|elif|else|with)\b")


@lru_cache(maxsize=1024)
def wrapped(text: str) -> str:
    """Return one statement, or the head of a compound one, in black's layout at its indentation."""
    found = broken(text, LINE_LENGTH)
    if found is not None:
        return found
    statement = text.lstrip()
    depth = (len(text) - len(statement)) // len(_INDENT)
    before = [f"{_INDENT * k}if _:" for k in range(depth)]
    after = []
    if _HEAD.match(statement):
        after.append(f"{_INDENT * (depth + 1)}pass")
        if _CONTINUES_IF.match(statement):
            before += [f"{_INDENT * depth}if _:", *after]
    source = "\n".join([*before, text, *after, ""])
    lines = by_black(source, LINE_LENGTH).rstrip("\n").split("\n")
    return "\n".join(lines[len(before) : len(lines) - len(after)])


def defines(text: str) -> bool:
    """Return whether a text contains a function or a class."""
    return _BLOCK.search(text) is not None


def by_black(source: str, line_length: int, *, keeps_commas: bool = True) -> str:
    """Return whole statements in black's layout. With ``keeps_commas``, magic trailing commas break lines."""
    import black  # importing it takes as long as a small program does, and few need it
    from black.mode import TargetVersion

    mode = black.Mode({TargetVersion.PY311}, line_length, magic_trailing_comma=keeps_commas)
    return black.format_str(source, mode=mode)
