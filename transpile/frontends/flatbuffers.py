"""The wire format of FlatBuffers, read in place: a table's bytes are a view into the message.

A table begins with the distance back to its vtable, which has the place of each field, by its number in the schema.
Source: https://flatbuffers.dev/internals.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..dataclass import dataclass
from ..errors import Diagnostic, UsageError

_OFFSET = 4  # bytes of an offset, and of the length of a vector
_VTABLE_HEAD = 4  # bytes: its own size and the table's
_FIELD = 2  # bytes of a field's place in a vtable


@dataclass(frozen=True, slots=True)
class Table:
    """One table. All its readers raise ``UsageError`` (XP720) where the bytes are none."""

    message: memoryview
    start: int

    def number(self, field: int, size: int = 1) -> int:
        """A number of so many bytes, without a sign; 0 where there is none."""
        at = self._place(field)
        return _integer(self.message, at, size) if at else 0

    def bytes(self, field: int) -> memoryview:
        """The bytes of a string or of a vector of bytes; empty where there is none."""
        start, count = self._vector(field, 1)
        return self.message[start : start + count]

    def text(self, field: int) -> str:
        """A string."""
        return _text(self.bytes(field))

    def numbers(self, field: int, size: int) -> tuple[int, ...]:
        """A vector of numbers of so many bytes each."""
        start, count = self._vector(field, size)
        return tuple(_integer(self.message, start + size * k, size) for k in range(count))

    def tables(self, field: int) -> Iterator[Table]:
        """A vector of tables."""
        return (Table(self.message, place) for place in self._elements(field))

    def texts(self, field: int) -> tuple[str, ...]:
        """A vector of strings."""
        return tuple(_text(_sized(self.message, place)) for place in self._elements(field))

    def table(self, field: int) -> Table | None:
        """One table, None where there is none."""
        at = self._place(field)
        return Table(self.message, at + _integer(self.message, at, _OFFSET)) if at else None

    def _place(self, field: int) -> int:
        """Where a field's value is; 0 where the table has none."""
        distance = _integer(self.message, self.start, _OFFSET, signed=True)
        vtable, entry = self.start - distance, _VTABLE_HEAD + _FIELD * field
        if _integer(self.message, vtable, _FIELD) < entry + _FIELD:
            return 0
        offset = _integer(self.message, vtable + entry, _FIELD)
        return self.start + offset if offset else 0

    def _vector(self, field: int, size: int) -> tuple[int, int]:
        """Where the elements of a vector begin, and how many it has."""
        at = self._place(field)
        if not at:
            return 0, 0
        start = at + _integer(self.message, at, _OFFSET)
        count = _integer(self.message, start, _OFFSET)
        if start + _OFFSET + count * size > len(self.message):
            raise malformed(start)
        return start + _OFFSET, count

    def _elements(self, field: int) -> list[int]:
        """The places that the offsets of a vector lead to."""
        start, count = self._vector(field, _OFFSET)
        places = (start + _OFFSET * k for k in range(count))
        return [place + _integer(self.message, place, _OFFSET) for place in places]


def root(message: memoryview) -> Table:
    """The table that a message is. Raises ``UsageError`` (XP720) where it has no place for one."""
    return Table(message, _integer(message, 0, _OFFSET))


def malformed(place: int) -> UsageError:
    """XP720: bytes that are not the message they should be."""
    return UsageError(Diagnostic("XP720", f"this is not a valid FlatBuffer: nothing can be read at byte {place}"))


def _integer(message: memoryview, at: int, size: int, *, signed: bool = False) -> int:
    if at < 0 or at + size > len(message):
        raise malformed(at)
    return int.from_bytes(message[at : at + size], "little", signed=signed)


def _sized(message: memoryview, at: int) -> memoryview:
    """The bytes behind their count."""
    count = _integer(message, at, _OFFSET)
    if at + _OFFSET + count > len(message):
        raise malformed(at)
    return message[at + _OFFSET : at + _OFFSET + count]


def _text(content: memoryview) -> str:
    return bytes(content).decode("utf-8", "replace")
