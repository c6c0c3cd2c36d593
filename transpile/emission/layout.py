"""How long the lines of emitted text may be, and how long a text counts as."""

from __future__ import annotations

import re

from ..dataclass import dataclass
from ..options import LINE_LENGTH

_NUMBER = re.compile(r"\b(?<!\.)\d+(\.\d*)?(e[+-]?\d+)?(?=j?\b)")


def _counted(number: re.Match[str]) -> str:
    """A number of the usual length."""
    return "0.5" if number[1] or number[2] else "0"


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a line. Where ``sizes_are_free``, any number counts as one of the usual length."""

    line_length: int = LINE_LENGTH
    sizes_are_free: bool = False

    def columns(self, text: str) -> int:
        """The columns of a text: the same at every size where sizes are free."""
        return len(_NUMBER.sub(_counted, text) if self.sizes_are_free else text)

    def fits(self, text: str, taken: int = 0) -> bool:
        """Tell whether a text fits a line of which so many columns are taken."""
        return taken + self.columns(text) <= self.line_length
