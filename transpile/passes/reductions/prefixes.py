"""Cumulative sums, products, maxima and minima that are written out: ``x.cumsum(axis)`` for a ladder of slices and
sums.

In ``jax.lax.associative_scan``, in shifts by powers of two and in XLA's blocked running sums, every element combines a
stretch of neighbours of one array. This pass relies only on that: it computes, for every element of the nodes in
between, the stretch of the source that it combines, and replaces the last node if each of its elements combines the
stretch from one end to itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import prod

import numpy as np

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node
from ...array.operations import RUNNING
from ...array.program import Function, roots
from ...array.rewriting import rewrite
from ...array.support import Support
from ...array.traversal import topological
from ...array.value import FULL, getitem
from ...dataclass import dataclass
from ..to_array.elementwise import accumulated_type
from .stretches import RULES, NoStretch, Stretches, called_name, nothing

_SHORTEST = 4  # elements of an axis for which a cumulative call pays
LARGEST = 1 << 22  # elements to follow; larger scans are found by their form (special_functions/scans.py)
_MOST_NODES = 1000
_MOST_SOURCES = 16


@dataclass(frozen=True, slots=True)
class Prefix:
    """A cumulative combination along an axis of a part of the source, from the start or the end of the part."""

    source: Node
    opcode: str
    axis: int
    part: tuple[int, int]
    is_backwards: bool

    def node(self, graph: Graph) -> Node:
        """Return the node of the library's cumulative function."""
        source = graph.current(self.source)
        size, (start, stop) = source.shape[self.axis], self.part
        if self.part != (0, size):
            part = (start or None, stop if stop < size else None, None)
            source = getitem(graph, source, self._index(source, part))
        flip = self._index(source, (None, None, -1))
        source = getitem(graph, source, flip) if self.is_backwards else source
        made = graph.add(RUNNING[self.opcode], (source,), axis=self.axis)
        return getitem(graph, made, flip) if self.is_backwards else made

    def _index(self, node: Node, item: tuple[int | None, ...]) -> list[object]:
        return [item if axis == self.axis else FULL for axis in range(node.ndim)]


def prefixes(function: Function, supports: Support) -> None:
    """Raise cumulative combinations of one array to the library's functions."""
    graph, live = function.graph, live_nodes(function)
    if not any(map(_begins_one, live.of((*RUNNING.values(), *_MOVED, "prelude")))):
        return
    found: dict[Node, Prefix] = {}
    covered: set[Node] = set()
    for node in reversed(topological(roots(function))):
        if node not in covered and _may_end_one(node, live):
            prefix = _prefix(node)
            if prefix is not None:
                found[node] = prefix
                covered |= set(_between(node, prefix.source))

    def rule(node: Node) -> Node | None:
        if node not in found:
            return None
        return found[node].node(graph)

    if found:
        rewrite(function, {node.opcode for node in found}, rule, supports)


def _may_end_one(node: Node, live: LiveNodes) -> bool:
    """Return whether a node may be a cumulative combination: it combines moved values, or joins blocks.

    A part of a cumulative array is not one if others use that array too, since it would be computed twice.
    """
    if node.element_type is None or not node.shape or prod(node.shape) < _SHORTEST:
        return False
    outer = node
    while _moves(node):
        node = node.operands[0]
    if _runs(node):
        return node is not outer and live.count(node) == 1
    return node.opcode in RUNNING and any(map(_is_piece, node.operands))


def _is_piece(node: Node) -> bool:
    """Return whether a node is moved from a pad, a concatenation or a cumulative array."""
    while _moves(node):
        node = node.operands[0]
    return _begins_one(node)


def _begins_one(node: Node) -> bool:
    return _runs(node) or called_name(node) in _MOVED


def _moves(node: Node) -> bool:
    """Return whether a node only moves the elements of one array, in a way that has a rule."""
    return node.operation.is_view and len(node.operands) == 1 and node.opcode in RULES


_MOVED = ("pad", "concatenate")


def _runs(node: Node) -> bool:
    """Return whether a node is a cumulative function of the library."""
    return node.opcode in RUNNING.values()


def _is_constant(node: Node) -> bool:
    return node.is_literal or node.operation.is_filled


def _is_followed(node: Node) -> bool:
    """Return whether the stretches of a node can be derived."""
    return _is_constant(node) or called_name(node) in RULES


def _between(node: Node, source: Node | None = None) -> list[Node]:
    """Return the node and the nodes that it combines and moves, down to the source or to other operations."""
    found: dict[Node, None] = {}
    waiting = [node]
    while waiting and len(found) < _MOST_NODES:
        current = waiting.pop()
        if current is not source and current not in found and _is_followed(current):
            found[current] = None
            waiting += current.operands
    return list(found)


def _prefix(node: Node) -> Prefix | None:
    """Return the cumulative combination of a source that a node is, or None."""
    for source in islice(_sources(node), _MOST_SOURCES):
        order = _order(node, source)
        for axis in range(node.ndim) if order is not None else ():
            if node.shape[axis] >= _SHORTEST and _without(node.shape, axis) == _without(source.shape, axis):
                try:
                    return _followed(order or [], source, axis)
                except NoStretch:
                    continue
    return None


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return shape[:axis] + shape[axis + 1 :]


def _sources(node: Node) -> Iterator[Node]:
    """Yield the arrays that a node may accumulate: of its type and size, then larger ones, of which it may be a
    part.
    """
    between = _between(node)
    candidates = {*between, *(operand for inner in between for operand in inner.operands)} - {node}
    large_enough = [
        source
        for source in candidates
        if source.ndim == node.ndim and all(n >= size for n, size in zip(source.shape, node.shape, strict=True))
    ]
    for source in sorted(large_enough, key=lambda source: (source.shape != node.shape, -source.number)):
        if source.element_type is node.element_type and not _is_constant(source):
            yield source


def _order(node: Node, source: Node) -> list[Node] | None:
    """Return the nodes from the source to the last one, operands first; None if the last needs other arrays."""
    order: list[Node] = []
    done = {source}
    stack = [(node, False)]
    while stack:
        current, ready = stack.pop()
        if ready:
            order.append(current)
        elif current not in done:
            done.add(current)
            if not _is_followed(current) or len(done) > _MOST_NODES:
                return None
            stack.append((current, True))
            stack += [(operand, False) for operand in current.operands]
    return order


def _followed(order: list[Node], source: Node, axis: int) -> Prefix:
    """Return the cumulative combination that the last node is. Raises NoStretch if it is none.

    If nothing happens along the other axes, one line stands for all.
    """
    has_equal_lines = all(_keeps_lines(node, axis, source) for node in order)

    def shape_of(node: Node) -> tuple[int, ...]:
        has_axis = node.ndim == source.ndim
        return tuple(n if not has_equal_lines or (has_axis and k == axis) else 1 for k, n in enumerate(node.shape))

    shape = shape_of(source)
    if prod(shape) > LARGEST:
        raise NoStretch
    lines = np.arange(prod(shape), dtype=np.int32).reshape(*_without(shape, axis), shape[axis])
    places = np.moveaxis(lines, -1, axis)
    known = {source: Stretches(places, places + 1)}
    combined: set[str] = set()
    for node in order:
        if _is_constant(node):
            known[node] = nothing(shape_of(node), node if node.is_literal else node.operands[0])
        else:
            known[node] = RULES[called_name(node)](node, [known[operand] for operand in node.operands], combined)
    (opcode,) = combined if len(combined) == 1 else ("",)
    if not opcode or (opcode in ("add", "multiply") and accumulated_type(source.type) is not source.type):
        raise NoStretch
    start, stop = (np.moveaxis(array, axis, -1) for array in (known[order[-1]].start, known[order[-1]].stop))
    size = start.shape[-1]
    offset = int(start.flat[0])
    part = lines[..., offset : offset + size]  # the accumulated part of the source
    if part.shape == start.shape:
        if np.array_equal(start, np.broadcast_to(part[..., :1], part.shape)) and np.array_equal(stop, part + 1):
            return Prefix(source, opcode, axis, (offset, offset + size), is_backwards=False)
        if np.array_equal(start, part) and np.array_equal(stop, np.broadcast_to(part[..., -1:] + 1, part.shape)):
            return Prefix(source, opcode, axis, (offset, offset + size), is_backwards=True)
    raise NoStretch


def _keeps_lines(node: Node, axis: int, source: Node) -> bool:
    """Return whether a node has the lines of the source along an axis, each with any number of elements or reduced to
    one. Scalars count too.
    """
    if not node.shape:
        return True
    shape = _without(node.shape, axis) if node.ndim == source.ndim else node.shape
    if shape != _without(source.shape, axis):
        return False
    if _is_constant(node):
        return True
    if any(operand.shape and operand.ndim != node.ndim for operand in node.operands):
        if node.opcode == "stack":
            return bool(node.parameters["axis"] == axis)
        places = enumerate(node.parameters.get("index", ()))
        is_index = node.opcode in ("getitem", "expand")
        return is_index and all(item == FULL or (k == axis and not isinstance(item, tuple)) for k, item in places)
    return _changed_axes(node) <= ({axis} if node.ndim == source.ndim else set())


def _changed_axes(node: Node) -> set[int]:
    """Return the axes along which elements of a node differ from those of its operands at the same positions."""
    if node.opcode in RUNNING:
        return set()
    if node.opcode == "getitem":
        return {axis for axis, item in enumerate(node.parameters["index"]) if item != FULL}
    if node.opcode == "concatenate" or _runs(node):
        return {node.parameters["axis"]}
    if called_name(node) == "reduce_window":
        return {axis for axis, size in enumerate(node.parameters["arguments"][3]) if size > 1}
    if called_name(node) == "pad":
        widths = node.parameters["widths"] if node.opcode == "pad" else node.parameters["arguments"][2]
        return {axis for axis, width in enumerate(widths) if any(width)}
    return set(range(node.ndim))
