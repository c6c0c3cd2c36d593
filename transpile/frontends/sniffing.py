"""The kind of program in some bytes, determined by content and not by file name."""

from __future__ import annotations

import re
from enum import Enum

from ..errors import UsageError
from .exported_file import is_exported
from .hlo_proto import COMPUTATIONS, HLO_IN_SNAPSHOT, MODULE_IN_HLO_PROTO
from .protobuf import fields, messages


class Kind(Enum):
    HLO_TEXT = "HLO text"
    HLO_MODULE_PROTO = "a serialized HloModuleProto"
    HLO_PROTO = "a serialized HloProto"
    HLO_SNAPSHOT = "a serialized HloSnapshot"
    STABLEHLO_TEXT = "StableHLO text"
    STABLEHLO_BYTECODE = "StableHLO bytecode"
    EXPORTED = "a serialized jax.export.Exported"


SUFFIXES = (".hlo", ".mlir", ".mlirbc", ".pb", ".stablehlo")  # of program files in a folder
_MLIR_BYTECODE = b"ML\xefR"
_MLIR_TEXT = re.compile(
    rb'(?:\s+|//[^\n]*+)*+(?:#\w+\s*=|!\w+\s*=|(?:"?builtin\.)?module"?\s*(?:@|attributes|\()|"?func\.func\b'
    rb'|(?:builtin\.)?module\s*\{\s*(?:"?func\.func\b|\}))'
)
_HIGHEST_FIELD = 64


def sniff(content: bytes) -> Kind:
    """Return the kind of program; unknown content counts as HLO text, so that the parser reports the error."""
    if content.startswith(_MLIR_BYTECODE):
        return Kind.STABLEHLO_BYTECODE
    if _MLIR_TEXT.match(content):
        return Kind.STABLEHLO_TEXT
    if is_exported(content):
        return Kind.EXPORTED
    return _message_kind(memoryview(content)) or Kind.HLO_TEXT


def module_in(content: memoryview, kind: Kind) -> memoryview:
    """Return the HloModuleProto in a message of the kind that :func:`sniff` returned."""
    path = {Kind.HLO_PROTO: (MODULE_IN_HLO_PROTO,), Kind.HLO_SNAPSHOT: (HLO_IN_SNAPSHOT, MODULE_IN_HLO_PROTO)}
    for number in path.get(kind, ()):
        content = next(messages(content, number))
    return content


def _message_kind(content: memoryview) -> Kind | None:
    for kind in (Kind.HLO_SNAPSHOT, Kind.HLO_PROTO, Kind.HLO_MODULE_PROTO):
        try:
            if _is_module_message(module_in(content, kind)):
                return kind
        except (UsageError, StopIteration):
            continue
    return None


def _is_module_message(content: memoryview) -> bool:
    """Return whether the bytes are a protobuf message with computations, as HloModuleProto has."""
    numbers = {field.number: isinstance(field.value, memoryview) for field in fields(content)}
    return numbers.get(COMPUTATIONS, False) and max(numbers) <= _HIGHEST_FIELD
