"""Copies of code, as rows of corresponding items: their inputs, their outputs, and the saving of one function for all
of them. This works for HLO instructions and for nodes of the array dialect alike.
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
    """The operands of a row, by position: the first operand in all copies, the second, and so on."""
    return zip(*(item.operands for item in row), strict=True)


@dataclass(frozen=True, eq=False, slots=True)
class Outline(Generic[Item]):
    """Copies that one function can replace: rows in order, the columns that are its inputs, and the rows that are its
    outputs.
    """

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
        """The saving for a reader: all copies but one, minus the values that every call lists."""
        return saving(self.count, work, self.values)


def saving(copies: int, work: int, values: int) -> int:
    """How much a function for copies saves its reader; an operation counts as two values of a call."""
    return 2 * (copies - 1) * work - copies * values


class Rows(Generic[Item]):
    """Rows of copies, and the position of each item in them."""

    def __init__(self, rows: Iterable[tuple[Item, ...]] = ()) -> None:
        self.rows: list[tuple[Item, ...]] = []
        self.owner: dict[Item, tuple[int, int]] = {}  # row, copy
        for row in rows:
            self.add(row)

    def add(self, row: tuple[Item, ...]) -> None:
        self.owner.update((item, (len(self.rows), copy)) for copy, item in enumerate(row))
        self.rows.append(row)

    def drop(self, numbers: set[int]) -> None:
        """Remove some rows."""
        kept = [row for number, row in enumerate(self.rows) if number not in numbers]
        self.rows, self.owner = [], {}
        for row in kept:
            self.add(row)

    def copy_of(self, item: Item | None) -> int:
        """The number of the copy that an item belongs to; -1 for items outside."""
        return self.owner[item][1] if item in self.owner else -1

    def source(self, copy: int, operand: Item) -> int:
        """The row of an operand in the same copy; -1 for operands from outside."""
        row, owner = self.owner.get(operand, (-1, -1))
        return row if owner == copy else -1

    def differing(self) -> set[int]:
        """The rows with an operand that is inside the copy in only some copies, or that has different shapes from
        outside.
        """
        found: set[int] = set()
        for number, row in enumerate(self.rows):
            for column in columns(row):
                sources = {self.source(copy, operand) for copy, operand in enumerate(column)}
                if len(sources) > 1 or (-1 in sources and len({operand.shape for operand in column}) > 1):
                    found.add(number)
        return found

    def outputs(self, readers: Callable[[Item], Iterable[Item | None]]) -> list[int]:
        """The rows that something outside their copy reads, in any copy; a reader None means that the program returns
        the item.
        """
        return [
            number
            for number, row in enumerate(self.rows)
            if any(self.copy_of(reader) != copy for copy, item in enumerate(row) for reader in readers(item))
        ]

    def outline(
        self, stands_inside: Callable[[tuple[Item, ...]], bool], readers: Callable[[Item], Iterable[Item | None]]
    ) -> Outline[Item]:
        """All rows as an outline; columns for which ``stands_inside`` is true need not be inputs: each copy contains
        its own.
        """
        outside = (column for row in self.rows for column in columns(row) if self.source(0, column[0]) < 0)
        inputs = [column for column in dict.fromkeys(outside) if not stands_inside(column)]
        return Outline(list(self.rows), inputs, [self.rows[number] for number in self.outputs(readers)])


def connected(items: Iterable[Key], beside: Callable[[Key], Iterable[Key]]) -> list[list[Key]]:
    """The connected components of the items, in order: ``beside`` gives the neighbours of each, which may be no
    items.
    """
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
