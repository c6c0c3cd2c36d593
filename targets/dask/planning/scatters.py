"""Scatters into rows or elements, and their axis maps."""

from __future__ import annotations

from typing import Any

from ....transpile.array.node import Node, Slot
from ....transpile.array.scalars import is_known_on_host
from ....transpile.array.value import FULL


def is_scatter(node: Node) -> bool:
    """Return whether a node is a scatter such as ``x[i, j] = values``, with an index for each of the leading axes. Its
    operands are ``x``, the values and the indices.
    """
    if node.opcode == "prelude":
        return node.parameters["function"] == "scatter_at" and not node.results
    indices = node.operands[2:]
    is_computed = not all(map(is_known_on_host, indices))
    return node.operation.changes and is_computed and len(first_slots(node)) == len(indices)


def first_slots(node: Node) -> tuple[Slot, ...]:
    """Return the indices of ``x[i, j, :] = values``; none if they are not those of the leading axes."""
    index = node.parameters["index"]
    slots = tuple(item for item in index if isinstance(item, Slot))
    return slots if slots == index[: len(slots)] and set(index[len(slots) :]) <= {FULL} else ()


def combiner(node: Node) -> Any:
    """Return the function that combines values with the elements of the array; None if values replace elements."""
    if node.opcode == "prelude":
        return (*node.parameters["arguments"], None)[3]
    return node.parameters.get("ufunc")


def scatter_axes(node: Node) -> list[tuple[int | None, ...]]:
    """Return the axis maps of a scatter: only the axes behind the indexed ones are shared."""
    x, values, *indices = node.operands
    first, batch = len(indices), count_of_update_axes(node)
    offset = batch + x.ndim - first - values.ndim
    behind: list[int | None] = []
    for axis, size in enumerate(values.shape):
        place = axis + offset - batch + first
        behind.append(place if axis + offset >= batch and size == node.shape[place] else None)
    own = tuple(None if axis < first else axis for axis in range(x.ndim))
    return [own, tuple(behind), *((None,) * index.ndim for index in indices)]


def count_of_update_axes(node: Node) -> int:
    """Return the number of axes of the updates."""
    return max((index.ndim for index in node.operands[2:]), default=0)
