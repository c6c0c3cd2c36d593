"""Rewrites of reads and writes at computed positions to forms that chunked functions exist for.

A read is split into reads along one axis each; a write becomes a slice update of the array's rank.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...transpile.array.graph import Graph
from ...transpile.array.node import Node, Slot
from ...transpile.array.rewriting import prelude_call
from ...transpile.array.scalars import is_known_on_host
from ...transpile.array.value import FULL, NEW, filled, getitem
from .planning.chunks import Chunks
from .planning.scatters import is_scatter

Operands = tuple[Node, ...]


def slot_of(item: Any) -> Slot | None:
    """Return the operand that gives the number or the start of an item of an index; None if the item has no operand."""
    start = item[0] if isinstance(item, tuple) else item
    return start if isinstance(start, Slot) else None


def is_read_along_several(node: Node, chunks: Chunks) -> bool:
    """Return whether ``x[i, j : j + 4]`` indexes several axes, and needs an axis whole that is cut."""
    items = [item for item in node.parameters["index"] if item != FULL]
    return len(items) > 1 and _are_computed(node.operands[1:]) and bool(chunks.unmet(node))


def is_slice_written(node: Node, chunks: Chunks) -> bool:
    """Return whether ``x[i, j : j + 4] = value`` needs an axis whole that is cut.

    ``x[i, j] = value`` is a scatter of one element, which may be cut along the first axis.
    """
    is_plain = all(item == FULL or slot_of(item) is not None or isinstance(item, int) for item in _items(node))
    if not is_plain or not _are_computed(node.operands[2:]):
        return False
    unmet = chunks.unmet(node)
    return bool(unmet - {(0, 0)}) if is_scatter(node) else bool(unmet)


def _are_computed(places: Operands) -> bool:
    """Return whether all positions are scalars, and at least one of them is an array in ``main``."""
    return not any(place.ndim for place in places) and not all(map(is_known_on_host, places))


def _items(node: Node) -> list[Any]:
    """Return the items of an index, one for each axis."""
    x, items = node.operands[0], node.parameters["index"]
    return [*items, *[FULL] * (x.ndim - len(items))]


def read_one_by_one(graph: Graph, node: Node, operands: Operands) -> Node:
    """Return ``x[i, j : j + 4]`` as ``x[i][j : j + 4]``."""
    x, items = operands[0], node.parameters["index"]
    x = getitem(graph, x, [item if slot_of(item) is None else FULL for item in items])
    axis = 0
    for item in items:
        slot = slot_of(item)
        if slot is not None:
            own = (Slot(1), item[1]) if isinstance(item, tuple) else Slot(1)
            x = graph.add("getitem", (x, operands[slot.index]), index=(FULL,) * axis + (own,))
        axis += not isinstance(item, int | Slot)
    return x


def written_as_slice(graph: Graph, node: Node, operands: Operands) -> Node:
    """Return ``x[i, j : j + 4] = value`` as ``dynamic_update_slice(x, value[None], (i, j))``."""
    x, value, *places = operands
    items, kept = _items(node), tuple(_sizes_written(node))
    if value.shape != kept:
        value = filled(graph, value, kept) if value.is_literal else graph.add("broadcast_to", (value,), shape=kept)
    value = getitem(graph, value, [NEW if isinstance(item, int | Slot) else FULL for item in items])
    starts = tuple(_start(item) for item in items)
    arguments = (Slot(0), Slot(1), starts)
    return prelude_call(graph, "dynamic_update_slice", (x, value, *places), arguments, interval=node.interval)


def _sizes_written(node: Node) -> Iterator[int]:
    """Yield the written size of each axis that is not indexed by a single number."""
    for item, n in zip(_items(node), node.shape, strict=True):
        if item == FULL or isinstance(item, tuple):
            yield item[1] if isinstance(item, tuple) else n


def _start(item: Any) -> Any:
    """Return the start of an item of an index: a number or an operand."""
    if item == FULL:
        return 0
    return item[0] if isinstance(item, tuple) else item
