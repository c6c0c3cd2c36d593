"""The map from lines of an emitted module to HLO instructions and to places in the user's source."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import field

from ...dataclass import dataclass
from ...hlo.ir import Instruction
from ...python.modules import parsed
from ..lines import WrittenFunction
from ..places import definition_of, statements
from .provenance import SIGNATURE, instructions_by_line


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the user's source, counted from 1."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class MappedStatement:
    """A statement of an emitted function, or its ``def``: lines ``first`` to ``last`` of the source, counted from 1.

    A loop or a branch is its head alone. ``instructions`` are those whose values it computes, including folded ones and
    those that a shorter form replaced; those of callees come first.
    """

    function: str
    first: int
    last: int
    instructions: tuple[Instruction, ...]

    @property
    def main(self) -> Instruction:
        """The instruction whose value the statement computes: the last one; for a ``def``, the first parameter."""
        are_parameters = all(instruction.opcode == "parameter" for instruction in self.instructions)
        return self.instructions[0 if are_parameters else -1]

    @property
    def places(self) -> tuple[Place, ...]:
        """The source places of the instructions, each once."""
        return tuple(dict.fromkeys(place for i in self.instructions if (place := place_of(i)) is not None))


@dataclass(frozen=True, slots=True)
class LineMap:
    """The statements of an emitted module that compute something, in the order of the text.

    Imports, constants, checks of arguments and functions copied from the prelude are not included.
    """

    statements: tuple[MappedStatement, ...]
    _by_instruction: dict[Instruction, list[MappedStatement]] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        for statement in self.statements:
            for instruction in statement.instructions:
                self._by_instruction.setdefault(instruction, []).append(statement)

    def computing(self, instruction: Instruction) -> Sequence[MappedStatement]:
        """Return the statements that compute an instruction; none if no result needs it."""
        return tuple(self._by_instruction.get(instruction, ()))

    def at(self, line: int) -> MappedStatement | None:
        """Return the statement that a line of the source belongs to, or None."""
        return next((s for s in self.statements if s.first <= line <= s.last), None)


def place_of(instruction: Instruction) -> Place | None:
    """Return the line of the user's source that an instruction was traced from, or None if its metadata lacks it."""
    metadata = instruction.metadata
    if metadata is None or not metadata.source_file or metadata.source_line < 1:
        return None
    return Place(metadata.source_file, metadata.source_line)


def map_lines(source: str, functions: Sequence[WrittenFunction]) -> LineMap:
    """Return the map of a module's source, as it was emitted, formatted or not."""
    if not functions:
        return LineMap(())
    instructions = instructions_by_line(functions)
    tree, lines = parsed(source).tree, source.splitlines()
    found = [
        MappedStatement(written.name, *_extent(statement, lines), computed)
        for number, written in enumerate(functions)
        for position, statement in _numbered_statements(tree, written)
        if (computed := instructions.get((number, position)))
    ]
    return LineMap(tuple(sorted(found, key=lambda statement: statement.first)))


def _numbered_statements(tree: ast.Module, written: WrittenFunction) -> Iterator[tuple[int, ast.stmt]]:
    """Yield the position of each written line, and its statement."""
    yield SIGNATURE, definition_of(tree, written)
    positions = {id(line): position for position, line in enumerate(written.lines)}
    yield from ((positions[id(line)], statement) for line, statement in statements(tree, written))


def _extent(statement: ast.stmt, lines: Sequence[str]) -> tuple[int, int]:
    """Return the first and the last line of a statement, or of its head if it has a body, counted from 1."""
    if not hasattr(statement, "body"):
        return statement.lineno, statement.end_lineno or statement.lineno
    head = [part for part in ast.iter_child_nodes(statement) if not isinstance(part, ast.stmt)]
    ends = [getattr(node, "end_lineno", 0) for part in head for node in ast.walk(part)]
    last = max([statement.lineno, *ends])
    while lines[last].lstrip().startswith(")"):  # closes a head that black has broken
        last += 1
    return statement.lineno, last
