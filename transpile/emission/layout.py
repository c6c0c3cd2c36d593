"""The line length of emitted text, and the length that a text counts as."""

from __future__ import annotations

import re

from ..dataclass import dataclass
from ..options import LINE_LENGTH

_NUMBER = re.compile(r"\b(?<!\.)\d+(\.\d*)?(e[+-]?\d+)?(?=j?\b)")


def _counted(number: re.Match[str]) -> str:
    """Return a number of standard length."""
    return "0.5" if number[1] or number[2] else "0"


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a line. If ``sizes_are_free``, any number counts as one of standard length."""

    line_length: int = LINE_LENGTH
    sizes_are_free: bool = False

    def columns(self, text: str) -> int:
        """Return the columns of a text: if sizes are free, the same at every size."""
        return len(_NUMBER.sub(_counted, text) if self.sizes_are_free else text)

    def fits(self, text: str, taken: int = 0) -> bool:
        """Return whether a text fits into a line of which ``taken`` columns are used."""
        return taken + self.columns(text) <= self.line_length
