"""Where the copies of a layer are best cut apart: where fewest values go over from one to the next."""

from __future__ import annotations

from collections.abc import Iterator

from ...array.node import Node
from .growing import Copies
from .neighbours import Row

_MOST_ROWS = 500  # of a layer whose cuts are looked at


def cuts(copies: Copies) -> list[Row]:
    """The rows of copies that come just behind the narrowest cuts.

    A cut before a row leaves the rows before it to the copy before.
    """
    rows = sorted(_leading_on(copies), key=lambda row: copies.around.place[row[0]])
    if len(rows) > _MOST_ROWS:
        return []
    place = {node: (k, copy) for k, row in enumerate(rows) for copy, node in enumerate(row)}
    crossed: list[set[int]] = [set() for _ in rows]  # by row: the cuts that its value goes over
    for reader, row in enumerate(rows):
        for operand in row[1].operands:
            number, copy = place.get(operand, (0, -1))
            if copy in (0, 1):
                crossed[number].update(_between(number, reader, len(rows), is_later=copy == 0))
    widths = [sum(cut in own for own in crossed) for cut in range(len(rows))]
    narrowest = [cut for cut, width in enumerate(widths) if width == min(widths)]
    behind = (next(filter(copies.around.may_be_chain, rows[cut:]), None) for cut in narrowest)
    found: list[Row] = []
    for row in dict.fromkeys(row for row in behind if row is not None):
        before = _before(copies, row)
        found += [row] if before is None else [(before, *row), (before, *row[:-1]), row]
    return found


def _leading_on(copies: Copies) -> set[Row]:
    """The rows that the next copy is made of: not those that only give results."""
    row_of = {node: row for row in copies.rows for node in row[:2]}
    operands = (operand for row in copies.rows for operand in row[1].operands)
    waiting = [row for operand in operands if (row := row_of.get(operand)) is not None and operand is row[0]]
    found: set[Row] = set()
    while waiting:
        row = waiting.pop()
        if row not in found:
            found.add(row)
            waiting += [row_of[operand] for operand in row[0].operands if operand in row_of]
    return found


def _before(copies: Copies, row: Row) -> Node | None:
    """The node that is to the first of a row what that is to the second: it stands before all copies.

    It is found beside what the first copy is given in place of results of the one before.
    """
    kinds = copies.around.kinds
    waiting = [
        (outer, inner)
        for other in copies.rows
        for outer, inner in zip(other[0].operands, other[1].operands, strict=True)
        if copies.owner.get(inner, (0, -1))[1] == 0
    ]
    seen: set[Node] = set()
    while waiting:
        outer, inner = waiting.pop()
        if inner in seen or kinds[outer] != kinds[inner] or copies.owner.get(inner, (0, -1))[1] != 0:
            continue
        if inner is row[0]:
            return outer if outer not in copies.owner else None
        seen.add(inner)
        waiting += zip(outer.operands, inner.operands, strict=True)
    return None


def _between(row: int, reader: int, count: int, *, is_later: bool) -> Iterator[int]:
    """The cuts between a row and one that reads it, in the same copy or in the next."""
    if is_later:
        yield from range(min(row, reader) + 1)
        yield from range(row + 1, count)
    else:
        yield from range(row + 1, reader + 1)
