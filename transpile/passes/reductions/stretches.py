"""Stretches: the neighbours in an array that each element of another combines, and the rules of operations on them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...array.node import Node, Slot, Ufunc
from ...array.operations import RUNNING
from ...array.value import FULL
from ...dataclass import dataclass
from ..to_array.reduction import is_identity


class NoStretch(Exception):
    """The elements of a node do not combine stretches."""


@dataclass(frozen=True, slots=True)
class Stretches:
    """The stretches of a source that the elements of a node combine: from ``start`` to before ``stop``.

    Where both are equal, the element is the literal ``filling``.
    """

    start: np.ndarray
    stop: np.ndarray
    filling: Node | None = None

    def moved(self, move: Callable[[np.ndarray], np.ndarray]) -> Stretches:
        """Return the stretches of reordered or selected elements."""
        return Stretches(move(self.start), move(self.stop), self.filling)

    def filled(self, filling: Node) -> Stretches:
        """Return the same stretches with a literal as filling. Raises NoStretch if they have another filling."""
        if not filling.is_literal or self.filling not in (None, filling):
            raise NoStretch
        return Stretches(self.start, self.stop, filling)


def nothing(shape: tuple[int, ...], filling: Node) -> Stretches:
    """Return empty stretches, filled with a literal. Raises NoStretch for any other filling."""
    zeros = np.zeros(shape, np.int32)
    return Stretches(zeros, zeros).filled(filling)


def called_name(node: Node) -> str:
    """Return the name of a node in ``RULES``: its opcode, or the prelude function."""
    if node.opcode != "prelude":
        return node.opcode
    function = node.parameters["function"]
    return function if isinstance(function, str) else ""


def _combined(opcode: str, one: Stretches, other: Stretches, combined: set[str]) -> Stretches:
    """Return the stretches of a combination: adjacent stretches are joined, and the identity changes nothing."""
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
        raise NoStretch
    joined = both & forth
    start = np.where(empty[0] | (both & ~joined), starts[1], starts[0])
    stop = np.where(empty[1] | (both & ~joined), stops[0], stops[1])
    return Stretches(start, stop, one.filling if one.filling is not None else other.filling)


def _require_neutral(part: Stretches, opcode: str) -> None:
    """Raise NoStretch unless the filling of empty stretches is the identity."""
    if (part.start == part.stop).any() and not (part.filling is not None and is_identity(part.filling, opcode)):
        raise NoStretch


def _run(node: Node, parts: list[Stretches], combined: set[str]) -> Stretches:
    """Return the stretches of a cumulative function, of each element and all before it."""
    (part,) = parts
    axis = node.parameters["axis"]
    _require_neutral(part, node.operation.folds)
    combined.add(node.operation.folds)
    start, stop = (np.moveaxis(array, axis, -1) for array in (part.start, part.stop))
    grown = _grown(start, stop)
    if grown is None:
        turned = _grown(-stop, -start)
        if turned is None:
            raise NoStretch
        grown = (-turned[1], -turned[0])
    first, last = (np.moveaxis(array, -1, axis) for array in grown)
    return Stretches(first, last, part.filling)


def _grown(start: np.ndarray, stop: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the joined stretches up to each element along the last axis; None unless each non-empty stretch begins at
    the end of the one before.
    """
    lowest = np.iinfo(start.dtype).min
    ends = np.maximum.accumulate(np.where(start == stop, lowest, stop), axis=-1)
    ends_before = np.concatenate([np.full_like(ends[..., :1], lowest), ends[..., :-1]], axis=-1)
    if not ((start == stop) | (ends_before == lowest) | (ends_before == start)).all():
        return None
    first = np.where(start == stop, -(lowest + 1), start).min(axis=-1, keepdims=True)
    return np.where(ends == lowest, 0, first), np.where(ends == lowest, 0, ends)


def _windows(node: Node, parts: list[Stretches], combined: set[str]) -> Stretches:
    """Return the stretches of windows of stride 1 along one axis."""
    arguments, keywords = node.parameters["arguments"], node.parameters["keywords"]
    slots_and_more = len(arguments) == 4 and arguments[:2] == (Slot(0), Slot(1)) and isinstance(arguments[2], Ufunc)
    active = [axis for axis, size in enumerate(arguments[3]) if size > 1] if slots_and_more else []
    if len(active) != 1 or not set(keywords) <= {"padding"}:
        raise NoStretch
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
        raise NoStretch

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
        raise NoStretch
    items = (slice(None) if item == FULL else item for item in node.parameters["index"])
    index = tuple(slice(*item) if isinstance(item, tuple) else item for item in items)
    return parts[0].moved(lambda array: array[index])


def _join(node: Node, parts: list[Stretches], combined: set[str]) -> Stretches:
    fillings = {part.filling for part in parts if part.filling is not None}
    if len(fillings) > 1:
        raise NoStretch
    join = np.stack if node.opcode == "stack" else np.concatenate
    start, stop = (join([getattr(part, end) for part in parts], node.parameters["axis"]) for end in ("start", "stop"))
    return Stretches(start, stop, next(iter(fillings), None))


Follow = Callable[[Node, list[Stretches], set[str]], Stretches]

RULES: dict[str, Follow] = {
    **dict.fromkeys(RUNNING, lambda node, parts, combined: _combined(node.opcode, parts[0], parts[1], combined)),
    **dict.fromkeys(RUNNING.values(), _run),
    **dict.fromkeys(("getitem", "expand"), _index),
    **dict.fromkeys(("concatenate", "stack"), _join),
    "pad": _pad,
    "reduce_window": _windows,
    "reshape": lambda node, parts, combined: parts[0].moved(lambda array: array.reshape(node.shape)),
    "transpose": lambda node, parts, combined: parts[0].moved(lambda array: array.transpose(node.parameters["axes"])),
}
