"""Starts loops that add a row to a carry in each iteration, of which only the first is not 0, with that row.

The gradient of the last state of a scan is such a loop: it adds the rows of ``np.pad(g[None], ((n - 1, 0), (0, 0)))``
to the gradient of the state. The sign of a zero may differ.
"""

from __future__ import annotations

from ...array.affine import affine
from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes, renew_initials
from ...array.node import Node
from ...array.program import Carry, Function, Loop
from ...array.rewriting import rewrite
from ...array.support import Support
from ...array.traversal import is_inside
from ...array.value import FULL, getitem
from ..algebra.signed_zeros import zero_is_told
from ..rewriting.patterns import is_zero, is_zeros
from .loop_rows import is_line


def first_rows(function: Function, supports: Support) -> None:
    """Add the only non-zero row that a loop adds to the initial value of its carry."""
    live = live_nodes(function)
    added = {}
    for node in live.of(("loop",)):
        loop: Loop = node.parameters["loop"]
        for carry in loop.carries if loop.is_fixed and loop.trip_count > 1 else ():
            total = _only_user(live, carry.parameter)
            if total is None or total.opcode != "add" or zero_is_told(live, total, is_entry=function.is_entry):
                continue
            row = _first_row(function.graph, total, loop, carry)
            if row is not None:
                with function.graph.inside(node.region):
                    carry.initial = _sum(function.graph, carry.initial, row)
                added[total] = carry.parameter
        renew_initials(node)
    if added:
        function.live = None
        rewrite(function, ("add",), added.get, supports)


def _only_user(live: LiveNodes, node: Node) -> Node | None:
    users = live.users(node)
    return users[0] if len(users) == 1 == live.count(node) else None


def _first_row(graph: Graph, total: Node, loop: Loop, carry: Carry) -> Node | None:
    """Return the row that is added in the first iteration, if those of all others are 0."""
    rows = [operand for operand in total.operands if operand is not carry.parameter]
    if len(rows) != 1 or not is_line(rows[0]) or rows[0].shape != carry.parameter.shape:
        return None
    padded, place = rows[0].operands
    if is_inside(padded.region, loop.region):
        return None  # another array in each iteration
    terms, constant = affine(place)
    if padded.opcode != "pad" or [*terms] != [loop.counter] or not is_zero(padded.operands[1]):
        return None
    axis = next(k for k, item in enumerate(rows[0].parameters["index"]) if item != FULL)
    low, high = padded.parameters["widths"][axis]
    counter = loop.counter
    is_one = padded.shape[axis] == low + high + 1
    are_whole = all(width == (0, 0) for k, width in enumerate(padded.parameters["widths"]) if k != axis)
    if counter is None or not is_one or not are_whole or terms[counter] * loop.start + constant != low:
        return None
    with graph.inside(padded.region):
        return getitem(graph, padded.operands[0], tuple(0 if k == axis else FULL for k in range(padded.ndim)))


def _sum(graph: Graph, initial: Node, row: Node) -> Node:
    return row if is_zeros(initial) else graph.add("add", (initial, row))
