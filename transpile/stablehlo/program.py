"""A program of MLIR as both its text and its bytecode say it: operations, regions, values and locations.

Attributes are Python's own values (numbers, words, tuples, dicts), NumPy arrays for dense literals, or the classes
below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import Any

from ..dataclass import dataclass
from ..hlo.shapes import Shape
from ..hlo.source import Diagnostic, Span


@dataclass(frozen=True, slots=True)
class Symbol:
    """The name of a function or a mesh: ``@main``; nested ones are joined by dots."""

    name: str


@dataclass(frozen=True, slots=True)
class Unread:
    """An attribute or a type that is kept as its text: ``#sdy.sharding<..>``, ``!quant.uniform<..>``."""

    text: str


class Typed(int):
    """A number whose type matters where it is written: ``76 : ui8``."""

    type: str = ""

    @classmethod
    def of(cls, value: int, type_: str) -> Typed:
        """A number of a type."""
        made = cls(value)
        made.type = type_
        return made


@dataclass(frozen=True, slots=True)
class FunctionType:
    """``(tensor<f32>) -> tensor<f32>``."""

    inputs: tuple[Any, ...]
    results: tuple[Any, ...]


Type = Shape | Unread | FunctionType


@dataclass(frozen=True, slots=True)
class Location:
    """Where an operation comes from. ``kind`` says what the fields are.

    ``unknown``; ``file`` with a name and its line, column, last line and last column; ``name`` with a child location;
    ``callsite`` with callee and caller; ``fused`` with its parts.
    """

    kind: str
    name: str = ""
    place: tuple[int, int, int, int] = (0, 0, 0, 0)
    parts: tuple[Location, ...] = ()


UNKNOWN = Location("unknown")


@dataclass(eq=False, slots=True)
class Value:
    """A result of an operation, or an argument of a block."""

    type: Type


@dataclass(eq=False, slots=True)
class Argument(Value):
    """An argument of a block; those of a function may have attributes."""

    name: str = ""
    location: Any = None
    attributes: dict[str, Any] | None = None
    span: Span | None = None


@dataclass(eq=False, slots=True)
class Operation:
    """One operation. ``name`` has its dialect: ``stablehlo.add``."""

    name: str
    operands: Sequence[Value]
    results: list[Value]
    attributes: dict[str, Any]
    regions: Sequence[Region]
    location: Any  # a key of the program's locations
    span: Span


@dataclass(eq=False, slots=True)
class Region:
    """A region of one block: its arguments and operations."""

    arguments: list[Argument] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    span: Span | None = None

    @property
    def returned(self) -> Sequence[Value]:
        """What the last operation hands back."""
        return self.operations[-1].operands if self.operations else ()


@dataclass(eq=False, slots=True)
class Program:
    """A module: its name, attributes and the operations at its top, functions and meshes."""

    name: str
    attributes: dict[str, Any]
    operations: list[Operation]
    notes: list[Diagnostic]

    @property
    def functions(self) -> list[Operation]:
        """The functions among the operations."""
        return [each for each in self.operations if each.name == "func.func"]


def cloned(function: Operation) -> Operation:
    """A copy of a function, with values of its own."""
    values: dict[Value, Value] = {}

    def of(value: Value) -> Value:
        return values.get(value, value)

    def region_of(region: Region) -> Region:
        arguments = list(map(replace, region.arguments))
        values.update(zip(region.arguments, arguments, strict=True))
        return Region(arguments, list(map(copy, region.operations)), region.span)

    def copy(operation: Operation) -> Operation:
        for result in operation.results:
            values[result] = replace(result)
        regions = list(map(region_of, operation.regions))
        operands = list(map(of, operation.operands))
        return replace(operation, operands=operands, results=list(map(of, operation.results)), regions=regions)

    return copy(function)


def inside(functions: Sequence[Operation]) -> Iterator[Operation]:
    """All operations of functions."""
    return walk([operation for each in functions for region in each.regions for operation in region.operations])


def walk(operations: Sequence[Operation]) -> Iterator[Operation]:
    """Operations and all within them, without recursion."""
    waiting = [iter(operations)]
    while waiting:
        for operation in waiting[-1]:
            yield operation
            if operation.regions:
                waiting.extend(iter(region.operations) for region in reversed(operation.regions))
                break
        else:
            waiting.pop()
