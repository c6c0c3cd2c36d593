"""Parts of a value that get a line of their own because the whole line would be too long."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...array.node import Node, Region
from ...array.scalars import is_matrix
from ...array.traversal import is_inside
from ...python.grammar import PRIMARY
from ...python.templates import Expression
from ...python.wrapping import breaks_well
from ..arrangement.folding import is_sum
from ..naming.operands import operation_words
from .context import Writing

_LONG = 24  # characters from which on a single operation may be cut out of a line that is too long


class Fitting:
    """The fitting of the lines of one function."""

    def __init__(self, writer: Writing) -> None:
        self.writer = writer
        self.layout = writer.renderer.layout
        self.parts: list[Node] = []  # cut in the regions that are being written

    def fitted(self, node: Node, value: Callable[[], Expression], taken: int, *, alone: bool = True) -> Expression:
        """Return the text of a value, after cutting parts out of it until its line fits behind ``taken`` columns.

        A sum that is ``alone`` in its statement may have a line for each term.
        """
        while True:
            text = value()
            has_lines = alone and (self.is_sum_of_lines(node) or self._is_matrix_of_lines(node))
            fits = has_lines or self.layout.fits(text, taken)
            part = None if fits else self._part_to_cut(node.operands) or self._view_to_cut(node, text)
            if part is None or (alone and self.breaks_rather(text, part)):
                return text
            self.cut(part, node)
            self.writer.statement(part)

    def fit_change(self, node: Node, line: Callable[[], str]) -> None:
        """Cut parts out of an update's value and indices until its line fits."""
        while not self.layout.fits(text := line(), 4 * self.writer.indent):
            part = self._part_to_cut(node.operands[1:])
            if part is None or self.breaks_rather(text, part):
                return
            self.cut(part, node)
            self.writer.statement(part)

    def cut(self, part: Node, node: Node) -> None:
        """Name a part of a node, and update the counts of what the two read."""
        allocation, reads = self.writer.allocation, self.writer.reads
        before = reads.of(node)
        self.writer.plan.named.add(part)
        self.parts.append(part)
        after = reads.of(node)
        allocation.keep(part)  # it may have other readers
        allocation.expect([*reads.of(part), *(after - before)])
        if node in self.writer.plan.named:  # results are read together, at the end
            allocation.has_read(before - after)

    def forget(self, count: int, region: Region) -> None:
        """Forget the parts behind the first ``count``, which were cut in a region that ends.

        Parts that are computed outside the region lose their names: the region may be a branch or a loop that does not
        run.
        """
        for part in self.parts[count:]:
            if not is_inside(part.region, region):
                self.writer.plan.named.discard(part)
                self.writer.texts.pop(part, None)
        del self.parts[count:]

    def breaks_rather(self, text: str, part: Node) -> bool:
        """Return whether a line is broken because the part to cut is read once and has no name but its operation's."""
        name = self.writer.wanted.of(part)
        is_free = self.writer.names.free(name) == name or self.writer.allocation.gives(part, name)
        is_telling = is_free and name.rpartition("_")[2] not in operation_words()
        inner = 4 * (self.writer.indent + 1)
        is_read_once = self.writer.plan.uses.get(part) == 1
        return is_read_once and not is_telling and breaks_well(text, lambda each: self.layout.fits(each, inner))

    def is_sum_of_lines(self, node: Node) -> bool:
        """Return whether a node is a sum of at least three terms that black writes one per line."""
        terms: list[Node] = []
        while is_sum(node) and (node not in self.writer.texts or not terms):
            terms.append(node.operands[1])
            node = node.operands[0]
        terms.append(node)
        taken = 4 * (self.writer.indent + 1) + len("+ ")
        fits = all(self.layout.fits(self.writer.text(term), taken) for term in terms)
        return len(terms) > 2 and fits

    def _is_matrix_of_lines(self, node: Node) -> bool:
        """Return whether a node is a matrix that black writes with a row per line, or a number per line in long
        rows.
        """
        if not is_matrix(node) or node.operands[0] in self.writer.texts:
            return False
        texts = map(self.writer.text, node.operands[0].operands)
        return all(self.layout.fits(text, 4 * (self.writer.indent + 3) + len(",")) for text in texts)

    def _part_to_cut(self, operands: Sequence[Node]) -> Node | None:
        """Return the folded part of the operands with the most operations, or None.

        Of a view, ``f(x).T`` or ``x[f(i)]``, what it shows or its index is cut. Parts that fit into a line come first.
        Parts that depend on no argument come last, as they say little alone.
        """
        writer = self.writer
        best: Node | None = None
        best_key = (False, False, 0, 0)
        stack = list(operands)
        while stack:
            part = stack.pop()
            if part in writer.plan.named or part in writer.texts:
                continue
            work = writer.plan.work.get(part, 0)
            if work and not part.is_python_int and not self._is_view_of_primary(part):
                value = writer.value(part)
                length = self.layout.columns(value)
                key = (self.layout.fits(value, writer.taken(part)), not self._is_constant(part), work, length)
                if key > best_key and (work > 1 or length >= _LONG):
                    best, best_key = part, key
            stack.extend(part.operands)
        return best

    def _is_view_of_primary(self, part: Node) -> bool:
        """Return whether a part is a view of what needs no parentheses, which may be cut in its place."""
        return part.operation.is_light and bool(part.operands) and self.writer.text(part.operands[0]).level >= PRIMARY

    def _is_constant(self, part: Node) -> bool:
        """Return whether a folded part consists of literals only."""
        is_named = part in self.writer.plan.named or part.operation.is_atom
        return not is_named and all(each.is_literal or self._is_constant(each) for each in part.operands)

    def _view_to_cut(self, node: Node, text: Expression) -> Node | None:
        """Return the longest view among an operator's operands, whose call black would break, or None."""
        light = [part for part in node.operands if part.operation.is_light and not part.is_literal]
        views = [part for part in light if part not in self.writer.texts]
        if text.level >= PRIMARY or not views:
            return None
        lengths = {part: self.layout.columns(self.writer.text(part)) for part in views}
        longest = max(lengths, key=lengths.__getitem__)
        return longest if lengths[longest] >= _LONG else None
