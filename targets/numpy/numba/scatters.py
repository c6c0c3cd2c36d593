"""The lines of scatters in loops that are compiled as a whole: one update after the other, in the array itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ....transpile.array.node import Node
from ....transpile.python.templates import Expression
from .rounds import RoundWriter
from .writer import COUNTERS


class ScatterWriter:
    """Writes a loop for each axis of the indices, the test whether they are inside, and a loop for each axis behind."""

    def __init__(self, rounds: RoundWriter) -> None:
        self.writer, self.kept = rounds.function_writer, rounds.names_of_author
        self.statement, self.expression = rounds.elements.statement, rounds.elements.expression

    def write(self, node: Node, name: str) -> None:
        """Write the lines that change the array of this name as a scatter does."""
        x, value, *indices = node.operands
        given, *places = [self._named(operand) for operand in node.operands[1:]]
        letters = (letter for letter in COUNTERS if letter not in {*self.writer.names.taken, *self.kept})
        batch = np.broadcast_shapes(*(index.shape for index in indices))
        window = x.shape[len(indices) :]
        counters = [next(letters, f"index_{k}") if size > 1 else "0" for k, size in enumerate((*batch, *window))]
        outside = self.writer.indent
        self._open(counters[: len(batch)], batch)
        at = [self._element(text, index, counters[: len(batch)]) for text, index in zip(places, indices, strict=True)]
        if tests := list(self._tests(at, indices, x.shape)):
            self._begin(self.statement("begin_if", tests))
        self._open(counters[len(batch) :], window)
        target = self.expression("item", name, [*at, *counters[len(batch) :]])
        combiner = node.parameters["ufunc"].opcode if node.parameters["ufunc"] is not None else None
        self.writer.line(self.statement("combine", node, combiner, target, self._element(given, value, counters)))
        self.writer.indent = outside

    def _named(self, node: Node) -> Expression:
        """The text of an operand that is read several times, or while the array changes."""
        writer = self.writer
        text = writer.value_text(node)
        if node in writer.texts or node.is_literal or node.is_python_int or text.isidentifier():
            return text
        name = Expression(writer.names.fresh(writer.wanted.of(node)))
        writer.line(writer.definition(node, name, text), node)
        return name

    def _open(self, counters: Sequence[str], shape: Sequence[int]) -> None:
        for counter, size in zip(counters, shape, strict=True):
            if size > 1:
                self._begin(self.statement("for_axis", counter, size))

    def _begin(self, text: str) -> None:
        self.writer.line(text)
        self.writer.indent += 1

    def _element(self, text: Expression, node: Node, counters: Sequence[str]) -> Expression:
        """An element of an array that is broadcast to the axes of these counters."""
        own = counters[len(counters) - node.ndim :]
        items = ["0" if size == 1 else counter for counter, size in zip(own, node.shape, strict=True)]
        return self.expression("item", text, items)

    @staticmethod
    def _tests(texts: Sequence[str], indices: Sequence[Node], shape: Sequence[int]) -> Iterator[tuple[str, int, bool]]:
        """The places that may be outside: text, size of the axis, and whether they may be negative."""
        for text, index, size in zip(texts, indices, shape, strict=False):
            low, high = index.interval or (-1, size)
            if low < 0 or high >= size:
                yield text, size, low < 0
