"""Changes of arrays whose new elements a kernel computes: it may write them where they belong."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from math import gcd, inf
from typing import Any

from ....transpile.array.affine import Affine, affine, combined, extreme, integer_value
from ....transpile.array.node import Node, Slot
from ....transpile.array.program import tree_nodes
from ....transpile.array.traversal import topological
from ....transpile.array.value import FULL
from ....transpile.emission.arrangement.assignments import mentions
from ....transpile.kernels.index_maps import Index, Map, identity, sliced
from ....transpile.kernels.intervals import Bounds, LineIntervals
from ....transpile.kernels.kernel import Kernel

Item = int | Node | range  # of an index: a number, the node of one, or what is taken of an axis
Place = int | Node | Index  # of an element, along an axis


def written_in_place(
    kernel: Node, change: Node, texts: Mapping[Node, str], name: str
) -> tuple[Kernel, list[Node]] | None:
    """Return a kernel that writes its result directly into the part of an array that a ``change`` replaces, and its
    nodes that are the old elements there; None if that is not possible.

    The array has the name ``name``. The kernel may read other parts of it, and the old value of each element that it
    writes.
    """
    made: Kernel = kernel.parameters["kernel"]
    target = _items(change, change.shape)
    if target is None or kernel.results or kernel.element_type is not change.element_type:
        return None
    ranges = [item for item in target if isinstance(item, range)]
    if kernel.shape != tuple(map(len, ranges)) or len(made.at[0]) != len(ranges):
        return None
    written, old = _places(target, made.at[0]), []
    for parameter, operand in zip(made.function.parameters, kernel.operands, strict=True):
        if not mentions(texts[operand], {name}):
            continue
        is_whole = texts.get(operand) == name
        if not is_whole and (operand.opcode != "getitem" or texts.get(operand.operands[0]) != name):
            return None
        array = operand if is_whole else operand.operands[0]
        items = [range(size) for size in array.shape] if is_whole else _items(operand, array.shape)
        for node, at in _reads(made, parameter):
            if items is None or at is None:
                return None
            steps = [_step(*pair, made.loop) for pair in zip(_places(items, at), written, strict=True)]
            is_own = all(step == (0, 0) for step in steps) and not made.by_lines and not made.has_loop
            if not is_own and not any(least > 0 or most < 0 for least, most in steps):
                return None
            old += [node] if is_own else []
    at = tuple(place for place in written if isinstance(place, Index))
    sizes = tuple(size for size, item in zip(change.shape, target, strict=True) if isinstance(item, range))
    return replace(made, at=[at], shapes=[sizes]), old


def _items(node: Node, shape: Sequence[int]) -> list[Item] | None:
    """Return the item of an index expression for each axis of the array; None if an item is unknown."""
    items = node.parameters["index"]
    found: list[Item] = []
    for item, size in zip((*items, *[FULL] * (len(shape) - len(items))), shape, strict=True):
        if isinstance(item, Slot):
            found.append(node.operands[item.index])
        elif isinstance(item, tuple):
            part = _part(item, node)
            if part is None:
                return None
            found.append(range(size)[part])
        elif item == FULL:
            found.append(range(size))
        elif isinstance(item, int):
            found.append(item % size)
        else:
            return None
    return found


def _part(item: tuple[Any, ...], node: Node) -> slice | None:
    """Return the slice of an item, ``(start, stop, step)`` or ``(start, size)``; None if it has unknown bounds."""
    known = [integer_value(node.operands[bound.index]) if isinstance(bound, Slot) else bound for bound in item]
    if len(item) == 2:
        start, size = known
        return slice(start, start + size) if start is not None and size is not None else None
    return None if any(isinstance(bound, Slot) for bound in item) else slice(*known)


def _places(items: Sequence[Item], at: Map) -> list[Place]:
    """Return indices into the whole array for the indices ``at`` into a part of it."""
    waiting = iter(at)
    return [sliced(next(waiting), item) if isinstance(item, range) else item for item in items]


def _reads(kernel: Kernel, parameter: Node) -> Iterator[tuple[Node, Map | None]]:
    """Yield the nodes that read an array, with their indices; None for unknown indices."""
    if parameter not in kernel.whole:
        yield parameter, identity(parameter.shape)
        return
    for node in topological(tree_nodes(kernel.function.results)):
        if parameter in node.operands:
            yield node, node.parameters["indices"] if node.opcode == "read" else None


def cut(kernel: Kernel, old: Container[Node]) -> tuple[Kernel, dict[int, Bounds]]:
    """Return a kernel restricted to the elements that change, and the bounds of these along its axes. Elements that
    keep the value of a parameter in ``old`` do not change.
    """
    function, (result,) = kernel.function, tree_nodes(kernel.function.results)
    within: dict[int, Bounds] = {}
    for axis in range(len(kernel.loop)) if not kernel.by_lines else ():
        if result.opcode == "select" and result.operands[2] in old:
            result, bounds = LineIntervals(function.graph, kernel.loop, axis).chosen(result)
            within |= {axis: bounds} if bounds else {}
    return (replace(kernel, function=replace(function, results=(result,))), within) if within else (kernel, {})


def _step(one: Place, other: Place, loop: Sequence[int]) -> tuple[float, float]:
    """Return the least and the greatest distance of the positions of ``one`` from those of ``other``; (0, 0) if both
    are equal in each step.
    """
    if isinstance(one, Index) and isinstance(other, Index):
        if one == other:
            return 0, 0
        step = gcd(one.step, other.step)
        if step and (one.start - other.start) % step:
            return 1, inf  # or before them: they never meet
        (low, high), (least, most) = (_ends(index, loop) for index in (one, other))
        return low - most, high - least
    if isinstance(one, Index) or isinstance(other, Index):
        return -inf, inf
    numbers: list[Affine] = [({}, place) if isinstance(place, int) else affine(place) for place in (one, other)]
    difference = combined("subtract", *numbers)
    if difference is None or any(node.interval is None for node in difference[0]):
        return -inf, inf
    return extreme(*difference, -1), extreme(*difference, 1)


def _ends(index: Index, loop: Sequence[int]) -> tuple[int, int]:
    """Return the least and the greatest position that an index reaches."""
    last = index.start + index.step * (loop[index.axis] - 1 if index.axis is not None else 0)
    return min(index.start, last), max(index.start, last)
