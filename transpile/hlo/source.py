"""Source text, spans in it, and the base class of errors that point at them."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import field
from functools import cached_property
from typing import NamedTuple

from ..dataclass import dataclass


class Span(NamedTuple):
    """A half-open range of character offsets in a :class:`SourceText`."""

    start: int
    end: int


class Position(NamedTuple):
    """A position for people: lines and columns count from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class SourceText:
    """The text that a module was read from. ``name`` is its name in errors: a path, ``<stdin>`` or ``<string>``.

    Bytecode is no text: errors name the file, and no place in it.
    """

    text: str
    name: str = "<string>"
    is_text: bool = True

    @cached_property
    def line_starts(self) -> list[int]:
        """The offset of the begin of each line."""
        starts = [0]
        find = self.text.find
        at = find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = find("\n", at + 1)
        return starts

    def position(self, offset: int) -> Position:
        line = bisect_right(self.line_starts, offset)
        return Position(line, offset - self.line_starts[line - 1] + 1)

    def line(self, number: int) -> str:
        """Return the text of a line (from 1), without its line break."""
        start = self.line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end].rstrip("\r")

    def place(self, span: Span) -> tuple[SourceText, Span]:
        """Return the text and span to show for a span of this text."""
        return self, span


@dataclass(frozen=True)
class Diagnostic:
    """One problem: a code such as ``XP101``, a message, a position and a hint."""

    code: str
    message: str
    span: Span | None = None
    source: SourceText | None = field(default=None, repr=False)
    hint: str | None = None
    label: str | None = None  # short text behind the carets

    @property
    def place(self) -> tuple[SourceText, Span] | None:
        """The text and span to show; None if unknown."""
        if self.source is None or self.span is None or not self.source.is_text:
            return None
        return self.source.place(self.span)

    @property
    def location(self) -> str:
        """``file:line:column``, the file alone, or ""."""
        if self.place is None:
            return self.source.name if self.source is not None else ""
        source, span = self.place
        line, column = source.position(span.start)
        return f"{source.name}:{line}:{column}"


class XlaToPythonError(Exception):
    """The base of all errors that a user can cause. Has one or more diagnostics; ``str`` shows them with their
    hints.
    """

    exit_code = 2

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__(*diagnostics)
        self.diagnostics = diagnostics

    def __str__(self) -> str:
        lines = []
        for diagnostic in self.diagnostics:
            where = diagnostic.location
            lines.append(f"{where + ': ' if where else ''}{diagnostic.code}: {diagnostic.message}")
            lines += [f"help: {diagnostic.hint}"] if diagnostic.hint else []
        return "\n".join(lines)


class HloSyntaxError(XlaToPythonError):
    """The text is not HLO."""


class HloVerificationError(XlaToPythonError):
    """The text is HLO, but an instruction breaks a rule of its operation."""


class UnsupportedError(XlaToPythonError):
    """Valid HLO that a target does not support. One error lists all unsupported operations."""

    exit_code = 3
