"""Masks of positions that are intervals become slices: ``np.where(np.arange(n) < j, x, 0).sum()`` is ``x[:j].sum()``.

JAX has no shapes that depend on a counter, so programs mask what lies outside. What a mask selects may be summed,
multiplied or stored; what it does not select is read nowhere, so that NaN and infinity there do nothing. A product with
a mask is none of this: ``0 * nan`` is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...array.affine import affine, integer_value
from ...array.graph import Graph
from ...array.intervals import fits
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node, Slot, literal_value
from ...array.program import Function
from ...array.rewriting import rewrite
from ...array.support import Support
from ...array.value import FULL
from ...dataclass import dataclass
from ..to_array.counters import from_affine

_TURNED = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}


@dataclass(frozen=True, slots=True)
class Stretch:
    """The positions from ``start`` to below ``stop`` of the last axis; None is its begin, or its end."""

    mask: Node
    start: Node | None
    stop: Node | None


def interval_masks(function: Function, supports: Support) -> None:
    """Cut what is summed, multiplied or stored to the positions that a mask selects."""
    if not supports.features.arrays_are_mutable:
        return
    cut = _Cut(function.graph, live_nodes(function), supports)
    rewrite(function, ("sum", "prod", "matmul", "setitem"), cut.rewritten, supports)


class _Cut:
    """Rewrites of one function."""

    def __init__(self, graph: Graph, live: LiveNodes, supports: Support) -> None:
        self.graph = graph
        self.live = live
        self.supports = supports

    def rewritten(self, node: Node) -> Node | None:
        """The node with its operands cut, or None."""
        if node.opcode == "setitem":
            return self._stored(node)
        if node.opcode != "matmul":
            return self._reduced(node, 0 if node.opcode == "sum" else 1)
        found = {self._stretch_of(operand, 0) for operand in node.operands}
        (stretch,) = found if len(found) == 1 else (None,)
        if stretch is None or any(operand.ndim != 1 for operand in node.operands):
            return None
        return self._of_parts(node, stretch)

    def _reduced(self, node: Node, neutral: int) -> Node | None:
        (x,) = node.operands
        axes = node.parameters.get("axis")
        stretch = self._stretch_of(x, neutral) if axes is None or x.ndim - 1 in _listed(axes) else None
        if stretch is None or (node.parameters.get("keepdims") and x.ndim > 1):
            return None
        return self._of_parts(node, stretch, element_type=node.element_type)

    def _of_parts(self, node: Node, stretch: Stretch, **given: Any) -> Node | None:
        """The node of the parts of its operands, which have more than one number along the last axis."""
        parts = tuple(self._part(operand, stretch) for operand in node.operands)
        if any(not part.ndim or part.shape[-1] == 1 for part in parts):
            return None
        return self.graph.add(node.opcode, parts, **given, **node.parameters)

    def _stored(self, node: Node) -> Node | None:
        """``x[j] = np.where(mask, new, x[j])``."""
        x, value, *places = node.operands
        index = node.parameters["index"]
        if value.opcode != "select" or self.live.count(value) > 1 or len(index) < x.ndim or index[-1] != FULL:
            return None
        mask, new, old = value.operands
        stretch = self._interval(mask)
        is_old = old.opcode == "getitem" and old.operands == (x, *places) and old.parameters["index"] == _read(index)
        if stretch is None or not is_old or new.ndim != value.ndim or new.shape != value.shape:
            return None
        return self._indexed("setitem", (x, self._part(new, stretch), *places), index[:-1], stretch)

    # -- what is cut

    def _stretch_of(self, node: Node, neutral: int) -> Stretch | None:
        """The positions outside of which a value is the neutral element of a sum or a product."""
        if not node.ndim:
            return None
        if node.opcode == "select":
            mask, _, other = node.operands
            is_neutral = other.is_literal and bool(literal_value(other) == neutral)
            return self._interval(mask) if is_neutral and mask.shape[-1:] == node.shape[-1:] else None
        if neutral == 0 and node.opcode in ("square", "abs", "negate", "convert"):
            return self._stretch_of(node.operands[0], 0)
        if neutral == 0 and node.opcode == "multiply":
            first, second = (self._stretch_of(operand, 0) for operand in node.operands)
            return first if first == second else None
        return None

    def _part(self, node: Node, stretch: Stretch) -> Node:
        """The positions of a value along its last axis."""
        if not node.ndim or node.shape[-1] == 1:
            return node
        if node.opcode == "select" and node.operands[0] is stretch.mask:
            return self._part(node.operands[1], stretch)
        if node.operation.is_elementwise and not node.is_python_int and self.live.count(node) <= 1:
            operands = tuple(self._part(operand, stretch) for operand in node.operands)
            return self.graph.add(node.opcode, operands, element_type=node.element_type, **node.parameters)
        if node.opcode == "getitem" and node.parameters["index"][-1:] == (FULL,) and not _has_arrays(node):
            index = node.parameters["index"]
            if len(index) - index.count(None) == node.operands[0].ndim:
                return self._indexed("getitem", node.operands, index[:-1], stretch)
        return self._indexed("getitem", (node,), (FULL,) * (node.ndim - 1), stretch)

    def _indexed(self, opcode: str, operands: Sequence[Node], index: Sequence[Any], stretch: Stretch) -> Node:
        """``x[.., start:stop]``, or a change of that."""
        given, bounds = list(operands), []
        for bound in (stretch.start, stretch.stop):
            bounds.append(Slot(len(given)) if bound is not None else None)
            given += [bound] if bound is not None else []
        return self.graph.add(opcode, tuple(given), index=(*index, (*bounds, None)))

    # -- intervals

    def _interval(self, mask: Node) -> Stretch | None:
        """The positions along the last axis that a mask selects, where these follow each other."""
        if mask.opcode == "and":
            first, second = map(self._interval, mask.operands)
            if first is None or second is None:
                return None
            starts = [each.start for each in (first, second) if each.start is not None]
            stops = [each.stop for each in (first, second) if each.stop is not None]
            return Stretch(mask, *starts, *stops) if len(starts) == len(stops) == 1 else None
        if mask.opcode != "compare" or mask.ndim != 1:
            return None
        (left, right), direction = mask.operands, mask.parameters["direction"]
        if right.opcode == "arange":
            left, right, direction = right, left, _TURNED.get(direction, "")
        if left.opcode != "arange" or left.parameters.keys() != {"stop"} or right.ndim or direction not in _TURNED:
            return None
        bound = self._bound(right, int(direction in ("GT", "LE")))
        if bound is None:
            return None
        return Stretch(mask, None, bound) if direction in ("LT", "LE") else Stretch(mask, bound, None)

    def _bound(self, node: Node, more: int) -> Node | None:
        """A bound of a slice, which must not be negative: that would count from the end."""
        graph, interval = self.graph, node.interval
        if integer_value(node) is not None:
            return None  # a part that is known
        if node.is_python_int and node.element_type is not None and interval is not None and interval[0] + more >= 0:
            low, high = interval
            if not fits((low + more, high + more), node.type):
                return None
            terms, constant = affine(node)
            return from_affine(graph, terms, constant + more, node.type)
        if node.is_python_int or more or not self.supports.features.starts_are_free or not node.type.is_signed:
            return None
        if not node.region.is_in_loop:
            return None  # a mask that is made once
        if interval is not None and interval[0] >= 0:
            return node
        return graph.add("maximum", (node, graph.literal(0, node.type)), element_type=node.type)


def _has_arrays(node: Node) -> bool:
    return any(operand.ndim for operand in node.operands[1:])


def _listed(axes: Any) -> tuple[int, ...]:
    return axes if isinstance(axes, tuple) else (axes,)


def _read(index: Sequence[Any]) -> tuple[Any, ...]:
    """The index by which a part is read that is written at another: operands of changes have one more before them."""
    return tuple(Slot(item.index - 1) if isinstance(item, Slot) else item for item in index)
