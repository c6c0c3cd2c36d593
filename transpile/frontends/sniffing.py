"""What kind of program some bytes hold, told by the bytes themselves; file names say nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum


class Kind(Enum):
    HLO_TEXT = "HLO text"
    HLO_MODULE_PROTO = "a serialized HloModuleProto"
    HLO_PROTO = "a serialized HloProto"
    STABLEHLO_TEXT = "StableHLO text"
    STABLEHLO_BYTECODE = "StableHLO bytecode"


_MLIR_BYTECODE = b"ML\xefR"
_MLIR_TEXT = re.compile(
    rb'(?:\s+|//[^\n]*+)*+(?:#\w+\s*=|!\w+\s*=|(?:"?builtin\.)?module"?\s*(?:@|attributes|\()|"?func\.func\b'
    rb'|(?:builtin\.)?module\s*\{\s*(?:"?func\.func\b|\}))'
)
_LENGTH_DELIMITED = 2
# Field numbers of the messages in XLA's hlo.proto.
_COMPUTATIONS = 3
_HIGHEST_FIELD = 64
_MODULE_IN_HLO_PROTO = 1


def sniff(content: bytes) -> Kind:
    """The kind of program; whatever is nothing else is HLO text, so that the parser says what is wrong with it."""
    if content.startswith(_MLIR_BYTECODE):
        return Kind.STABLEHLO_BYTECODE
    if _MLIR_TEXT.match(content):
        return Kind.STABLEHLO_TEXT
    if _is_module_message(content):
        return Kind.HLO_MODULE_PROTO
    if module_in_hlo_proto(content) is not None:
        return Kind.HLO_PROTO
    return Kind.HLO_TEXT


def module_in_hlo_proto(content: bytes) -> bytes | None:
    """The HloModuleProto inside an HloProto; ``None`` where the bytes are none."""
    for field, payload in _fields(content):
        if field == _MODULE_IN_HLO_PROTO and payload is not None and _is_module_message(payload):
            return payload
    return None


def _is_module_message(content: bytes) -> bool:
    """Whether the bytes are a protobuf message with computations, as HloModuleProto has."""
    kinds = {field: payload is not None for field, payload in _fields(content)}
    return kinds.get(_COMPUTATIONS, False) and max(kinds) <= _HIGHEST_FIELD and -1 not in kinds


def _fields(content: bytes) -> Iterator[tuple[int, bytes | None]]:
    """Field numbers of a protobuf message with the payload of length-delimited ones; -1 where it is no message."""
    at, end = 0, len(content)
    while at < end:
        tag, at = _varint(content, at)
        field, wire_type = tag >> 3, tag & 7
        payload = None
        if wire_type == _LENGTH_DELIMITED:
            length, at = _varint(content, at)
            payload = content[at : at + length] if at + length <= end else None
            at += length
        elif wire_type == 0:
            _, at = _varint(content, at)
        elif wire_type in (1, 5):
            at += 8 if wire_type == 1 else 4
        else:
            at = end + 1
        if field < 1 or at > end:
            yield -1, None
            return
        yield field, payload


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """A base-128 number and the offset after it, which lies beyond the end where the number is cut off."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(content):
            break
        value |= (content[at] & 0x7F) << shift
        at += 1
        if content[at - 1] < 0x80:
            return value, at
    return 0, len(content) + 1
