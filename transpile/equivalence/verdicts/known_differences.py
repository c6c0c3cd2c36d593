"""Known differences that need no attention: those of the references, and those of the user's file.

An entry names an operation (``*`` for any), and may name element types, participants and the opcodes of operands; it
applies to an array of the result that depends on the operation.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from ...dataclass import dataclass
from ...errors import Diagnostic, UsageError
from ...files import read_bytes
from ...hlo.ir import Instruction
from ...hlo.opcodes import OPCODES
from ...hlo.shapes import ArrayShape, leaves
from ...hlo.source import SourceText


@dataclass(frozen=True, slots=True)
class KnownDifference:
    """One entry, valid up to the day ``expires``. Empty ``dtypes``, ``participants`` and ``operands`` match all."""

    op: str
    reason: str
    dtypes: tuple[str, ...] = ()
    participants: tuple[str, ...] = ()
    expires: date | None = None
    operands: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.op}{' ' + ' '.join(self.dtypes) if self.dtypes else ''}: {self.reason}"

    def concerns(self, participant: str, against: str, instructions: Sequence[Instruction]) -> bool:
        """Return whether the entry explains a difference between two participants in a value that these instructions
        compute.
        """
        if self.participants and not {participant, against} & set(self.participants):
            return False
        return any(self._is_it(instruction) for instruction in instructions)

    def _is_it(self, instruction: Instruction) -> bool:
        if self.op not in ("*", instruction.opcode):
            return False
        if self.operands and not {operand.opcode for operand in instruction.operands} & set(self.operands):
            return False
        return not self.dtypes or bool(_dtypes(instruction) & set(self.dtypes))


def _dtypes(instruction: Instruction) -> set[str]:
    shapes = (instruction.shape, *(operand.shape for operand in instruction.operands))
    return {leaf.element_type.name for shape in shapes for _, leaf in leaves(shape) if isinstance(leaf, ArrayShape)}


@cache
def of_the_references() -> tuple[KnownDifference, ...]:
    """Return the known differences of the references from HLO's rules."""
    text = files(__package__).joinpath("known_differences.toml").read_text(encoding="utf-8")
    return _entries(tomllib.loads(text), SourceText(text, "known_differences.toml"))


def read_known_differences(path: Path) -> tuple[KnownDifference, ...]:
    """Return the entries ``[[difference]]`` of a TOML file. Raises ``UsageError`` (XP602) if the file is not valid."""
    text = read_bytes(path).decode("utf-8", "replace")
    source = SourceText(text, str(path))
    try:
        return _entries(tomllib.loads(text), source)
    except tomllib.TOMLDecodeError as error:
        raise _problem(f"not TOML: {error}", source) from error


_LISTS = ("dtypes", "participants", "operands")
_KEYS: Mapping[str, type] = {"op": str, "reason": str, "expires": date} | dict.fromkeys(_LISTS, list)


def _entries(document: Mapping[str, Any], source: SourceText) -> tuple[KnownDifference, ...]:
    tables = document.get("difference", [])
    if set(document) - {"difference"} or not isinstance(tables, list):
        raise _problem("there may be [[difference]] tables and nothing else", source)
    return tuple(_entry(table, number, source) for number, table in enumerate(tables, 1))


def _entry(table: Mapping[str, Any], number: int, source: SourceText) -> KnownDifference:
    where = f"entry {number}"
    for key, value in table.items():
        if key not in _KEYS:
            raise _problem(f"{where}: there is no key '{key}'; there are {', '.join(_KEYS)}", source)
        words = value if isinstance(value, list) else []
        if not isinstance(value, _KEYS[key]) or not all(isinstance(word, str) for word in words):
            raise _problem(f"{where}: '{key}' has the wrong type", source)
    for key in ("op", "reason"):
        if not table.get(key):
            raise _problem(f"{where}: there is no {key}", source)
    for op in (table["op"], *table.get("operands", ())):
        if op not in OPCODES and (op, table["op"]) != ("*", "*"):
            raise _problem(f"{where}: there is no operation '{op}'", source)
    dtypes, participants, operands = (tuple(table.get(key, ())) for key in _LISTS)
    return KnownDifference(table["op"], table["reason"], dtypes, participants, table.get("expires"), operands)


def _problem(message: str, source: SourceText) -> UsageError:
    return UsageError(Diagnostic("XP602", f"{source.name}: {message}"))
