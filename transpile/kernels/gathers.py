"""Gathers: operations that read an array at computed indices, element by element.

A kernel computes the indices of an element like any other value, and reads one element of the array.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from ..array.node import Node, Slot
from ..array.value import FULL
from ..dataclass import dataclass
from ..hlo.element_types import S32, S64, ElementType
from .index_maps import ANYWHERE, Index, Map

_MOST_ELEMENTS = 2**31  # an index that counts from the end is added up in 32 bits
_TYPES = frozenset("s8 s16 s32 s64 u8 u16 u32".split())


@dataclass(frozen=True, slots=True)
class Gather:
    """An operation that reads ``array`` at computed indices.

    ``indices`` has the computed index for axes of the array. ``kept`` has for each axis of the array the axis of the
    result, None if the index is computed. Indices are broadcast to the axes ``first`` to ``first + count`` of the
    result. Indices are clamped if ``is_clamped``, else negative ones count from the end. ``fill``, if given, replaces
    elements out of bounds.
    """

    array: Node
    indices: Mapping[int, Node]
    kept: tuple[int | None, ...]
    first: int
    count: int
    is_clamped: bool = False
    fill: Any = None

    def read_at(self, at: Map) -> list[tuple[Node, Map]]:
        """Return what is read if the operation is computed at ``at``, and where: the array anywhere, then its
        indices.
        """
        batch = at[self.first : self.first + self.count]
        return [(self.array, ANYWHERE), *((index, _aligned(index, batch)) for index in self.indices.values())]

    def array_at(self, at: Map) -> Map:
        """Return where the array is read if the operation is computed at ``at``; 0 along axes with computed indices."""
        return tuple(Index() if axis is None else at[axis] for axis in self.kept)


def _aligned(index: Node, batch: Map) -> Map:
    own = batch[len(batch) - index.ndim :]
    return tuple(Index() if size == 1 else place for size, place in zip(index.shape, own, strict=True))


def index_type(index: Node) -> ElementType:
    """Return the type in which an index is computed: signed, and not narrower than its own."""
    return S64 if index.type.name in ("s64", "u32") else S32


def is_within(index: Node, low: int, stop: int) -> bool:
    """Return whether an index is known to be in ``low <= index < stop``."""
    return index.interval is not None and low <= index.interval[0] and index.interval[1] < stop


def counted_axis(index: Node, size: int, count: int) -> int | None:
    """Return the axis, of the ``count`` axes that indices are broadcast to, along which an index is ``arange(size)``;
    None for any other index.
    """
    longer = [axis for axis, length in enumerate(index.shape) if length != 1]
    source = index.operands[0] if index.opcode == "expand" else index
    is_whole = source.opcode == "arange" and source.ndim == 1 and source.shape == (size,) and len(longer) == 1
    return longer[0] + count - index.ndim if is_whole else None


def gather_of(node: Node) -> Gather | None:
    """Return the gather that an operation is; None for any other operation, and for gathers that kernels do not
    support.
    """
    found = _FORMS[node.opcode](node) if node.opcode in _FORMS else None
    if found is None or not 0 < prod(found.array.shape) < _MOST_ELEMENTS:
        return None
    known = all(i.element_type is not None and not i.is_python_int for i in found.indices.values())
    if not known or any(index.type.name not in _TYPES for index in found.indices.values()):
        return None
    return None if found.array.element_type is None or found.array.operation.is_generated else found


def _take(node: Node) -> Gather:
    (x, index), axis = node.operands, node.parameters["axis"]
    return _along(x, index, axis, is_clamped=node.parameters["clamped"])


def _along(x: Node, index: Node, axis: int, **how: Any) -> Gather:
    behind = index.ndim - 1
    kept = tuple(None if k == axis else k + behind * (k > axis) for k in range(x.ndim))
    return Gather(x, {axis: index}, kept, axis, index.ndim, **how)


def _take_along_axis(node: Node) -> Gather | None:
    (x, index), axis = node.operands, node.parameters["axis"]
    if index.ndim != x.ndim or any(x.shape[k] != node.shape[k] for k in range(x.ndim) if k != axis):
        return None
    return Gather(x, {axis: index}, tuple(None if k == axis else k for k in range(x.ndim)), 0, node.ndim)


def _advanced_index(node: Node) -> Gather | None:
    x, *indices = node.operands
    items = node.parameters["index"]
    first = next((k for k, item in enumerate(items) if item != FULL), 0)
    end = first + len(indices)
    if items != (FULL,) * first + tuple(map(Slot, range(1, len(items) - first + 1))) or len(items) != end:
        return None
    return _several(node, x, indices, first)


def _several(node: Node, x: Node, indices: list[Node], first: int, **how: Any) -> Gather:
    count, end = node.ndim - (x.ndim - len(indices)), first + len(indices)
    kept = tuple(k if k < first else None if k < end else k - len(indices) + count for k in range(x.ndim))
    return Gather(x, {first + k: index for k, index in enumerate(indices)}, kept, first, count, **how)


def _prelude(node: Node) -> Gather | None:
    function, keywords = node.parameters["function"], node.parameters["keywords"]
    if function not in ("take_or_fill", "get_or_fill") or (node.type.is_integral and "fill" not in keywords):
        return None
    x, *indices = node.operands
    fill = keywords.get("fill", float("nan"))
    slots = tuple(map(Slot, range(len(node.operands))))
    arguments = node.parameters["arguments"]
    if function == "take_or_fill":
        return _along(x, indices[0], keywords.get("axis", 0), fill=fill) if arguments == slots else None
    return _several(node, x, indices, 0, fill=fill) if arguments == (Slot(0), slots[1:]) else None


_FORMS = {"take": _take, "take_along_axis": _take_along_axis, "advanced_index": _advanced_index, "prelude": _prelude}
