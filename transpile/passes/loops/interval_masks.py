"""Masks of positions that are intervals become slices: ``np.where(np.arange(n) < j, x, 0).sum()`` is ``x[:j].sum()``.

JAX has no shapes that depend on a counter, so programs mask what lies outside. What a mask selects may be summed,
multiplied, compared or stored; what it does not select is read nowhere, so that NaN and infinity there do nothing. A
product with a mask is none of this: ``0 * nan`` is NaN. The largest of no elements is an error in NumPy, so a maximum
becomes one of a slice only if that is never empty.

Multiples of a counter are a slice, too: ``np.where(np.arange(n) % j == 0, 0, x)``, in place of x, is ``x[::j] = 0``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...array.affine import Affine, affine, combined, extreme, integer_value
from ...array.graph import Graph
from ...array.intervals import fits
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node, Slot, literal_value
from ...array.program import Function
from ...array.rewriting import rewrite
from ...array.support import Support
from ...array.traversal import is_inside
from ...array.value import FULL, read_index
from ...dataclass import dataclass
from ...kernels.intervals import conjuncts
from ...kernels.operations import start_value
from ..to_array.counters import from_affine
from .ordered_reads import ordered_read
from .own_arrays import own_arrays

_TURNED = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}


@dataclass(frozen=True, slots=True)
class Stretch:
    """The positions along the last axis that a ``mask`` selects: a slice from ``start`` to ``stop`` by ``step``. None
    is the start or end of the axis, or step 1.
    """

    mask: Node
    start: Node | None
    stop: Node | None
    step: Node | None = None


def interval_masks(function: Function, supports: Support) -> None:
    """Restrict sums, products and stores to the positions that a mask selects."""
    _cut(function, supports, ("sum", "prod", "max", "min", "matmul", "setitem", "select"), _Cut.rewritten)


def multiples(function: Function, supports: Support) -> None:
    """Store a number only at the multiples of a counter, where the loops of kernels would visit all positions."""
    _cut(function, supports, ("select",), _Cut.at_multiples)


def _cut(
    function: Function, supports: Support, opcodes: tuple[str, ...], rule: Callable[[_Cut, Node], Node | None]
) -> None:
    """Rewrite the nodes of some opcodes, and let loops own the carries that are then updated in place."""
    if not supports.features.arrays_are_mutable:
        return
    cut = _Cut(function.graph, live_nodes(function), supports)
    rewrite(function, opcodes, partial(rule, cut), supports)
    if cut.has_carried:
        own_arrays(function, supports)


class _Cut:
    """Rewrites of one function."""

    def __init__(self, graph: Graph, live: LiveNodes, supports: Support) -> None:
        self.graph = graph
        self.live = live
        self.supports = supports
        carries = [carry for node in live.of(("loop",)) for carry in node.parameters["loop"].carries]
        self.carried = {carry.following: carry.parameter for carry in carries}
        self.has_carried = False

    def rewritten(self, node: Node) -> Node | None:
        """Return the node on slices of its operands, or None."""
        if node.opcode == "setitem":
            return self._stored(node)
        if node.opcode == "select":
            return self._carried(node)
        if node.opcode != "matmul":
            return self._reduced(node, start_value(node.opcode, node.operands[0].type))
        found = {self._stretch_of(operand, 0) for operand in node.operands}
        (stretch,) = found if len(found) == 1 else (None,)
        if stretch is None or any(operand.ndim != 1 for operand in node.operands):
            return None
        return self._of_parts(node, stretch)

    def _reduced(self, node: Node, neutral: np.ndarray) -> Node | None:
        (x,) = node.operands
        axes = node.parameters.get("axis")
        stretch = self._stretch_of(x, neutral) if axes is None or x.ndim - 1 in _listed(axes) else None
        if stretch is None or (node.parameters.get("keepdims") and x.ndim > 1):
            return None
        if node.opcode in ("max", "min") and not _has_elements(stretch):
            return None
        return self._of_parts(node, stretch, element_type=node.element_type)

    def _of_parts(self, node: Node, stretch: Stretch, **given: Any) -> Node | None:
        """Return the node on slices of its operands; None if an operand has only one element along the last axis."""
        parts = tuple(self._part(operand, stretch) for operand in node.operands)
        if any(not part.ndim or part.shape[-1] == 1 for part in parts):
            return None
        return self.graph.add(node.opcode, parts, **given, **node.parameters)

    def _stored(self, node: Node) -> Node | None:
        """Return the store of ``x[j] = np.where(mask, new, x[j])`` restricted to the mask's positions, or None."""
        x, value, *places = node.operands
        index = node.parameters["index"]
        if value.opcode != "select" or self.live.count(value) > 1 or len(index) < x.ndim or index[-1] != FULL:
            return None
        mask, new, old = value.operands
        stretch = self._interval(mask)
        is_old = (
            old.opcode == "getitem" and old.operands == (x, *places) and old.parameters["index"] == read_index(index)
        )
        if stretch is None or not is_old or new.ndim != value.ndim or new.shape != value.shape:
            return None
        return self._indexed("setitem", (x, self._part(new, stretch), *places), index[:-1], stretch)

    def at_multiples(self, node: Node) -> Node | None:
        """Return a carried array with a number stored at the multiples of a counter, or None."""
        is_number = node.ndim == 1 and not node.operands[1].ndim
        stretch = self._interval(node.operands[0]) if is_number else None
        return self._carried(node) if stretch is not None and stretch.step is not None else None

    def _carried(self, node: Node) -> Node | None:
        """Return the store for ``x = np.where(mask, new, x)`` of a carried ``x`` that has no other use, or None."""
        mask, new, old = node.operands
        if self.carried.get(node) is not old or self.live.count(node) > 1 or node.region is not old.region:
            return None
        stretch = (
            self._interval(mask) if new.ndim in (0, node.ndim) and new.shape[-1:] in ((), node.shape[-1:]) else None
        )
        if stretch is None or mask.shape[-1:] != node.shape[-1:]:
            return None
        if new.ndim and stretch.stop is not None and stretch.stop.opcode == "select":
            return None  # which would be written for each part of the new value
        self.has_carried = True
        return self._indexed("setitem", (old, self._part(new, stretch)), (FULL,) * (node.ndim - 1), stretch)

    # -- what is cut

    def _stretch_of(self, node: Node, neutral: np.ndarray | int) -> Stretch | None:
        """Return the positions outside of which a value is the neutral element of a reduction, or None."""
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
        """Return a value at the positions along its last axis."""
        if not node.ndim or node.shape[-1] == 1:
            return node
        if node.opcode == "select" and node.operands[0] is stretch.mask:
            return self._part(node.operands[1], stretch)
        is_made_once = is_inside(stretch.mask.region, node.region) and stretch.mask.region is not node.region
        if node.operation.is_elementwise and not is_made_once and self.live.count(node) <= 1:
            operands = tuple(self._part(operand, stretch) for operand in node.operands)
            return self.graph.add(node.opcode, operands, element_type=node.element_type, **node.parameters)
        if node.opcode == "getitem" and node.parameters["index"][-1:] == (FULL,) and not _has_arrays(node):
            index = node.parameters["index"]
            if len(index) - index.count(None) == node.operands[0].ndim:
                return self._indexed("getitem", node.operands, index[:-1], stretch)
        if not is_made_once and node.operands and (run := self._run(node, stretch)) is not None:
            return run
        is_gather = node.opcode in ("take", "advanced_index") and [each.ndim for each in node.operands] == [1, 1]
        if is_gather and self.live.count(node) <= 1:
            places = self._indexed("getitem", node.operands[1:], (), stretch)
            return self.graph.add(node.opcode, (node.operands[0], places), **node.parameters)
        return self._indexed("getitem", (node,), (FULL,) * (node.ndim - 1), stretch)

    def _run(self, node: Node, stretch: Stretch) -> Node | None:
        """Return the slice of a vector that is read at places that count along an interval, or None."""
        vector, size = node.operands[0], stretch.mask.shape[-1]
        ends = _ends(stretch)
        if vector.shape != (size,) or ends is None or extreme(*ends[1], 1) > size:
            return None
        run = ordered_read(node, *ends)
        if run is None:
            return None
        given: list[Node] = [vector]
        index: list[Any] = [FULL]
        if vector.opcode == "getitem" and _is_line(vector):
            given, index = [*vector.operands], [*vector.parameters["index"]]
        bounds: list[Any] = []
        for end in (run.start, run.stop):
            bounds.append(Slot(len(given)) if end is not None else None)
            given += [from_affine(self.graph, *end, None) if end[0] else self.graph.integer(end[1])] if end else []
        index[index.index(FULL)] = (*bounds, None if run.step > 0 else run.step)
        return self.graph.add("getitem", tuple(given), index=tuple(index))

    def _indexed(self, opcode: str, operands: Sequence[Node], index: Sequence[Any], stretch: Stretch) -> Node:
        """Return ``x[.., start:stop:step]``, or an update of it."""
        given, bounds = list(operands), []
        for bound in (stretch.start, stretch.stop, stretch.step):
            bounds.append(Slot(len(given)) if bound is not None else None)
            given += [bound] if bound is not None else []
        return self.graph.add(opcode, tuple(given), index=(*index, tuple(bounds)))

    # -- intervals

    def _interval(self, mask: Node) -> Stretch | None:
        """Return the positions along the last axis that a mask selects; None if they are neither an interval nor
        multiples.
        """
        starts, stops, steps, truths = list[Node](), list[Node](), list[Node](), list[Node]()
        for part in conjuncts(mask):
            if not part.ndim:
                truths.append(part)
            elif (step := self._step(part)) is not None:
                steps.append(step)
            elif (bound := self._bounded(part)) is not None:
                (stops if bound[0] else starts).append(bound[1])
            else:
                return None
        if max(map(len, (starts, stops, steps, truths))) > 1:
            return None
        if all(integer_value(bound) is not None for bound in (*starts, *stops, *steps)):
            return None  # a part that is known
        start, stop, step, truth = (each[0] if each else None for each in (starts, stops, steps, truths))
        if step is not None and start is not None and not _is_multiple(start, step):
            return None
        if truth is not None:
            is_count = stop is None or stop.is_python_int
            if not is_count or not self.supports.features.elements_are_numbers or not mask.region.is_in_loop:
                return None
            stop = self._if_true(truth, stop, mask)
        return Stretch(mask, start, stop, step)

    def _if_true(self, truth: Node, stop: Node | None, mask: Node) -> Node:
        """Return the end of an interval that is empty if a condition is false."""
        end = self.graph.integer(mask.shape[-1]) if stop is None else stop
        interval = None if end.interval is None else (0, end.interval[1])
        return self.graph.add("select", (truth, end, self.graph.integer(0)), interval=interval)

    def _step(self, mask: Node) -> Node | None:
        """Return the divisor, at least 1, whose multiples a mask selects, or None."""
        if mask.opcode != "compare" or mask.ndim != 1 or mask.parameters["direction"] != "EQ":
            return None
        rest, zero = mask.operands
        if rest.opcode not in ("remainder", "modulo") or integer_value(zero) != 0:
            return None
        counted, step = rest.operands
        is_count = step.is_python_int and step.interval is not None and step.interval[0] >= 1
        return step if _is_positions(counted) and is_count and integer_value(step) is None else None

    def _bounded(self, mask: Node) -> tuple[bool, Node] | None:
        """Return the bound that a mask compares positions with, and whether it is an upper bound; None for any other
        mask.
        """
        if mask.opcode != "compare" or mask.ndim != 1:
            return None
        (left, right), direction = mask.operands, mask.parameters["direction"]
        if right.opcode == "arange":
            left, right, direction = right, left, _TURNED.get(direction, "")
        if not _is_positions(left) or right.ndim or direction not in _TURNED:
            return None
        bound = self._bound(right, int(direction in ("GT", "LE")))
        return None if bound is None else (direction in ("LT", "LE"), bound)

    def _bound(self, node: Node, more: int) -> Node | None:
        """Return a bound of a slice that is never negative, since a negative one would count from the end; None if
        there is none.
        """
        graph, interval = self.graph, node.interval
        value = integer_value(node)
        if value is not None:
            return graph.integer(max(value + more, 0))
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


def _ends(stretch: Stretch) -> tuple[Affine, Affine] | None:
    """Return the first position and the one behind the last, as sums of counters; None if they depend on data."""
    start, stop = stretch.start, stretch.stop
    if stretch.step is not None or any(bound is not None and not bound.is_python_int for bound in (start, stop)):
        return None
    size = stretch.mask.shape[-1]
    return ({}, 0) if start is None else affine(start), ({}, size) if stop is None else affine(stop)


def _has_elements(stretch: Stretch) -> bool:
    """Return whether a slice, whose bounds are at least 0, has an element for all values of its bounds."""
    ends = _ends(stretch)
    length = combined("subtract", *ends[::-1]) if ends is not None else None
    if ends is None or length is None:
        return False
    return extreme(*length, -1) > 0 and extreme(*ends[0], 1) < stretch.mask.shape[-1]


def _is_positions(node: Node) -> bool:
    return node.opcode == "arange" and node.parameters.keys() == {"stop"}


def _is_multiple(number: Node, of: Node) -> bool:
    """Return whether a Python int is a multiple of another for all values of both."""
    terms, constant = affine(number)
    if not constant and all(term.opcode == "multiply" and of in term.operands for term in terms):
        return True
    others, other = affine(of)
    pairs = [(terms[term], others[term]) for term in terms if term in others] + [(constant, other)] * bool(other)
    is_alike = terms.keys() == others.keys() and (other or not constant)
    return bool(is_alike) and len({divmod(a, b) for a, b in pairs}) == 1 and not pairs[0][0] % pairs[0][1]


def _is_line(part: Node) -> bool:
    """Return whether a vector is all that an array has along one axis, at numbers along the others."""
    index = part.parameters["index"]
    return len(index) == part.operands[0].ndim and index.count(FULL) == 1 and not _has_arrays(part)


def _has_arrays(node: Node) -> bool:
    return any(operand.ndim for operand in node.operands[1:])


def _listed(axes: Any) -> tuple[int, ...]:
    return axes if isinstance(axes, tuple) else (axes,)
