"""Comments and docstrings in lines of a length: black leaves them as they are."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

from .module.header import is_header_line

_QUOTES = '"' * 3
_COMMENT = re.compile(r"( *)# (?=\S)")


def narrowed(text: str, line_length: int) -> str:
    """A text whose comments and docstrings fit; paragraphs that fit already stay, and so does the header."""
    return "\n".join(_narrowed(text.split("\n"), line_length))


def _narrowed(lines: Sequence[str], line_length: int) -> Iterator[str]:
    at = 0
    while at < len(lines):
        line = lines[at]
        end = at + 1
        if line.lstrip().startswith(_QUOTES):
            while lines[at:end] and _quotes(lines[at:end]) < 2 and end < len(lines):
                end += 1
            yield from _docstring(lines[at:end], line_length)
        elif len(line) > line_length and not is_header_line(line) and (indent := _COMMENT.match(line)):
            yield from textwrap.wrap(
                line[indent.end() :], line_length, initial_indent=indent[0], subsequent_indent=indent[0]
            )
        else:
            yield line
        at = end


def _quotes(lines: Sequence[str]) -> int:
    return sum(line.count(_QUOTES) for line in lines)


def _docstring(lines: Sequence[str], line_length: int) -> Iterator[str]:
    """A docstring, its closing quotes on a line of their own where its text has several lines."""
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
                words,
                width,
                initial_indent=own,
                subsequent_indent=own,
                break_long_words=False,
                break_on_hyphens=False,
            )
    yield indent + _QUOTES


def _paragraphs(lines: Sequence[str]) -> Iterator[list[str]]:
    """The lines between empty ones, and these."""
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
