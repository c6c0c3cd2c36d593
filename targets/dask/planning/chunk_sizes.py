"""Chooses the chunk length of each class of axes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from math import prod

from ....transpile.array.node import Node
from ....transpile.array.traversal import body_and_captured
from ..strategies import STRATEGIES
from .axis_classes import Axis, AxisClasses
from .legalize import axes_with_gaps
from .nodes import shape_of

SHORTEST_PIECE = 4096  # bytes of a chunk that should be contiguous in a file
# Chunks of results that malloc reuses. Larger ones get fresh pages, which the system clears first: that can take as
# long as twenty operations.
REUSED_BYTES = 31 << 20

IN_PIECES, WHOLE = 1, 2  # needs of an axis that maps to none of the result: a strategy can divide it, or none can


def choose_chunk_sizes(
    classes: AxisClasses, forced: int | None, target: int, reused: Collection[Node] = ()
) -> dict[Axis, int]:
    """Return the classes of axes to cut, with the lengths of their chunks.

    Axes are cut until no block has more than ``target`` bytes, and no block of the ``reused`` arrays more than
    REUSED_BYTES. If ``forced`` is given, every axis that may be cut has chunks of that many elements instead.
    """
    needs, held = _needs(classes), _held(classes)
    sizes = {
        classes.find(node, axis): size for node in classes.nodes for axis, size in enumerate(shape_of(node)) if size > 1
    }
    if forced is not None:
        lengths = {key: min(forced, n) for key, n in sizes.items() if forced < n and not needs.get(key, 0) >= WHOLE}
    else:
        lengths = {}
        for node in classes.nodes:
            for strategy in STRATEGIES:
                lengths.update(strategy.propose(node, classes, sizes, lengths, needs, target))
        lengths = {key: length for key, length in lengths.items() if key not in held}
        _Halving(classes, sizes, needs, held, lengths, target, reused).run()
    for node in classes.nodes:
        for strategy in STRATEGIES:
            for key, length in strategy.implied(node, classes, lengths):
                lengths.setdefault(key, length)
    return lengths


class _Halving:
    """Shortens the chunks of one class of axes at a time until all blocks are small enough.

    It prefers axes that no node needs whole, then axes that many arrays share which are too large, then the longest.
    """

    def __init__(
        self,
        classes: AxisClasses,
        sizes: Mapping[Axis, int],
        needs: Mapping[Axis, int],
        held: Collection[Axis],
        lengths: dict[Axis, int],
        target: int,
        reused: Collection[Node],
    ) -> None:
        self.sizes, self.needs, self.held, self.lengths = sizes, needs, held, lengths
        self.allowed: dict[Node, int] = {}
        self.keys: dict[Node, list[Axis]] = {}  # the class of each axis
        for node in classes.nodes:
            if node.element_type is None or node.is_python_int:
                continue
            self.allowed[node] = min(target, REUSED_BYTES) if node in reused else target
            self.keys[node] = [classes.find(node, axis) for axis in range(node.ndim)]

    def run(self) -> None:
        """Change ``lengths`` until all blocks are small enough or cannot shrink."""
        while too_large := self._too_large():
            largest = max(too_large, key=lambda node: too_large[node])
            excess, keys = too_large[largest], self.keys[largest]
            open_keys = [
                key
                for key in dict.fromkeys(key for key, n in zip(keys, largest.shape, strict=True) if n > 1)
                if self._length(key) > 1 and key not in self.held
            ]
            if not open_keys:
                return
            costs = {key: self.needs.get(key, 0) + self._scattering(largest, key, excess) for key in open_keys}
            shares = Counter(key for node in too_large for key in set(self.keys[node]))
            best = min(open_keys, key=lambda key: (costs[key], -shares[key], -self._length(key)))
            count = sum(key == best for key, n in zip(keys, largest.shape, strict=True) if n > 1)
            now = self._length(best)
            self.lengths[best] = _rounded(max(1, min(now - 1, int(now / excess ** (1 / count)))))

    def _length(self, key: Axis) -> int:
        return self.lengths.get(key, self.sizes[key])

    def _block(self, node: Node) -> list[int]:
        pairs = zip(node.shape, self.keys[node], strict=True)
        return [min(size, self.lengths.get(key, size)) for size, key in pairs]

    def _too_large(self) -> dict[Node, float]:
        """Return the arrays whose blocks are too large and can shrink, with the factor of the excess."""
        found: dict[Node, float] = {}
        for node, allowed in self.allowed.items():
            block = self._block(node)
            excess = prod(block) * node.type.dtype.itemsize / allowed
            if excess > 1 and any(
                n > 1 and key not in self.held for n, key in zip(block, self.keys[node], strict=True)
            ):
                found[node] = excess
        return found

    def _scattering(self, node: Node, key: Axis, excess: float) -> int:
        """Return the penalty for an axis whose chunks would be stored in many short pieces."""
        block = self._block(node)
        first = next(axis for axis, size in enumerate(block) if size > 1)
        last = max(axis for axis, own in enumerate(self.keys[node]) if own == key)
        piece = prod(block[last:]) / excess * node.type.dtype.itemsize
        return 0 if last == first or piece >= SHORTEST_PIECE else 2


def _rounded(length: int) -> int:
    """Return a length rounded down to a multiple of a power of two, by at most an eighth."""
    unit: int = 1 << max(0, length.bit_length() - 4)
    return length - length % unit


def _held(classes: AxisClasses) -> set[Axis]:
    """Return the axes that loops over the rows of arrays need whole: all but the axis that each loop steps along."""
    found: set[Axis] = set()
    for node, scan in classes.scans.items():
        along = set(scan.axes)
        body, captured = body_and_captured(node)
        parts = [*body, *captured, *(carry.parameter for carry in scan.loop.carries)]
        places = ((part, axis) for part in parts for axis, size in enumerate(shape_of(part)) if size > 1)
        found |= {classes.find(*place) for place in places if place not in along}
    return found - {classes.find(*place) for scan in classes.scans.values() for place in scan.axes}


def _needs(classes: AxisClasses) -> dict[Axis, int]:
    """Return for each class of axes that some node needs whole whether a strategy can divide it (IN_PIECES) or not
    (WHOLE).
    """
    found = dict.fromkeys(_held(classes), WHOLE)
    readers = frozenset(node for scan in classes.scans.values() for node in scan.readers)
    for node in classes.nodes:
        if node.opcode == "item" or node in readers or node in classes.scans:
            continue  # an item needs no more than its call, and a scan reads the positions of its own step
        divided = {axis for strategy in STRATEGIES for axis in strategy.divides(node)} | {*axes_with_gaps(node)}
        for k, (operand, axis_map) in enumerate(zip(node.operands, classes.axis_maps[node], strict=True)):
            for axis, place in enumerate(axis_map):
                if place is None and shape_of(operand)[axis] > 1:
                    key = classes.find(operand, axis)
                    found[key] = max(found.get(key, 0), IN_PIECES if (k, axis) in divided else WHOLE)
    return found
