"""Copies of code, as rows: the same place in each copy. What copies are given, what they give, and what one function
for all of them saves. Instructions of HLO and nodes of the array dialect are alike in this.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from ...array.node import Node
from ...dataclass import dataclass
from ...hlo.ir import Instruction

Item = TypeVar("Item", Instruction, Node)
Key = TypeVar("Key", bound=Hashable)


def columns(row: tuple[Item, ...]) -> Iterator[tuple[Item, ...]]:
    """The operands of a row: the first of all copies, the second, and so on."""
    return zip(*(item.operands for item in row), strict=True)


@dataclass(frozen=True, eq=False, slots=True)
class Outline(Generic[Item]):
    """Copies that one function can replace: rows in order, the columns that it is given, and the rows that it gives."""

    rows: list[tuple[Item, ...]]
    inputs: list[tuple[Item, ...]]
    outputs: list[tuple[Item, ...]]

    @property
    def count(self) -> int:
        """The number of copies."""
        return len(self.rows[0])

    @property
    def values(self) -> int:
        """The number of values that a call lists."""
        return len(self.inputs) + len(self.outputs)

    def saving(self, work: int) -> int:
        """Return what a reader saves: all copies but one, less the values that every call lists."""
        return saving(self.count, work, self.values)


def saving(copies: int, work: int, values: int) -> int:
    """Return how much a function for copies saves its reader; an operation counts as two values of a call."""
    return 2 * (copies - 1) * work - copies * values


class Rows(Generic[Item]):
    """Rows of copies, and the place of each item in them."""

    def __init__(self, rows: Iterable[tuple[Item, ...]] = ()) -> None:
        self.rows: list[tuple[Item, ...]] = []
        self.owner: dict[Item, tuple[int, int]] = {}  # row, copy
        for row in rows:
            self.add(row)

    def add(self, row: tuple[Item, ...]) -> None:
        self.owner.update((item, (len(self.rows), copy)) for copy, item in enumerate(row))
        self.rows.append(row)

    def drop(self, numbers: set[int]) -> None:
        """Leave out some rows."""
        kept = [row for number, row in enumerate(self.rows) if number not in numbers]
        self.rows, self.owner = [], {}
        for row in kept:
            self.add(row)

    def copy_of(self, item: Item | None) -> int:
        """The copy that an item is of; -1 for what comes from outside."""
        return self.owner[item][1] if item in self.owner else -1

    def source(self, copy: int, operand: Item) -> int:
        """The row of an operand in its own copy; -1 for what comes from outside."""
        row, owner = self.owner.get(operand, (-1, -1))
        return row if owner == copy else -1

    def differing(self) -> set[int]:
        """The rows with operands of the copy in some copies only, or of different shapes from outside."""
        found: set[int] = set()
        for number, row in enumerate(self.rows):
            for column in columns(row):
                sources = {self.source(copy, operand) for copy, operand in enumerate(column)}
                if len(sources) > 1 or (-1 in sources and len({operand.shape for operand in column}) > 1):
                    found.add(number)
        return found

    def outputs(self, readers: Callable[[Item], Iterable[Item | None]]) -> list[int]:
        """The rows that something outside of their copy reads, in some copy: None reads what the program returns."""
        return [
            number
            for number, row in enumerate(self.rows)
            if any(self.copy_of(reader) != copy for copy, item in enumerate(row) for reader in readers(item))
        ]

    def outline(
        self, stands_inside: Callable[[tuple[Item, ...]], bool], readers: Callable[[Item], Iterable[Item | None]]
    ) -> Outline[Item]:
        """All rows as an outline; columns that ``stand_inside`` need not be given: each copy has its own."""
        outside = (column for row in self.rows for column in columns(row) if self.source(0, column[0]) < 0)
        inputs = [column for column in dict.fromkeys(outside) if not stands_inside(column)]
        return Outline(list(self.rows), inputs, [self.rows[number] for number in self.outputs(readers)])


def connected(items: Iterable[Key], beside: Callable[[Key], Iterable[Key]]) -> list[list[Key]]:
    """The parts of what hangs together, in order of the items: ``beside`` each are others, which may be no items."""
    leader = {item: item for item in items}

    def of(item: Key) -> Key:
        while leader[item] is not item:
            leader[item] = leader[leader[item]]
            item = leader[item]
        return item

    for item in leader:
        for other in beside(item):
            if other in leader:
                leader[of(other)] = of(item)
    parts: dict[Key, list[Key]] = {}
    for item in leader:
        parts.setdefault(of(item), []).append(item)
    return list(parts.values())
