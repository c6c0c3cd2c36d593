"""Three-way merge of lines, for two independent changes of one text, and the text files that are merged.

Source: S. Khanna, K. Kunal, B. C. Pierce, "A Formal Investigation of Diff3", FSTTCS 2007.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path

from ..dataclass import dataclass
from ..errors import Diagnostic, UsageError

EDITED, SEPARATOR, GENERATED = "<<<<<<< edited", "=======", ">>>>>>> generated"
_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Merge:
    """The merged text, and the number of conflicts, which have both versions between marks for a person to choose."""

    text: str
    conflicts: int


def merge(base: str, edited: str, generated: str) -> Merge:
    """Return ``base`` with the changes of both ``edited`` and ``generated``."""
    lines = [text.splitlines(keepends=True) for text in (base, edited, generated)]
    merged: list[str] = []
    conflicts = 0
    for original, ours, theirs in _chunks(*lines):
        if theirs in (original, ours):
            merged += ours
        elif ours == original:
            merged += theirs
        else:
            conflicts += 1
            merged += [f"{EDITED}\n", *_ended(ours), f"{SEPARATOR}\n", *_ended(theirs), f"{GENERATED}\n"]
    return Merge("".join(merged), conflicts)


def has_conflicts(text: str) -> bool:
    """Return whether a text still has marks of an earlier merge."""
    return any(line in (EDITED, GENERATED) for line in text.splitlines())


def _ended(lines: Sequence[str]) -> list[str]:
    return [line if line.endswith("\n") else f"{line}\n" for line in lines]


def _chunks(base: list[str], ours: list[str], theirs: list[str]) -> Iterator[tuple[list[str], list[str], list[str]]]:
    """Yield the texts in corresponding pieces: lines that all three share, and the lines between."""
    places = [(0, 0, 0), *_common(base, ours, theirs), (len(base), len(ours), len(theirs))]
    for start, end in pairwise(places):
        parts = [text[a:b] for text, a, b in zip((base, ours, theirs), start, end, strict=True)]
        yield parts[0], parts[1], parts[2]


def _common(base: list[str], ours: list[str], theirs: list[str]) -> Iterator[tuple[int, int, int]]:
    """Yield the start and the end of each run of lines that all three have, as positions in each."""
    in_ours, in_theirs = (SequenceMatcher(None, base, other, False).get_matching_blocks() for other in (ours, theirs))
    i = j = 0
    while i < len(in_ours) and j < len(in_theirs):
        mine, other = in_ours[i], in_theirs[j]
        start = max(mine.a, other.a)
        end = min(mine.a + mine.size, other.a + other.size)
        if start < end:
            yield start, start - mine.a + mine.b, start - other.a + other.b
            yield end, end - mine.a + mine.b, end - other.a + other.b
        if mine.a + mine.size < other.a + other.size:
            i += 1
        else:
            j += 1


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
