"""HLO text that was made of what the user has, and where its places are in that."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..hlo.lexer import escape
from ..hlo.source import SourceText, Span

_FILE = re.compile(r'source_file="((?:[^"\\]|\\.)*)" source_line=(\d+)')
_COLUMN = re.compile(r"source_column=(\d+)")


@dataclass(frozen=True)
class TranslatedText(SourceText):
    """The HLO that a file became. ``original`` is the file, where it is text that instructions say their lines in."""

    original: SourceText | None = None

    def place(self, span: Span) -> tuple[SourceText, Span]:
        """The place in the original that the line of a span comes from; else that in the translation, which says so."""
        line = self.line(self.position(span.start).line)
        found, column = _FILE.search(line), _COLUMN.search(line)
        if self.original is not None and found is not None and found[1] == escape(Path(self.name).name):
            place = self.original.span_from(int(found[2]), int(column[1]) if column is not None else 1)
            if place is not None:
                return self.original, place
        return self._as_hlo, span

    @cached_property
    def _as_hlo(self) -> SourceText:
        return SourceText(self.text, f"{self.name} (as HLO text)")
