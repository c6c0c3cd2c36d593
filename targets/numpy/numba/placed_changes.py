"""Changes of arrays whose new elements a kernel computes: it may write them where they belong."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any

from ....transpile.array.affine import affine, combined, extreme
from ....transpile.array.node import Node, Slot
from ....transpile.array.program import tree_nodes
from ....transpile.array.value import FULL
from ....transpile.emission.arrangement.assignments import mentions
from ....transpile.kernels.intervals import Bounds, LineIntervals
from ....transpile.kernels.kernel import Kernel

Item = Any  # of an index: FULL, a number, or the node of one


def written_in_place(kernel: Node, change: Node, texts: Mapping[Node, str], name: str) -> list[Node] | None:
    """Return the parameters of a kernel that are the part of an array that ``change`` replaces, if what it computes may
    be written there at once; None where it may not.

    The array is the one called ``name``. What the kernel reads of it is another part, or element by element the one
    that it writes.
    """
    found: list[Node] = []
    made, target = kernel.parameters["kernel"], index_of(change, 2)
    sizes = [size for item, size in zip(target, change.shape, strict=False) if item == FULL]
    if kernel.results or kernel.shape != (*sizes, *change.shape[len(target) :]) or not _are_places(target):
        return None
    if kernel.element_type is not change.element_type:
        return None
    for parameter, operand in zip(made.function.parameters, kernel.operands, strict=True):
        if not mentions(texts[operand], {name}):
            continue
        if operand.opcode != "getitem" or texts.get(operand.operands[0]) != name:
            return None
        read = index_of(operand, 1)
        if not _are_places(read) or len(read) != len(target):
            return None
        steps = [_step(one, other, size) for one, other, size in zip(read, target, change.shape, strict=False)]
        is_own = all(step == (0, 0) for step in steps) and parameter not in made.whole and parameter.shape == made.loop
        is_apart = any(least > 0 or most < 0 for least, most in steps)
        if not is_apart and (not is_own or made.by_lines or made.has_loop):
            return None
        found += [parameter] if is_own else []
    return found


def cut(kernel: Kernel, old: Container[Node]) -> tuple[Kernel, dict[int, Bounds]]:
    """Return a kernel for those elements alone that are not what is in their place already, the parameters ``old``, and
    between which bounds these are along axes of its loop.
    """
    function, (result,) = kernel.function, tree_nodes(kernel.function.results)
    within: dict[int, Bounds] = {}
    for axis in range(len(kernel.loop)) if not kernel.by_lines else ():
        if result.opcode == "select" and result.operands[2] in old:
            result, bounds = LineIntervals(function.graph, kernel.loop, axis).chosen(result)
            within |= {axis: bounds} if bounds else {}
    return (replace(kernel, function=replace(function, results=(result,))), within) if within else (kernel, {})


def index_of(node: Node, first: int) -> list[Item]:
    """The items of an index, nodes in place of slots; operands from the ``first`` on are places."""
    items = node.parameters["index"]
    return [node.operands[item.index] if isinstance(item, Slot) else item for item in items]


def _are_places(index: Sequence[Item]) -> bool:
    return all(item == FULL or isinstance(item, int | Node) for item in index)


def _step(one: Item, other: Item, size: int) -> tuple[float, float]:
    """How far one item is behind another along an axis, at least and at most."""
    if isinstance(one, tuple) or isinstance(other, tuple) or FULL in (one, other):
        return (0, 0) if one == other else (-inf, inf)
    left, right = (({}, item % size) if isinstance(item, int) else affine(item) for item in (one, other))
    terms, step = combined("subtract", left, right) or ({one: 1}, 0)
    if any(node.interval is None for node in terms):
        return -inf, inf
    return extreme(terms, step, -1), extreme(terms, step, 1)
