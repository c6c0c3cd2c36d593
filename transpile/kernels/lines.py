"""Lines: the elements of an array that a reduction combines, along any axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..array.node import Node
from ..dataclass import dataclass


def reduced_axes(node: Node) -> tuple[int, ...]:
    """Return the axes of a reduction."""
    if node.opcode == "prelude":
        return (node.parameters["keywords"]["axis"],)
    if "axis" in node.parameters:
        return (node.parameters["axis"],)
    return tuple(sorted(node.parameters["axes"]))


def is_splittable(node: Node) -> bool:
    """Return whether a reduction of parts can be reduced again to that of the whole, without rounding to a narrow type
    in between.
    """
    return node.opcode in ("sum", "prod", "max", "min", "mean") and node.operands[0].type.bits >= 32


@dataclass(frozen=True, slots=True)
class Stretch:
    """Adjacent axes of an array that are all reduced, or all kept, merged into one.

    ``stride`` is the stride in the array. ``behind`` is the stride among the elements of a line, or among the lines:
    the number of elements of the inner axes that are reduced, or kept, alike.
    """

    size: int
    stride: int
    behind: int
    is_reduced: bool


@dataclass(frozen=True, slots=True)
class Lines:
    """The elements of an array that are reduced together, by the stretches of its axes, outermost first.

    If the last axis is reduced, lines are rows, otherwise columns. Lines, and the elements of a line, are numbered in
    the order of the array.
    """

    stretches: tuple[Stretch, ...]

    @staticmethod
    def of(node: Node) -> Lines | None:
        """Return the lines of a reduction; None if they have at most one element."""
        return Lines.along(node.operands[0].shape, reduced_axes(node))

    @staticmethod
    def along(shape: Sequence[int], axes: Sequence[int]) -> Lines | None:
        """Return the lines along some axes; None if they have at most one element."""
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
        """The number of elements of a line."""
        return prod(part.size for part in self.stretches if part.is_reduced)

    @property
    def count(self) -> int:
        """The number of lines."""
        return prod(part.size for part in self.stretches if not part.is_reduced)

    @property
    def are_rows(self) -> bool:
        """Whether the last axis is reduced: adjacent elements are in one line."""
        return self.stretches[-1].is_reduced

    @property
    def terms(self) -> list[tuple[str, int, int | None, int]]:
        """The offset of an element in the array: a sum of ``variable / divisor % modulus * stride``."""
        spelled = (self.spelled(part.stride, part.size) for part in self.stretches)
        return [(*text, part.stride) for text, part in zip(spelled, self.stretches, strict=True)]

    def spelled(self, divisor: int, modulus: int | None) -> tuple[str, int, int | None]:
        """Return ``at / divisor % modulus`` of the element number ``at``, in terms of its ``row`` or ``column`` if
        possible: the variable (else ``at``), its divisor and its modulus.
        """
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
        """Return whether ``at / divisor % modulus`` differs between the elements of a line."""
        return self.spelled(divisor, modulus)[0] != ("row" if self.are_rows else "column")
