"""Scatters into rows or elements: which axes are alike, and along which there are forms in chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...transpile.array.node import Node, Slot, Ufunc
from ...transpile.array.scalars import is_known_on_host
from ...transpile.array.value import FULL

COMBINED_IN_PARTS = frozenset("add multiply maximum minimum and or xor".split())


def is_scatter(node: Node) -> bool:
    """``x[i, j] = values`` and its like, with an index for each of the first axes; the operands are ``x``, the values
    and the indices."""
    if node.opcode == "prelude":
        return node.parameters["function"] == "scatter_at" and not node.results
    indices = node.operands[2:]
    is_computed = not all(map(is_known_on_host, indices))
    return node.opcode in ("setitem", "update_at") and is_computed and len(_slots(node)) == len(indices)


def _slots(node: Node) -> tuple[Slot, ...]:
    """The indices of ``x[i, j, :] = values``; none where these are not all for the first axes."""
    index = node.parameters["index"]
    slots = tuple(item for item in index if isinstance(item, Slot))
    return slots if slots == index[: len(slots)] and set(index[len(slots) :]) <= {FULL} else ()


def combiner(node: Node) -> Any:
    """The function that combines values with what is there; None where they replace it."""
    if node.opcode == "prelude":
        return (*node.parameters["arguments"], None)[3]
    return node.parameters.get("ufunc")


def scatter_links(node: Node) -> list[tuple[int | None, ...]]:
    """The axes behind those of the indices."""
    x, values, *indices = node.operands
    first, batch = len(indices), _batch(node)
    offset = batch + x.ndim - first - values.ndim
    behind: list[int | None] = []
    for axis, size in enumerate(values.shape):
        place = axis + offset - batch + first
        behind.append(place if axis + offset >= batch and size == node.shape[place] else None)
    own = tuple(None if axis < first else axis for axis in range(x.ndim))
    return [own, tuple(behind), *((None,) * index.ndim for index in indices)]


def updates_alike(node: Node) -> Iterator[Sequence[tuple[int, int]]]:
    """For each axis along which there are updates: that of the values and those of the indices."""
    if not is_scatter(node):
        return
    x, values, *indices = node.operands
    count, behind = _batch(node), x.ndim - len(indices)
    for at in range(count):
        ends = [(1, values.ndim - behind - count + at)]
        ends += [(2 + k, index.ndim - count + at) for k, index in enumerate(indices)]
        found = [(k, axis) for k, axis in ends if axis >= 0 and node.operands[k].shape[axis] > 1]
        if found:
            yield found


def updates(node: Node) -> dict[tuple[int, int], int | None]:
    """The axes of updates, where each chunk of them can be scattered into an array of its own: these are combined,
    which rounds otherwise than to combine one update after the other."""
    ufunc, element_type = combiner(node) if is_scatter(node) else None, node.element_type
    if not isinstance(ufunc, Ufunc) or ufunc.opcode not in COMBINED_IN_PARTS or element_type is None:
        return {}
    if element_type.bits < (32 if element_type.is_floating else 8) and element_type.name != "pred":
        return {}
    return {place: None for alike in updates_alike(node) for place in alike}


def rows_and_updates(node: Node) -> dict[tuple[int, int], int | None]:
    """The first axis of the array, and the axes of updates: the first where they must stay in order."""
    if not is_scatter(node):
        return {}
    return {(0, 0): 0, **(updates(node) or dict.fromkeys(next(updates_alike(node), ())))}


def scatter_call(node: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of ``scatter_at``."""
    if node.opcode == "prelude":
        return node.parameters["arguments"], node.parameters["keywords"]
    index, combine = _slots(node), combiner(node)
    where = index if len(index) > 1 else index[0]
    return (Slot(0), where, Slot(1), *([combine] if combine is not None else [])), {}


def _batch(node: Node) -> int:
    """How many axes of updates there are."""
    return max((index.ndim for index in node.operands[2:]), default=0)
