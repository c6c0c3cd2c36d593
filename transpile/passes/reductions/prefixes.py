"""Running sums, products, maxima and minima that are spelt out: ``x.cumsum(axis)`` for a ladder of slices and sums.

``jax.lax.associative_scan``, shifts by powers of two and XLA's running sums in blocks have in common that every
element combines a stretch of neighbours of one array. So this pass asks for nothing but that: it computes, for every
element of the nodes in between, which stretch of the source it stands for, and replaces the last node where its
elements stand for the stretches from an end to themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from math import prod

import numpy as np

from ...array.graph import Graph
from ...array.live import live_nodes
from ...array.node import Node, Slot, Ufunc
from ...array.operations import RUNNING
from ...array.program import Function, roots
from ...array.rewriting import rewrite
from ...array.support import Support
from ...array.traversal import topological
from ...array.value import FULL, getitem
from ..to_array.elementwise import accumulated_type
from ..to_array.reduction import is_identity

_SHORTEST = 4  # axis that is worth a name
_LARGEST = 1 << 22  # elements to follow
_MOST_NODES = 1000
_MOST_SOURCES = 16


class _NoStretch(Exception):
    """A node whose elements stand for no stretches."""


@dataclass(frozen=True, slots=True)
class Stretches:
    """The stretches of a source that the elements of a node combine: from ``start`` to before ``stop``.

    Where the two are equal stands the literal ``filling``.
    """

    start: np.ndarray
    stop: np.ndarray
    filling: Node | None = None

    def moved(self, move: Callable[[np.ndarray], np.ndarray]) -> Stretches:
        """The elements in another order, or some of them."""
        return Stretches(move(self.start), move(self.stop), self.filling)

    def filled(self, filling: Node) -> Stretches:
        """The same with a literal that moves may add."""
        if not filling.is_literal or self.filling not in (None, filling):
            raise _NoStretch
        return Stretches(self.start, self.stop, filling)


def _nothing(shape: tuple[int, ...], filling: Node) -> Stretches:
    zeros = np.zeros(shape, np.int32)
    return Stretches(zeros, zeros).filled(filling)


@dataclass(frozen=True, slots=True)
class Prefix:
    """A running combination along an axis of a part of the source, or from the end of the part."""

    source: Node
    opcode: str
    axis: int
    part: tuple[int, int]
    is_backwards: bool

    def node(self, graph: Graph) -> Node:
        """The library's own."""
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
    """Raise running combinations of one array to the library's own."""
    graph, live = function.graph, live_nodes(function)
    if not any(map(_begins_one, live.of((*RUNNING.values(), *_MOVED, "prelude")))):
        return
    found: dict[Node, Prefix] = {}
    covered: set[Node] = set()
    for node in reversed(topological(roots(function))):
        if node not in covered and _may_end_one(node):
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


def _may_end_one(node: Node) -> bool:
    """Tell whether a node is worth a closer look: combinations with something moved, and blocks put together, are."""
    if node.element_type is None or not node.shape or not _SHORTEST <= prod(node.shape) <= _LARGEST:
        return False
    outer = node
    while _moves(node):
        node = node.operands[0]
    if _runs(node):
        return node is not outer
    return node.opcode in RUNNING and any(map(_is_piece, node.operands))


def _is_piece(node: Node) -> bool:
    """Something moved, or what runs along blocks."""
    while _moves(node):
        node = node.operands[0]
    return _begins_one(node)


def _begins_one(node: Node) -> bool:
    return _runs(node) or _name(node) in _MOVED


def _moves(node: Node) -> bool:
    """It only moves the elements of one array about, in a way that has a rule."""
    return node.operation.is_view and len(node.operands) == 1 and node.opcode in _RULES


_MOVED = ("pad", "concatenate")


def _runs(node: Node) -> bool:
    """A running combination of the library."""
    return node.opcode in RUNNING.values()


def _rule(node: Node) -> Follow | None:
    """Return what follows of a node, where that is known."""
    return _constant if node.is_literal or node.operation.is_filled else _RULES.get(_name(node))


def _name(node: Node) -> str:
    if node.opcode != "prelude":
        return node.opcode
    function = node.parameters["function"]
    return function if isinstance(function, str) else ""


def _between(node: Node, source: Node | None = None) -> list[Node]:
    """The node and what it combines and moves, down to the source or to what does neither."""
    found: dict[Node, None] = {}
    waiting = [node]
    while waiting and len(found) < _MOST_NODES:
        current = waiting.pop()
        if current is not source and current not in found and _rule(current) is not None:
            found[current] = None
            waiting += current.operands
    return list(found)


def _prefix(node: Node) -> Prefix | None:
    """Return what a node is, where it runs along an axis of a source."""
    for source in islice(_sources(node), _MOST_SOURCES):
        order = _order(node, source)
        for axis in range(node.ndim) if order is not None else ():
            if node.shape[axis] >= _SHORTEST and _without(node.shape, axis) == _without(source.shape, axis):
                try:
                    return _followed(order or [], source, axis)
                except _NoStretch:
                    continue
    return None


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return shape[:axis] + shape[axis + 1 :]


def _sources(node: Node) -> Iterator[Node]:
    """Return what a node may run along: arrays of its type and size, then larger ones, of which it may be a part."""
    between = _between(node)
    candidates = {*between, *(operand for inner in between for operand in inner.operands)} - {node}
    large_enough = [
        source
        for source in candidates
        if source.ndim == node.ndim and all(n >= size for n, size in zip(source.shape, node.shape, strict=True))
    ]
    for source in sorted(large_enough, key=lambda source: (source.shape != node.shape, -source.number)):
        if source.element_type is node.element_type and _rule(source) is not _constant:
            yield source


def _order(node: Node, source: Node) -> list[Node] | None:
    """The nodes from the source to the last one, operands first, where the last needs nothing but the source."""
    order: list[Node] = []
    done = {source}
    stack = [(node, False)]
    while stack:
        current, ready = stack.pop()
        if ready:
            order.append(current)
        elif current not in done:
            done.add(current)
            if _rule(current) is None or len(done) > _MOST_NODES:
                return None
            stack.append((current, True))
            stack += [(operand, False) for operand in current.operands]
    return order


def _followed(order: list[Node], source: Node, axis: int) -> Prefix:
    """The running combination that the last node is; raises _NoStretch where it is none."""
    others = [n for k, n in enumerate(source.shape) if k != axis]
    lines = np.arange(prod(source.shape), dtype=np.int32).reshape(*others, source.shape[axis])
    places = np.moveaxis(lines, -1, axis)
    known = {source: Stretches(places, places + 1)}
    combined: set[str] = set()
    for node in order:
        rule = _rule(node)
        assert rule is not None
        known[node] = rule(node, [known[operand] for operand in node.operands], combined)
    (opcode,) = combined if len(combined) == 1 else ("",)
    if not opcode or (opcode in ("add", "multiply") and accumulated_type(source.type) is not source.type):
        raise _NoStretch
    start, stop = (np.moveaxis(array, axis, -1) for array in (known[order[-1]].start, known[order[-1]].stop))
    size = start.shape[-1]
    offset = int(start.flat[0])
    part = lines[..., offset : offset + size]  # what is run along, if it is a part of the source
    if part.shape == start.shape:
        if np.array_equal(start, np.broadcast_to(part[..., :1], part.shape)) and np.array_equal(stop, part + 1):
            return Prefix(source, opcode, axis, (offset, offset + size), is_backwards=False)
        if np.array_equal(start, part) and np.array_equal(stop, np.broadcast_to(part[..., -1:] + 1, part.shape)):
            return Prefix(source, opcode, axis, (offset, offset + size), is_backwards=True)
    raise _NoStretch


# -- what becomes of stretches, by operation


def _combined(opcode: str, one: Stretches, other: Stretches, combined: set[str]) -> Stretches:
    """Neighbours grow together; the neutral element changes nothing."""
    starts = np.broadcast_arrays(one.start, other.start)
    stops = np.broadcast_arrays(one.stop, other.stop)
    empty = [start == stop for start, stop in zip(starts, stops, strict=True)]
    for part in (one, other):
        _require_neutral(part, opcode)
    both = ~(empty[0] | empty[1])
    if both.any():
        combined.add(opcode)
    forth, back = stops[0] == starts[1], stops[1] == starts[0]
    if len(combined) > 1 or not (forth | back)[both].all():
        raise _NoStretch
    joined = both & forth
    start = np.where(empty[0] | (both & ~joined), starts[1], starts[0])
    stop = np.where(empty[1] | (both & ~joined), stops[0], stops[1])
    return Stretches(start, stop, one.filling if one.filling is not None else other.filling)


def _require_neutral(part: Stretches, opcode: str) -> None:
    """Require that nothing but the neutral element stands where the stretches are empty."""
    if (part.start == part.stop).any() and not (part.filling is not None and is_identity(part.filling, opcode)):
        raise _NoStretch


def _combine(node: Node, parts: list[Stretches], combined: set[str]) -> Stretches:
    return _combined(node.opcode, parts[0], parts[1], combined)


def _run(node: Node, parts: list[Stretches], combined: set[str]) -> Stretches:
    """Return the combination of each element with all before it."""
    (part,) = parts
    axis = node.parameters["axis"]
    _require_neutral(part, node.operation.folds)
    combined.add(node.operation.folds)
    start, stop = (np.moveaxis(array, axis, -1) for array in (part.start, part.stop))
    grown = _grown(start, stop)
    if grown is None:
        turned = _grown(-stop, -start)
        if turned is None:
            raise _NoStretch
        grown = (-turned[1], -turned[0])
    first, last = (np.moveaxis(array, -1, axis) for array in grown)
    return Stretches(first, last, part.filling)


def _grown(start: np.ndarray, stop: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Along the last axis: the stretches up to each, where each one that is not empty begins at the end of the last."""
    lowest = np.iinfo(start.dtype).min
    ends = np.maximum.accumulate(np.where(start == stop, lowest, stop), axis=-1)
    ends_before = np.concatenate([np.full_like(ends[..., :1], lowest), ends[..., :-1]], axis=-1)
    if not ((start == stop) | (ends_before == lowest) | (ends_before == start)).all():
        return None
    first = np.where(start == stop, -(lowest + 1), start).min(axis=-1, keepdims=True)
    return np.where(ends == lowest, 0, first), np.where(ends == lowest, 0, ends)


def _windows(node: Node, parts: list[Stretches], combined: set[str]) -> Stretches:
    """A window of stride 1 along one axis."""
    arguments, keywords = node.parameters["arguments"], node.parameters["keywords"]
    slots_and_more = len(arguments) == 4 and arguments[:2] == (Slot(0), Slot(1)) and isinstance(arguments[2], Ufunc)
    active = [axis for axis, size in enumerate(arguments[3]) if size > 1] if slots_and_more else []
    if len(active) != 1 or not set(keywords) <= {"padding"}:
        raise _NoStretch
    (axis,) = active
    padding = keywords.get("padding", ((0, 0),) * node.ndim)
    padded = _padded(parts[0], node.operands[1], padding, (0,) * node.ndim)
    result = None
    for first in range(arguments[3][axis]):
        index = [slice(None)] * node.ndim
        index[axis] = slice(first, first + node.shape[axis])
        piece = padded.moved(lambda array, index=tuple(index): array[index])  # type: ignore[misc]
        result = piece if result is None else _combined(arguments[2].opcode, result, piece, combined)
    assert result is not None
    return result


def _padded(part: Stretches, filling: Node, padding: object, interior: tuple[int, ...]) -> Stretches:
    pairs = np.asarray(padding)
    if (pairs < 0).any():
        raise _NoStretch

    def padded(array: np.ndarray) -> np.ndarray:
        spread = [n + max(n - 1, 0) * gap for n, gap in zip(array.shape, interior, strict=True)]
        wide = np.zeros([low + n + high for n, (low, high) in zip(spread, pairs, strict=True)], array.dtype)
        inside = (slice(low, low + n, gap + 1) for n, (low, _), gap in zip(spread, pairs, interior, strict=True))
        wide[tuple(inside)] = array
        return wide

    return part.filled(filling).moved(padded)


def _pad(node: Node, parts: list[Stretches], combined: set[str]) -> Stretches:
    if node.opcode == "pad":
        return _padded(parts[0], node.operands[1], node.parameters["widths"], (0,) * node.ndim)
    arguments, keywords = node.parameters["arguments"], node.parameters["keywords"]
    return _padded(parts[0], node.operands[1], arguments[2], keywords.get("interior", (0,) * node.ndim))


def _index(node: Node, parts: list[Stretches], combined: set[str]) -> Stretches:
    if len(parts) != 1:
        raise _NoStretch
    items = (slice(None) if item == FULL else item for item in node.parameters["index"])
    index = tuple(slice(*item) if isinstance(item, tuple) else item for item in items)
    return parts[0].moved(lambda array: array[index])


def _join(node: Node, parts: list[Stretches], combined: set[str]) -> Stretches:
    fillings = {part.filling for part in parts if part.filling is not None}
    if len(fillings) > 1:
        raise _NoStretch
    join = np.stack if node.opcode == "stack" else np.concatenate
    start, stop = (join([getattr(part, end) for part in parts], node.parameters["axis"]) for end in ("start", "stop"))
    return Stretches(start, stop, next(iter(fillings), None))


def _constant(node: Node, parts: list[Stretches], combined: set[str]) -> Stretches:
    return _nothing(node.shape, node if node.is_literal else node.operands[0])


Follow = Callable[[Node, list[Stretches], set[str]], Stretches]

_RULES: dict[str, Follow] = {
    **dict.fromkeys(RUNNING, _combine),
    **dict.fromkeys(RUNNING.values(), _run),
    **dict.fromkeys(("getitem", "expand"), _index),
    **dict.fromkeys(("concatenate", "stack"), _join),
    "pad": _pad,
    "reduce_window": _windows,
    "reshape": lambda node, parts, combined: parts[0].moved(lambda array: array.reshape(node.shape)),
    "transpose": lambda node, parts, combined: parts[0].moved(lambda array: array.transpose(node.parameters["axes"])),
}
