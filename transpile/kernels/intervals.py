"""Interval masks as loop bounds: elements that a mask of positions does not select are not computed.

``np.where((k >= a) & (k < b), x, 0).sum()``, over the positions ``k``, is a sum from ``a`` to below ``b``: elements
outside do not contribute, not even NaN and infinity. A product with a mask does not qualify: ``0 * nan`` is NaN.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

import numpy as np

from ..array.graph import Graph
from ..array.intervals import type_interval
from ..array.node import Node, literal_value
from ..array.traversal import topological
from ..dataclass import dataclass
from ..hlo.element_types import PRED, S64, U64
from .guards import unguarded
from .index_maps import Index

_TURNED = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}
_KEEP_ZERO = frozenset("square abs negate convert multiply".split())

Bounds = tuple[Node, ...]  # the first position of an interval and the one behind its last; or empty


@dataclass(frozen=True, slots=True)
class LineIntervals:
    """The analysis of intervals along one ``axis`` of the ``loop`` of a kernel, whose function has a ``graph``."""

    graph: Graph
    loop: tuple[int, ...]
    axis: int

    def reduced(self, x: Node, neutral: np.ndarray) -> tuple[Node, Bounds]:
        """Return the values to reduce and the bounds outside of which all elements are ``neutral``; no bounds if
        unknown.
        """
        if x.opcode == "select":
            other = x.operands[2]
            return self.chosen(x) if other.is_literal and bool(literal_value(other) == neutral) else (x, ())
        if neutral != 0 or x.opcode not in _KEEP_ZERO:
            return x, ()
        values, bounds = zip(*(self.reduced(operand, np.zeros(())) for operand in x.operands), strict=True)
        return (self._node(x.opcode, values, x, **x.parameters), bounds[0]) if len({*bounds}) == 1 else (x, ())

    def chosen(self, x: Node) -> tuple[Node, Bounds]:
        """Return the values of a ``select`` inside the interval that its mask implies, and the bounds of the interval;
        ``x`` and no bounds if there is none.
        """
        mask, value, other = x.operands
        parts = [(part, self._bound(part)) for part in conjuncts(mask)]
        lows, highs = ([bound[1] for _, bound in parts if bound and bound[0] == how] for how in ("maximum", "minimum"))
        rest = [part for part, bound in parts if bound is None]
        if len({bound.type for bound in (*lows, *highs)}) != 1:
            return x, ()
        low = self._joined("maximum", lows) if lows else self.graph.literal(0, S64)
        high = self._joined("minimum", highs) if highs else self.graph.literal(self.loop[self.axis], S64)
        if rest:
            value = self._node("select", (self._joined("and", rest), value, other), x)
        for position in dict.fromkeys(each for part in parts for each in part[0].operands if self._is_position(each)):
            value = unguarded(self.graph, value, position, low, high)
        return value, (low, high)

    def _bound(self, mask: Node) -> tuple[str, Node] | None:
        """Return the bound that a comparison of positions with a number gives, with the opcode that joins bounds of its
        kind; None if it is no bound.
        """
        if mask.opcode != "compare":
            return None
        (left, right), direction = mask.operands, mask.parameters["direction"]
        if self._is_position(right):
            left, right, direction = right, left, _TURNED.get(direction, "")
        if not self._is_position(left) or direction not in _TURNED or not self._is_outside(right):
            return None
        how = "minimum" if direction in ("LT", "LE") else "maximum"
        return how, self._within(how, right, int(direction in ("GT", "LE")))

    def _is_position(self, node: Node) -> bool:
        """Return whether a node is the index along the axis."""
        is_plain = node.opcode == "arange" and node.type is not U64
        return is_plain and node.parameters["indices"] == (Index(0, 1, self.axis),)

    def _is_outside(self, node: Node) -> bool:
        """Return whether a bound is known before the loop along the axis begins."""
        return all(axis < self.axis for each in topological([node]) for axis in _axes(each, self.loop))

    def _within(self, how: str, number: Node, more: int) -> Node:
        """Return ``number + more``, clamped at the end of the line."""
        end = (0 if how == "maximum" else self.loop[self.axis]) - more
        low, high = number.interval or type_interval(number.type) or (-inf, inf)
        if not (end <= low if how == "maximum" else high <= end):
            number = self._node(how, (number, self.graph.literal(end, number.type)), number)
        if not more:
            return number
        interval = None if number.interval is None else (number.interval[0] + more, number.interval[1] + more)
        return self._node("add", (number, self.graph.literal(more, number.type)), number, interval=interval)

    def _joined(self, opcode: str, parts: list[Node]) -> Node:
        joined = parts[0]
        for part in parts[1:]:
            joined = self._node(opcode, (joined, part), joined)
        return joined

    def _node(self, opcode: str, operands: tuple[Node, ...], like: Node, **parameters: Any) -> Node:
        return self.graph.typed(opcode, operands, self.loop, like.element_type, **parameters)


def conjuncts(mask: Node) -> list[Node]:
    """Return the operands of the conjunction that a mask is; other masks are their only conjunct."""
    if mask.opcode != "and" or mask.element_type is not PRED:
        return [mask]
    return [part for operand in mask.operands for part in conjuncts(operand)]


def _axes(node: Node, loop: tuple[int, ...]) -> Iterator[int]:
    """Yield the axes of a loop that a node of a kernel depends on."""
    if node.opcode == "parameter" and node.shape == loop:
        yield from range(len(loop))
    indices = [index for index in node.parameters.get("indices", ()) if index is not None]
    indices += [each.index for test in node.parameters.get("tests", ()) for each in test]
    yield from (index.axis for index in indices if index.axis is not None)
