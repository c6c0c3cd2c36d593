"""Black's layout: lines that are written in it and fit stay as they are; black formats the others.

Templates and macros write black's form, a statement a line, so black only has to break lines that are too long. Each
such statement is passed to black by itself, at its own depth. The prelude is written for black's own line length: for
another length, black formats the whole text.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache

from ..options import LINE_LENGTH
from ..python.black import by_black, defines, wrapped
from .layout import Layout
from .module.header import is_header_line

_STRING = '"""'  # the only quotes of strings of several lines that templates write
_OPENING, _CLOSING = ("(", "[", "{"), (")", "]", "}")
_QUOTES = '"' * 3


def formatted(text: str, layout: Layout, before: str = "") -> str:
    """Return the text of whole statements in black's layout.

    A statement of several lines ends its opening line with a bracket and begins its last line with the closing bracket.
    Strings of several lines stay as they are. If the text was edited since macros wrote ``before``, black formats the
    lines that are not in ``before``.
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
    """Return whether all lines of a statement are as macros wrote them; comments have no layout."""
    return all(line in written or line.lstrip().startswith("#") for line in lines)


def _statements(lines: Iterable[str]) -> Iterator[tuple[list[str], bool]]:
    """Yield the lines of each statement, and whether all of them fit."""
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
    """Return a text for another line length, formatted as if none of its statements had been broken before."""
    return by_black(narrowed(text, line_length), line_length, keeps_commas=not defines(text)).rstrip("\n")


# -- comments and docstrings in lines of a length


def narrowed(text: str, line_length: int) -> str:
    """Return a text whose comments and docstrings fit; paragraphs that fit already stay, and so does the header."""
    return "\n".join(_narrowed(text.split("\n"), line_length))


def _narrowed(lines: Sequence[str], line_length: int) -> Iterator[str]:
    at = 0
    while at < len(lines):
        line = lines[at]
        end = at + 1
        if line.lstrip().startswith(_QUOTES):
            while lines[at:end] and sum(line.count(_QUOTES) for line in lines[at:end]) < 2 and end < len(lines):
                end += 1
            yield from _docstring(lines[at:end], line_length)
        elif len(line) > line_length and not is_header_line(line) and line.lstrip(" ").startswith("# "):
            indent, _, words = line.partition("# ")
            yield from textwrap.wrap(words, line_length, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# ")
        else:
            yield line
        at = end


def _docstring(lines: Sequence[str], line_length: int) -> Iterator[str]:
    """Yield the wrapped lines of a docstring; closing quotes behind several lines get a line of their own."""
    if max(map(len, lines)) <= line_length or not lines[-1].endswith(_QUOTES):
        yield from lines
        return
    width = line_length if len(lines) > 1 else line_length - len(_QUOTES)  # a line alone ends in the quotes
    indent = " " * (len(lines[0]) - len(lines[0].lstrip()))
    last = lines[-1].removesuffix(_QUOTES)
    for paragraph in _paragraphs([*lines[:-1], *([last] if last.strip() else [])]):
        if max(map(len, paragraph)) <= width:
            yield from paragraph
        else:
            own = " " * (len(paragraph[0]) - len(paragraph[0].lstrip()))
            words = " ".join(line.strip() for line in paragraph)
            yield from textwrap.wrap(
                words, width, initial_indent=own, subsequent_indent=own, break_long_words=False, break_on_hyphens=False
            )
    yield indent + _QUOTES


def _paragraphs(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield the runs of lines between empty lines, and the empty lines."""
    found: list[str] = []
    for line in lines:
        if line.strip():
            found.append(line)
            continue
        if found:
            yield found
        found = []
        yield [line]
    if found:
        yield found
