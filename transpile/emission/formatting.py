"""Black's layout: lines that are written in it and fit stay as they are, black sees the others.

Templates and macros write black's form, a statement a line, so that what is left to black is where to break a line that
is too long. Each such statement goes there by itself, at its own depth. The prelude is written in black's own line
length: with another, black sees all.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache

from ..options import LINE_LENGTH
from ..python.black import by_black, wrapped
from .layout import Layout
from .prose import narrowed

_STRING = '"""'  # of several lines; the only quotes of that kind that templates write
_OPENING, _CLOSING = ("(", "[", "{"), (")", "]", "}")
_BLOCK = re.compile(r"\s*(def|class|@)\b")


def formatted(text: str, layout: Layout, before: str = "") -> str:
    """The text of whole statements in black's layout.

    A statement of several lines ends an opening line with its bracket and begins the last one with the bracket that
    closes it. What stands in strings of several lines stays as it is. Where the text was edited since macros wrote it,
    it was that of ``before``, and black sees what is not in there.
    """
    if layout.line_length != LINE_LENGTH:
        return _laid_out(text, layout.line_length)
    written = set(before.split("\n")) if before else None
    if written is None and all(len(line) <= LINE_LENGTH for line in text.split("\n")):
        return text
    return "\n".join(
        "\n".join(lines) if fits and (written is None or _is_written(lines, written)) else wrapped("\n".join(lines))
        for lines, fits in _statements(text.split("\n"))
    )


def _is_written(lines: Sequence[str], written: Collection[str]) -> bool:
    """Tell whether macros wrote a statement as it is; comments have no layout."""
    return all(line in written or line.lstrip().startswith("#") for line in lines)


def _statements(lines: Iterable[str]) -> Iterator[tuple[list[str], bool]]:
    """The lines of each statement, and whether all of them fit their width."""
    found: list[str] = []
    fits, is_in_string, end = True, False, ""
    for line in lines:
        is_of_string = is_in_string or line.count(_STRING) % 2 == 1
        is_in_string ^= line.count(_STRING) % 2 == 1
        fits &= len(line) <= LINE_LENGTH or is_of_string or line.lstrip().startswith("#")
        found.append(line)
        if not end and line.endswith(_OPENING) and not is_of_string:
            indent = line[: len(line) - len(line.lstrip())]
            end = indent + _CLOSING[_OPENING.index(line[-1])]
        elif end and not is_in_string and line.startswith(end):
            end = ""
        if not end and not is_in_string:
            yield found, fits
            found, fits = [], True
    if found:
        yield found, fits


@lru_cache(maxsize=1024)
def _laid_out(text: str, line_length: int) -> str:
    """All of a text in lines of another length: functions as if none of their statements had been broken before."""
    return by_black(narrowed(text, line_length), line_length, keeps_commas=not _BLOCK.match(text)).rstrip("\n")
