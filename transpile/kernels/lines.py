"""Lines: the elements of an array that a reduction takes together, whichever axes it goes along."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..array.node import Node
from ..dataclass import dataclass


def reduced_axes(node: Node) -> tuple[int, ...]:
    """The axes along which a reduction goes."""
    if node.opcode == "prelude":
        return (node.parameters["keywords"]["axis"],)
    if "axis" in node.parameters:
        return (node.parameters["axis"],)
    return tuple(sorted(node.parameters["axes"]))


def is_splittable(node: Node) -> bool:
    """A reduction of parts, reduced again, is that of the whole; without rounding in between to a narrow type."""
    return node.opcode in ("sum", "prod", "max", "min", "mean") and node.operands[0].type.bits >= 32


@dataclass(frozen=True, slots=True)
class Stretch:
    """Neighbouring axes of an array that are all reduced, or all kept, as one.

    Each element is ``stride`` elements of the array behind the last; ``behind`` are the elements of the axes behind it
    that are reduced or kept like it.
    """

    size: int
    stride: int
    behind: int
    is_reduced: bool


@dataclass(frozen=True, slots=True)
class Lines:
    """The elements of an array that are reduced together, by the stretches of its axes, outermost first.

    Lines whose last axis is reduced are rows, the others columns. Elements of a line, and lines, are numbered in the
    order of the array.
    """

    stretches: tuple[Stretch, ...]

    @staticmethod
    def of(node: Node) -> Lines | None:
        """The lines that a reduction takes; None where these have nothing to reduce."""
        return Lines.along(node.operands[0].shape, reduced_axes(node))

    @staticmethod
    def along(shape: Sequence[int], axes: Sequence[int]) -> Lines | None:
        """The lines along some axes; None where these have nothing to reduce."""
        found: list[Stretch] = []
        behind, stride = {True: 1, False: 1}, 1
        for axis, size in reversed(list(enumerate(shape))):
            if size == 1:
                continue
            is_reduced = axis in axes
            if found and found[-1].is_reduced == is_reduced:
                last = found.pop()
                found.append(Stretch(last.size * size, last.stride, last.behind, is_reduced))
            else:
                found.append(Stretch(size, stride, behind[is_reduced], is_reduced))
            behind[is_reduced] *= size
            stride *= size
        return Lines(tuple(reversed(found))) if behind[True] > 1 else None

    @property
    def length(self) -> int:
        """Return how many elements a line has."""
        return prod(part.size for part in self.stretches if part.is_reduced)

    @property
    def count(self) -> int:
        """Return how many there are."""
        return prod(part.size for part in self.stretches if not part.is_reduced)

    @property
    def are_rows(self) -> bool:
        """The last axis is reduced: neighbouring elements are of one line."""
        return self.stretches[-1].is_reduced

    @property
    def terms(self) -> list[tuple[str, int, int | None, int]]:
        """The place of an element in the array: a sum of ``variable / divisor % modulus * stride``."""
        spelled = (self.spelled(part.stride, part.size) for part in self.stretches)
        return [(*text, part.stride) for text, part in zip(spelled, self.stretches, strict=True)]

    def element(self, line: int, along: int) -> int:
        """The number, in the array, of element ``along`` of a line."""
        places = ((along if part.is_reduced else line, part) for part in self.stretches)
        return sum(number // part.behind % part.size * part.stride for number, part in places)

    def spelled(self, divisor: int, modulus: int | None) -> tuple[str, int, int | None]:
        """``at / divisor % modulus`` of the number ``at`` of an element, by the number of its ``row`` or ``column``
        where that tells it: that variable or ``at``, and divisor and modulus of it."""
        end = divisor * modulus if modulus is not None else self.length * self.count
        for part in self.stretches:
            if divisor % part.stride == 0 and part.stride * part.size % end == 0:
                variable = "column" if part.is_reduced == self.are_rows else "row"
                is_whole = end == part.stride * part.size and part.size * part.behind == self._total(part.is_reduced)
                return variable, part.behind * (divisor // part.stride), None if is_whole else modulus
        return "at", divisor, modulus

    def _total(self, reduced: bool) -> int:
        return self.length if reduced else self.count

    def is_along(self, divisor: int, modulus: int | None) -> bool:
        """Tell whether ``at / divisor % modulus`` differs between the elements of a line."""
        return self.spelled(divisor, modulus)[0] != ("row" if self.are_rows else "column")
