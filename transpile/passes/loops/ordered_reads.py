"""Reads of a vector at places that count up or down along an interval: ``x[i - k]`` for k from a to below b is
``x[i - a : i - b : -1]``, and a part of ``np.roll(x, -1)`` is a part of x that begins one later.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...array.affine import Affine, affine, combined, extreme, integer_value
from ...array.node import Node
from ...dataclass import dataclass
from ..indexing.wrapped_indices import is_of_axis
from ..rewriting.patterns import pattern

# Each pattern is the place itself if the place is inside of the vector.
_GUARDS = (
    "remainder(place, SIZE)",
    "modulo(place, SIZE)",
    "clamp(0, place, LAST)",
    "maximum(0, place)",
    "minimum(place, LAST)",
    "select(compare(place, 0, direction='LT'), add(place, SIZE), place)",
)


@dataclass(frozen=True, slots=True)
class Run:
    """The places from ``start`` to before ``stop`` by ``step``, 1 or -1. No stop is before the first."""

    start: Affine
    stop: Affine | None
    step: int


def ordered_read(node: Node, start: Affine, stop: Affine) -> Run | None:
    """Return the run of places that a node reads of its first operand, a vector, for positions from ``start`` to below
    ``stop``, which are at least 0; None if it reads none, or none that is known to be inside of the vector.
    """
    size = node.operands[0].shape[0]
    for step, base in _places(node, size):
        first, behind = (combined("add" if step > 0 else "subtract", base, end) for end in (start, stop))
        assert first is not None and behind is not None
        is_to_the_start = step < 0 and behind == ({}, -1)
        low = min(extreme(*end, -1) for end in (first, *[behind] * (not is_to_the_start)))
        high = extreme(*first, 1) if step < 0 else extreme(*behind, 1) - 1
        if low >= 0 and high < size:
            return Run(first, None if is_to_the_start else behind, step)
    return None


def _places(node: Node, size: int) -> Iterator[tuple[int, Affine]]:
    """Yield 1 or -1, and what a position times that is added to, for the places that a node reads."""
    if node.opcode == "roll":
        shift = node.parameters["shift"]
        if isinstance(shift, int):
            yield from ((1, ({}, -shift % size - whole)) for whole in (0, size))
    elif node.opcode in ("take", "advanced_index") and [each.ndim for each in node.operands] == [1, 1]:
        found = _counted(_unguarded(node.operands[1], size))
        if found is not None and abs(found[0]) == 1:
            yield found


def _unguarded(place: Node, size: int) -> Node:
    """Return the place that guards leave as it is inside of a vector."""
    for text in _GUARDS:
        found = pattern(text).match(place)
        if found is not None and is_of_axis(found, size):
            return _unguarded(found["place"], size)
    return place


def _counted(place: Node) -> tuple[int, Affine] | None:
    """Return how often positions are contained in a place, and the rest; None if it is no such sum."""
    if place.opcode == "arange" and place.parameters.keys() == {"stop"}:
        return 1, ({}, 0)
    if not place.ndim and (place.is_python_int or integer_value(place) is not None):
        return 0, affine(place)
    if place.opcode not in ("add", "subtract"):
        return None
    left, right = map(_counted, place.operands)
    rest = combined(place.opcode, left[1], right[1]) if left is not None and right is not None else None
    if left is None or right is None or rest is None:
        return None
    return (left[0] + right[0] if place.opcode == "add" else left[0] - right[0]), rest
