"""HLO text that was made of what the user has."""

from __future__ import annotations

from functools import cached_property

from ..dataclass import dataclass
from ..hlo.source import SourceText, Span


@dataclass(frozen=True)
class TranslatedText(SourceText):
    """The HLO that a file became."""

    def place(self, span: Span) -> tuple[SourceText, Span]:
        """The place in the translation, which says that it is one."""
        return self._as_hlo, span

    @cached_property
    def _as_hlo(self) -> SourceText:
        return SourceText(self.text, f"{self.name} (as HLO text)")
