"""A kernel: operations on the elements of arrays that a device does at once, reading and writing memory once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from .node import Node
from .program import Function, tree_nodes

_COLUMNS = 32  # that a block has
_MOST_OF_A_BLOCK = 2**18  # elements
_PART = 2**15  # elements, of a line that several blocks share
_MOST_PARTS = 1024


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
class Lines:
    """The elements of an array that are reduced together.

    A line has ``length`` elements, each ``inner`` behind the last; ``inner`` lines lie beside each other, ``outer``
    times. Lines whose elements follow each other are rows, the others columns.
    """

    outer: int
    length: int
    inner: int

    @staticmethod
    def along(shape: Sequence[int], axes: Sequence[int]) -> Lines | None:
        """The lines along some axes; None where others lie between these."""
        long = [axis for axis in axes if shape[axis] != 1]
        if not long:
            return None
        first, last = min(long), max(long)
        if any(shape[axis] != 1 and axis not in axes for axis in range(first, last)):
            return None
        return Lines(prod(shape[:first]), prod(shape[first : last + 1]), prod(shape[last + 1 :]))

    @property
    def count(self) -> int:
        """How many there are."""
        return self.outer * self.inner

    @property
    def parts(self) -> int:
        """How many blocks share a line, or as many columns as lie beside each other: more than one if that is long."""
        elements = self.length * (1 if self.are_rows else min(self.count, _COLUMNS))
        return 1 if elements <= _MOST_OF_A_BLOCK else min(-(-elements // _PART), _MOST_PARTS)

    @property
    def are_rows(self) -> bool:
        """The elements of a line follow each other."""
        return self.inner == 1

    def spelled(self, divisor: int, modulus: int | None) -> tuple[str, int, int | None]:
        """``at / divisor % modulus`` of the number ``at`` of an element, by the number of its ``row`` or ``column``
        where that tells it: that variable or ``at``, and divisor and modulus of it."""
        length, inner = self.length, self.inner
        line, along = ("row", "column") if self.are_rows else ("column", "row")
        if divisor % (length * inner) == 0:
            return line, divisor // length, modulus
        size = divisor * modulus if modulus is not None else length * inner
        if inner % size == 0:
            return line, divisor, None if size == inner and self.outer == 1 else modulus
        if divisor % inner == 0 and (length * inner) % size == 0 and (modulus is not None or self.outer == 1):
            return along, divisor // inner, None if size == length * inner else modulus
        return "at", divisor, modulus

    def is_along(self, divisor: int, modulus: int | None) -> bool:
        """``at / divisor % modulus`` differs between the elements of a line."""
        return self.spelled(divisor, modulus)[0] != ("row" if self.are_rows else "column")


@dataclass(eq=False, slots=True)
class Kernel:
    """What a ``kernel`` node calls.

    ``function`` computes one element of the ``loop``: its parameters are what is read at that element, a ``read`` node
    reads an array elsewhere. ``inputs`` are the nodes of the caller that the parameters stand for, ``outputs`` those
    that the results stand for. Where there are ``reductions`` in the function, the threads of one of the loop's
    ``lines`` compute together.
    """

    function: Function
    loop: tuple[int, ...]
    inputs: list[Node] = field(default_factory=list)
    outputs: list[Node] = field(default_factory=list)
    whole: set[Node] = field(default_factory=set)  # parameters: arrays that are read by `read` nodes
    lines: Lines | None = None
    reductions: set[Node] = field(default_factory=set)  # of lines: nodes of the function
    of_lines: set[Node] = field(default_factory=set)  # results that have one element for each line, or part of it
    shapes: list[tuple[int, ...]] = field(default_factory=list)  # of the results, as the kernel gives them

    @property
    def has_loop(self) -> bool:
        """The results are what a loop carries."""
        return any(node.opcode == "item" for node in tree_nodes(self.function.results))

    @property
    def by_lines(self) -> bool:
        """Threads compute lines together."""
        return self.lines is not None

    @property
    def is_read_whole(self) -> bool:
        """No input has the shape of the loop: the call says how large it is."""
        return all(p in self.whole or p.shape != self.loop for p in self.function.parameters)
