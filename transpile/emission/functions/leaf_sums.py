"""Sums of one measure of several arrays as one line: ``sum((leaf * leaf).sum() for leaf in (d_w, d_b))``.

For the leaves of a tree that has a name it is ``for leaf in tree_leaves(d_params)``.
"""

from __future__ import annotations

from ...array.node import Node
from ...passes.outlining.measured_sums import measured_sums
from ...python.templates import Expression
from .context import Writing

_LEAF, _LEAVES = "leaf", "tree_leaves"


class LeafSums:
    """The sums over several arrays of one function: by node, the text of the terms, of ``leaf``, and the arrays."""

    def __init__(self, writer: Writing) -> None:
        self.writer = writer
        self.by_node: dict[Node, tuple[Expression, tuple[Node, ...]]] = {}

    def find(self) -> None:
        """Find the sums whose terms have the same text; the parts of the terms are no statements any more."""
        writer = self.writer
        for found in measured_sums(writer.plan.nodes, writer.plan.uses):
            texts = {self._text(term, own) for term, own in zip(found.terms, found.given, strict=True)}
            if len(texts) == 1:
                self.by_node[found.node] = texts.pop(), found.given
                writer.allocation.become_parts(found.inside)

    def _text(self, term: Node, own: Node) -> Expression:
        """Return the text of a term of ``leaf``."""
        texts = self.writer.texts
        before = texts.get(own)
        texts[own] = Expression(_LEAF)
        text = self.writer.value(term)
        self.writer.written = {}
        if before is None:
            del texts[own]
        else:
            texts[own] = before
        return text

    def total(self, node: Node) -> Expression | None:
        """Return the text of a node that is such a sum, or None."""
        if node not in self.by_node:
            return None
        writer, (term, given) = self.writer, self.by_node[node]
        tree = writer.leaf_maps.tree_of(given)
        if tree:
            writer.renderer.used_prelude[_LEAVES] = None
            return writer.renderer.expression("sum_of_leaves", term, _LEAF, _LEAVES, Expression(tree))
        return writer.renderer.expression("sum_of_terms", term, _LEAF, [*map(writer.array_text, given)])
