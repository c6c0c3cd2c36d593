"""The wire format of protocol buffers, read in place: a field's bytes are a view of the message.

The protobuf library copies what it parses, which is expensive for constants of a gigabyte. Source:
https://protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..errors import Diagnostic, UsageError

_VARINT, _EIGHT_BYTES, _LENGTH_DELIMITED, _FOUR_BYTES = 0, 1, 2, 5
_LONGEST_VARINT = 10


class Field(NamedTuple):
    """One field: an integer or a view of its bytes, and a view of the whole field, tag included."""

    number: int
    value: int | memoryview
    raw: memoryview


def fields(message: memoryview) -> Iterator[Field]:
    """Yield the fields of a message in order. Raises ``UsageError`` (XP720) if the bytes are not a message."""
    at, end = 0, len(message)
    while at < end:
        start = at
        tag, at = varint(message, at)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT and number > 0:
            value, at = varint(message, at)
            yield Field(number, value, message[start:at])
            continue
        size = {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}.get(kind)
        if kind == _LENGTH_DELIMITED:
            size, at = varint(message, at)
        if size is None or at + size > end or number < 1:
            raise malformed(f"no field of a message begins at byte {start}")
        yield Field(number, message[at : at + size], message[start : at + size])
        at += size


def messages(message: memoryview, number: int) -> Iterator[memoryview]:
    """Yield the values of the length-delimited fields of one number."""
    for field in fields(message):
        if field.number == number and isinstance(field.value, memoryview):
            yield field.value


def varint(message: memoryview, at: int) -> tuple[int, int]:
    """Return a base-128 number and the offset after it."""
    value = 0
    for i in range(_LONGEST_VARINT):
        if at + i >= len(message):
            break
        byte = message[at + i]
        value |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return value, at + i + 1
    raise malformed(f"the number at byte {at} has no end")


def encode(number: int, payload: bytes) -> bytes:
    """Return a length-delimited field."""
    return _encoded_varint(number << 3 | _LENGTH_DELIMITED) + _encoded_varint(len(payload)) + payload


def _encoded_varint(value: int) -> bytes:
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def packed_varints(payload: memoryview) -> np.ndarray:
    """Return the numbers of a packed repeated field, as uint64: negative ones in two's complement."""
    octets = np.frombuffer(payload, np.uint8)
    ends = np.flatnonzero(octets < 0x80)
    if octets.size and (not ends.size or ends[-1] != octets.size - 1):
        raise malformed("a packed field ends within a number")
    starts = np.concatenate([[0], ends[:-1] + 1]) if ends.size else ends
    lengths = ends - starts + 1
    if lengths.max(initial=0) > _LONGEST_VARINT:
        raise malformed("a number is longer than ten bytes")
    values = np.zeros(ends.size, np.uint64)
    for i in range(int(lengths.max(initial=0))):
        reach = lengths > i
        values[reach] |= (octets[starts[reach] + i] & 0x7F).astype(np.uint64) << np.uint64(7 * i)
    return values


def malformed(problem: str) -> UsageError:
    """Return the error XP720: bytes that are not a valid message."""
    return UsageError(Diagnostic("XP720", f"this is not a valid protocol buffer: {problem}"))
