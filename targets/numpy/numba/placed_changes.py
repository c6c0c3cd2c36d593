"""Changes of arrays whose new elements a kernel computes: it may write them where they belong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....transpile.array.affine import affine, combined
from ....transpile.array.node import Node, Slot
from ....transpile.array.value import FULL
from ....transpile.emission.arrangement.assignments import mentions

Item = Any  # of an index: FULL, a number, or the node of one


def writes_in_place(kernel: Node, change: Node, texts: Mapping[Node, str], name: str) -> bool:
    """Tell whether a kernel may write what it computes straight into the part of an array that ``change`` replaces.

    The array is the one called ``name``. What the kernel reads of it is another part, or element by element the one
    that it writes.
    """
    made, target = kernel.parameters["kernel"], index_of(change, 2)
    sizes = [size for item, size in zip(target, change.shape, strict=False) if item == FULL]
    if kernel.results or kernel.shape != (*sizes, *change.shape[len(target) :]) or not _are_places(target):
        return False
    if kernel.element_type is not change.element_type:
        return False
    for parameter, operand in zip(made.function.parameters, kernel.operands, strict=True):
        if not mentions(texts[operand], {name}):
            continue
        if operand.opcode != "getitem" or texts.get(operand.operands[0]) != name:
            return False
        read = index_of(operand, 1)
        if not _are_places(read) or len(read) != len(target):
            return False
        steps = [_step(one, other, size) for one, other, size in zip(read, target, change.shape, strict=False)]
        is_own = all(step == 0 for step in steps) and parameter not in made.whole and parameter.shape == made.loop
        is_apart = any(step not in (0, None) for step in steps)
        if not is_apart and (not is_own or made.by_lines or made.has_loop):
            return False
    return True


def index_of(node: Node, first: int) -> list[Item]:
    """The items of an index, nodes in place of slots; operands from the ``first`` on are places."""
    items = node.parameters["index"]
    return [node.operands[item.index] if isinstance(item, Slot) else item for item in items]


def _are_places(index: Sequence[Item]) -> bool:
    return all(item == FULL or isinstance(item, int | Node) for item in index)


def _step(one: Item, other: Item, size: int) -> int | None:
    """How far two items are apart along an axis; None where nobody knows."""
    if isinstance(one, tuple) or isinstance(other, tuple) or FULL in (one, other):
        return 0 if one == other else None
    left, right = (({}, item % size) if isinstance(item, int) else affine(item) for item in (one, other))
    terms, step = combined("subtract", left, right) or ({one: 1}, 0)
    return None if terms else step
