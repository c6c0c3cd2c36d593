"""Parts of an array that were padded and added are concatenated, as in gradients of code that reads the parts:
``np.pad(x, (2, 0)) + np.pad(y, (0, 3))`` is ``np.concatenate([y, x])``; and gradients of differences become
``np.diff``.

A concatenated part keeps a -0, which adding 0 to it would lose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import combinations, starmap
from math import prod
from typing import Any

import numpy as np

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node, literal_value
from ...array.program import Function
from ...array.rewriting import called, rewrite
from ...array.scalars import MOST_NUMBERS
from ...array.support import Support
from ...array.value import FULL, NEW, only_element
from ..rewriting.patterns import pattern
from .joins import joins

_SHORT = 8  # elements of an array that is written as a list of elements


@dataclass(frozen=True, slots=True)
class _Part:
    """Adjacent arrays along an axis, and the position of their first element in the whole."""

    start: tuple[int, ...]
    pieces: tuple[Node, ...]
    axis: int = -1  # undetermined while there is one piece

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of all pieces together."""
        first = self.pieces[0].shape
        if self.axis < 0:
            return first
        return tuple(sum(p.shape[k] for p in self.pieces) if k == self.axis else n for k, n in enumerate(first))

    def followed_by(self, other: _Part) -> _Part | None:
        """Both parts as one, if the other begins where this one ends, along one axis."""
        moved = [k for k, (a, b) in enumerate(zip(self.start, other.start, strict=True)) if a != b]
        if len(moved) != 1 or not {self.axis, other.axis} <= {-1, moved[0]}:
            return None
        (axis,) = moved
        are_alike = all(a == b for k, (a, b) in enumerate(zip(self.shape, other.shape, strict=True)) if k != axis)
        if not are_alike or self.start[axis] + self.shape[axis] != other.start[axis]:
            return None
        return _Part(self.start, self.pieces + other.pieces, axis)


_Joining = Callable[[_Part, _Part], _Part | None]


def sums_of_pads(function: Function, supports: Support) -> None:
    """Concatenate padded parts that are added."""
    live = live_nodes(function)
    rewrite(function, ("pad",), lambda node: _padded_once(function.graph, node), supports)
    rewrite(function, ("add",), lambda node: _put_together(function.graph, live, node), supports)
    joins(function, supports)


def _padded_once(graph: Graph, node: Node) -> Node | None:
    """A pad of a pad becomes one pad."""
    inner, fill = node.operands
    if inner.opcode != "pad" or inner.operands[1] is not fill:
        return None
    both = zip(inner.parameters["widths"], node.parameters["widths"], strict=True)
    widths = tuple((a + c, b + d) for (a, b), (c, d) in both)
    return graph.add("pad", (inner.operands[0], fill), widths=widths)


def _put_together(graph: Graph, live: LiveNodes, node: Node) -> Node | None:
    if not node.shape or node.type.is_extension or any(_is_term(live, user, node) for user in live.users(node)):
        return None  # handled with the whole sum
    terms = list(_terms(live, node))
    parts = [_Part(_start(term), (term.operands[0],)) for term in terms if _is_part(term)]
    if len(parts) < 2:
        return None
    merged = _filled(graph, node, _merged(graph, parts))
    if len(merged) == len(parts):
        wholes = _differences(graph, node, merged)
    else:
        wholes = [_whole(graph, node, part) for part in merged]
    if not wholes:
        return None
    first = next(k for k, term in enumerate(terms) if _is_part(term))
    others = [term for term in terms if not _is_part(term)]
    return reduce(lambda a, b: graph.add("add", (a, b)), [*others[:first], *wholes, *others[first:]])


def _is_term(live: LiveNodes, user: Node, node: Node) -> bool:
    return user.opcode == "add" and user.shape == node.shape and live.count(node) == 1


def _terms(live: LiveNodes, node: Node) -> Iterator[Node]:
    """The terms of a sum, through sums that nothing else reads."""
    for operand in node.operands:
        if operand.opcode == "add" and operand.shape == node.shape and live.count(operand) == 1:
            yield from _terms(live, operand)
        else:
            yield operand


def _is_part(term: Node) -> bool:
    return term.opcode == "pad" and term.operands[1].is_literal and not literal_value(term.operands[1])


def _start(pad: Node) -> tuple[int, ...]:
    return tuple(low for low, _ in pad.parameters["widths"])


def _merged(graph: Graph, parts: Sequence[_Part]) -> list[_Part]:
    """Parts at the same position are added; then adjacent parts are merged, until none are adjacent."""
    found = list(parts)
    joinings = (partial(_added, graph), lambda a, b: a.followed_by(b) or b.followed_by(a))
    while (pair := next(_joined_pairs(found, joinings), None)) is not None:
        a, b, joined = pair
        found = [joined if part is a else part for part in found if part is not b]
    return found


def _joined_pairs(parts: Sequence[_Part], joinings: Iterable[_Joining]) -> Iterator[tuple[_Part, _Part, _Part]]:
    for joining in joinings:
        for a, b in combinations(parts, 2):
            if (joined := joining(a, b)) is not None:
                yield a, b, joined


def _added(graph: Graph, a: _Part, b: _Part) -> _Part | None:
    if a.start != b.start or [p.shape for p in a.pieces] != [p.shape for p in b.pieces]:
        return None
    return replace(a, pieces=tuple(starmap(partial(_sum, graph), zip(a.pieces, b.pieces, strict=True))))


def _sum(graph: Graph, a: Node, b: Node) -> Node:
    """The sum of two pieces; for pieces of one element, a piece with the sum of the elements."""
    x, y = only_element(graph, a), only_element(graph, b)
    if x is None or y is None:
        return graph.add("add", (a, b))
    return graph.add("expand", (graph.add("add", (x, y)),), index=(NEW,) * a.ndim)


def _filled(graph: Graph, node: Node, parts: list[_Part]) -> list[_Part]:
    """Single numbers in a short row, or in at least half of a small matrix, become one part together with the zeros
    beside and between them.
    """
    numbers: dict[tuple[int, ...], Node] = {}
    for part in parts:
        for place, piece in _places(part):
            number = only_element(graph, piece)
            if number is None:
                return parts
            numbers[place] = graph.add("add", (numbers[place], number)) if place in numbers else number
    size = prod(node.shape)
    if node.ndim not in (1, 2) or size > (_SHORT if node.ndim == 1 else MOST_NUMBERS):
        return parts
    if node.ndim == 2 and 2 * len(numbers) < size:
        return parts
    zero = graph.literal(0, node.type)
    row = graph.add("stack", tuple(numbers.get(place, zero) for place in np.ndindex(node.shape)), axis=0)
    whole = row if node.ndim == 1 else graph.add("reshape", (row,), shape=node.shape)
    return [_Part((0,) * node.ndim, (whole,))]


def _places(part: _Part) -> Iterator[tuple[tuple[int, ...], Node]]:
    """The pieces of a part, each with the position of its first element."""
    start = part.start
    for piece in part.pieces:
        yield start, piece
        start = tuple(at + piece.shape[k] if k == part.axis else at for k, at in enumerate(start))


def _whole(graph: Graph, node: Node, part: _Part) -> Node:
    """An array with a part and zeros around it."""
    joined = _joined(graph, part)
    widths = tuple((a, n - a - k) for a, k, n in zip(part.start, part.shape, node.shape, strict=True))
    if not any(map(any, widths)):
        return joined
    return graph.add("pad", (joined, graph.literal(0, node.type)), widths=widths)


def _joined(graph: Graph, part: _Part) -> Node:
    if len(part.pieces) == 1:
        return part.pieces[0]
    numbers = [only_element(graph, piece) for piece in part.pieces]
    rows = [_row(piece, part.axis) for piece in part.pieces]
    if (known := tuple(number for number in numbers if number is not None)) and len(known) == len(numbers):
        row = graph.add("stack", known, axis=0)
        index: list[Any] = [NEW] * len(part.start)
        index[part.axis] = FULL
        return row if len(index) == 1 else graph.add("expand", (row,), index=tuple(index))
    if (known := tuple(row for row in rows if row is not None)) and len(known) == len(rows):
        return graph.add("stack", known, axis=part.axis)
    return graph.add("concatenate", part.pieces, axis=part.axis)


def _row(piece: Node, axis: int) -> Node | None:
    """The operand that was expanded into an array of one row along an axis; None for other arrays."""
    wanted = tuple(NEW if k == axis else FULL for k in range(piece.ndim))
    is_row = piece.opcode == "expand" and tuple(piece.parameters["index"]) == wanted[: len(piece.parameters["index"])]
    return piece.operands[0] if is_row and len(piece.parameters["index"]) > axis else None


def _differences(graph: Graph, node: Node, parts: Sequence[_Part]) -> list[Node]:
    """The differences that all parts are in pairs, as along each axis; an empty list if they are not."""
    found, left = [], list(parts)
    while left:
        first = left.pop(0)
        pairs = ((other, _difference(graph, node, (first, other))) for other in left)
        other, difference = next(((other, made) for other, made in pairs if made is not None), (None, None))
        if other is None or difference is None:
            return []
        left.remove(other)
        found.append(difference)
    return found


def _difference(graph: Graph, node: Node, parts: Sequence[_Part]) -> Node | None:
    """Two parts that are the same array with opposite signs, one of them shifted by one place."""
    early, late = sorted(parts, key=lambda part: part.start)
    (a,), (b,) = early.pieces, late.pieces
    moved = [k for k, (i, j) in enumerate(zip(early.start, late.start, strict=True)) if i != j]
    if a.shape != b.shape or len(moved) != 1:
        return None
    (axis,) = moved
    if (
        (early.start[axis], late.start[axis]) != (0, 1)
        or a.shape[axis] + 1 != node.shape[axis]
        or any(size != whole for k, (size, whole) in enumerate(zip(a.shape, node.shape, strict=True)) if k != axis)
    ):
        return None
    (x, sign), (y, opposite) = _without_minus(a), _without_minus(b)
    if x is not y or sign == opposite:
        return None
    widths = tuple((1, 1) if k == axis else (0, 0) for k in range(node.ndim))
    padded = graph.add("pad", (x, graph.literal(0, node.type)), widths=widths)
    made = called(graph, "np.diff", (padded,), node, **({} if axis == node.ndim - 1 else {"axis": axis}))
    return made if sign > 0 else graph.add("negate", (made,))


def _without_minus(node: Node) -> tuple[Node, int]:
    sign = 1
    while (minus := pattern("negate(x)").match(node) or pattern("multiply(x, -1)").match(node)) is not None:
        node, sign = minus["x"], -sign
    return node, sign
