"""Text files of people: with or without a byte order mark, with either kind of line ends."""

from __future__ import annotations

from pathlib import Path

from ..dataclass import dataclass
from ..errors import Diagnostic, UsageError

_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class TextFile:
    """The content of a file with ``\\n`` between lines, and the form in which it was written."""

    text: str
    newline: str = "\n"
    has_mark: bool = False

    @classmethod
    def decode(cls, content: bytes, path: Path) -> TextFile:
        """Decode UTF-8. Raises ``UsageError`` (XP703) for anything else."""
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UsageError(Diagnostic("XP703", f"{path} is not UTF-8 text")) from error
        newline = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
        has_mark = text.startswith(_MARK)
        return cls(text.removeprefix(_MARK).replace("\r\n", "\n"), newline, has_mark)

    def encode(self, text: str) -> bytes:
        """Return another text encoded in the form of this one."""
        return (_MARK * self.has_mark + text.replace("\n", self.newline)).encode()
