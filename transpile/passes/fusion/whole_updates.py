"""Updates of most of an array by values that kernels compute: the new array is a concatenation of the unchanged and the
new elements, which one kernel computes. A step of a stencil then reads one array and writes another.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ...array.graph import Graph
from ...array.live import live_nodes
from ...array.node import Node, Slot, literal_value
from ...array.program import Carry, Function
from ...array.rewriting import rewrite
from ...array.value import FULL, getitem

_PART = 2  # the new elements are at least one in this many

Range = tuple[int, int]


def whole_updates(function: Function, fuses: Callable[[Node], bool]) -> None:
    """Concatenate values computed for most of an array with the rest of it."""
    live = live_nodes(function)
    joined: set[Node] = set()

    def rule(node: Node) -> Node | None:
        old, new = node.operands[:2]
        ranges = _ranges(node)
        is_own = live.count(new) == 1 and new.region is node.region and new.operation.is_elementwise and fuses(new)
        if ranges is None or not is_own or new.element_type is not old.element_type:
            return None
        if new.shape != tuple(stop - start for start, stop in ranges) or prod(new.shape) * _PART < prod(old.shape):
            return None
        made = _joined(function.graph, old, new, ranges)
        joined.add(made)
        return made

    rewrite(function, ("setitem",), rule)
    if joined:
        _begin_as_given(function, joined)


def _ranges(node: Node) -> list[Range] | None:
    """The range along each axis that an update replaces; None if one is not known."""
    index, shape = node.parameters["index"], node.shape
    ranges = [_range(item, size, node) for item, size in zip(index, shape, strict=False)]
    found = [each for each in ranges if each is not None]
    return found if len(found) == len(shape) else None


def _range(item: Any, size: int, node: Node) -> Range | None:
    """The range along an axis that an item of an index selects: the whole axis, or a number of elements from a known
    start.
    """
    if item == FULL:
        return 0, size
    if not isinstance(item, tuple) or not isinstance(item[0], Slot):
        return None
    start = node.operands[item[0].index]
    if start.opcode not in ("literal", "integer"):
        return None
    first = int(literal_value(start) if start.is_literal else start.parameters["value"])
    return first, first + item[1]


def _joined(graph: Graph, old: Node, new: Node, ranges: list[Range]) -> Node:
    """Concatenate the unchanged parts of an array around the new one, along the last axis first."""
    for axis in reversed(range(old.ndim)):
        (start, stop), size = ranges[axis], old.shape[axis]
        before = [_part(graph, old, ranges[:axis], (0, start))] if start else []
        behind = [_part(graph, old, ranges[:axis], (stop, size))] if stop < size else []
        if before or behind:
            new = graph.add("concatenate", (*before, new, *behind), axis=axis)
    return new


def _part(graph: Graph, old: Node, ranges: list[Range], last: Range) -> Node:
    """The part of an array within ranges along its first axes."""
    items: list[Any] = [
        FULL if pair == (0, size) else (*pair, None) for pair, size in zip([*ranges, last], old.shape, strict=False)
    ]
    return getitem(graph, old, [*items, *[FULL] * (old.ndim - len(items))])


def _begin_as_given(function: Function, joined: set[Node]) -> None:
    """Carried arrays that are no longer updated in place need not start as copies."""

    def is_new(carry: Carry) -> bool:
        made = carry.following
        while made is not None and made.operation.changes:
            made = made.operands[0]
        return made in joined

    live = live_nodes(function)
    carries = [carry for node in live.of(("loop",)) for carry in node.parameters["loop"].carries]
    changed = {carry.initial for carry in carries if not is_new(carry)}
    copies = {carry.initial for carry in carries if is_new(carry)} - changed
    rewrite(function, ("copy",), lambda node: node.operands[0] if node in copies else None)
