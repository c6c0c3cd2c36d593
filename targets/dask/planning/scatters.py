"""Scatters into rows or elements: what they are, and their axis maps."""

from __future__ import annotations

from typing import Any

from ....transpile.array.node import Node, Slot
from ....transpile.array.scalars import is_known_on_host
from ....transpile.array.value import FULL


def is_scatter(node: Node) -> bool:
    """``x[i, j] = values`` and its like, with an index for each of the first axes; the operands are ``x``, the values
    and the indices."""
    if node.opcode == "prelude":
        return node.parameters["function"] == "scatter_at" and not node.results
    indices = node.operands[2:]
    is_computed = not all(map(is_known_on_host, indices))
    return node.operation.changes and is_computed and len(first_slots(node)) == len(indices)


def first_slots(node: Node) -> tuple[Slot, ...]:
    """The indices of ``x[i, j, :] = values``; none where these are not all for the first axes."""
    index = node.parameters["index"]
    slots = tuple(item for item in index if isinstance(item, Slot))
    return slots if slots == index[: len(slots)] and set(index[len(slots) :]) <= {FULL} else ()


def combiner(node: Node) -> Any:
    """The function that combines values with what is there; None where they replace it."""
    if node.opcode == "prelude":
        return (*node.parameters["arguments"], None)[3]
    return node.parameters.get("ufunc")


def scatter_axes(node: Node) -> list[tuple[int | None, ...]]:
    """The axes behind those of the indices."""
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
    """Return how many axes of updates there are."""
    return max((index.ndim for index in node.operands[2:]), default=0)
