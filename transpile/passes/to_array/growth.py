"""How much an integer that a loop carries differs from the one that it is computed from: a count of what a test finds
grows by 0 or 1 in each iteration.
"""

from __future__ import annotations

from functools import reduce

from ...array.affine import integer_value
from ...array.intervals import difference, total, union
from ...array.node import Node
from ...array.operation import Interval
from ...array.program import Loop
from ...walks import operands_first

_Known = dict[Node, Interval | None]


def growth(end: Node, start: Node) -> Interval | None:
    """Return the least and the greatest value of ``end - start``; None if they are unknown."""
    found: _Known = {start: (0, 0)}
    for node in operands_first([end], lambda node: () if node is start else _parts(node)):
        if node not in found:
            found[node] = _of(node, found)
    return found[end]


def grown(first: Interval, own: Interval, count: int) -> Interval:
    """Return the bounds of a number after at most ``count`` iterations, each of which changes it within bounds."""
    return first[0] + min(0, own[0]) * count, first[1] + max(0, own[1]) * count


def limits(node: Node) -> Interval | None:
    """Return the least and the greatest value of an integer, if they are known."""
    number = integer_value(node)
    return node.interval if number is None else (number, number)


def _parts(node: Node) -> tuple[Node, ...]:
    """Return the nodes that the growth of a node depends on."""
    if node.opcode in ("add", "subtract", "select"):
        return node.operands
    if node.opcode != "item":
        return ()
    (whole,), index = node.operands, node.parameters["index"]
    if whole.opcode == "conditional":
        return tuple(branch.results[index] for branch in whole.parameters["branches"])
    return (whole.parameters["loop"].carries[index].initial,) if whole.opcode == "loop" else ()


def _of(node: Node, found: _Known) -> Interval | None:
    """Return the growth of a node, given that of its parts."""
    parts = _parts(node)
    if node.opcode == "add":
        one, other = parts
        return total(found[one], limits(other)) or total(found[other], limits(one))
    if node.opcode == "subtract":
        return difference(found[parts[0]], limits(parts[1]))
    if node.opcode == "select":
        return reduce(union, [found[choice] for choice in parts[1:]])
    if not parts:
        return None
    whole = node.operands[0]
    if whole.opcode == "conditional":
        return reduce(union, [found[part] for part in parts])
    loop: Loop = whole.parameters["loop"]
    carry = loop.carries[node.parameters["index"]]
    if loop.counter is None or carry.following is None:
        return None
    own = growth(carry.following, carry.parameter)
    return total(found[parts[0]], grown((0, 0), own, loop.trip_count)) if own is not None else None
