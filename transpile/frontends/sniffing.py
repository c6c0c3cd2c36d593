"""The kind of program in some bytes, determined by content and not by file name, and the programs in a folder."""

from __future__ import annotations

import re
from enum import Enum
from mmap import ACCESS_READ, mmap
from pathlib import Path

from ..errors import Diagnostic, UsageError
from .exported_file import is_exported
from .hlo_proto import COMPUTATIONS, HLO_IN_SNAPSHOT, MODULE_IN_HLO_PROTO
from .protobuf import fields, messages

# A module in a dump, before optimisation. The proto is preferred: it has the large constants that the text elides.
_DUMPED = re.compile(r"(?P<module>module_\d+\..+)\.before_optimizations\.(?P<kind>hlo\.pb|txt|hlo)")
_DUMP_KINDS = ("hlo.pb", "txt", "hlo")


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


def programs_in(folder: Path) -> list[Path]:
    """Return the program files in a folder, by name; for each module that XLA dumped with ``--xla_dump_to``, the
    one before optimisation.

    Raises ``UsageError`` (XP723) if there is none.
    """
    dumped: dict[str, Path] = {}
    files = sorted(path for path in folder.iterdir() if path.is_file())
    for kind in _DUMP_KINDS:
        for path in files:
            match = _DUMPED.fullmatch(path.name)
            if match and match["kind"] == kind:
                dumped.setdefault(match["module"], path)
    found = [dumped[name] for name in sorted(dumped)] or [path for path in files if _is_program(path)]
    if not found:
        endings = ", ".join(SUFFIXES)
        hint = f"files end in {endings}, are serialized exports of JAX, or are those that --xla_dump_to writes"
        raise UsageError(Diagnostic("XP723", f"there is no program in the folder {folder}", hint=hint))
    return found


def _is_program(path: Path) -> bool:
    """Return whether a file has a program's suffix, or is an export of JAX, which has no suffix of its own."""
    if path.suffix in SUFFIXES:
        return True
    try:
        with path.open("rb") as file:
            return is_exported(mmap(file.fileno(), 0, access=ACCESS_READ))
    except (OSError, ValueError):  # an unreadable or empty file
        return False
