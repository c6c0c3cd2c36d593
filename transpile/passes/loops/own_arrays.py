"""Loops begin with a copy of what they change step by step, so that none is made in their rounds."""

from __future__ import annotations

from functools import partial

from ...array.graph import Graph
from ...array.in_place import (
    are_apart,
    is_changed_and_made,
    is_own_array,
    is_same_or_apart,
    is_update_chain,
    is_view,
    runs_more_often,
)
from ...array.live import LiveNodes, live_nodes, renew_initials
from ...array.node import Node
from ...array.program import Function, Loop
from ...array.rewriting import rewrite
from ...array.support import Support
from ...array.value import FULL

_UPDATES = ("setitem", "scatter")
_COPIED = (is_update_chain, is_changed_and_made)  # carries whose initial value is copied


def own_arrays(function: Function, supports: Support) -> None:
    """Copy the initial value of a carry that a loop updates, outermost loops first: the array is then the loop's own,
    also for the loops in it. Updates read the newest version of the array.
    """
    rewrite(function, _UPDATES, partial(_before_it_changes, function.graph), supports)
    if not supports.features.arrays_are_mutable:
        return
    rewrite(function, ("getitem",), partial(_as_it_is, function, live_nodes(function)))
    rewrite(function, _UPDATES, partial(_before_another_change, function.graph))
    live, are_numbers = live_nodes(function), supports.features.elements_are_numbers
    for node in sorted(live.of(("loop",)), key=lambda node: node.region.depth):
        loop: Loop = node.parameters["loop"]
        for carry in loop.carries:
            initial = carry.initial
            is_alone = live.count(initial) == 1 and not live.is_root(initial) and not runs_more_often(node, initial)
            is_its_own = is_alone and is_own_array(initial)
            if not is_its_own and any(pays(loop, carry, elements_are_numbers=are_numbers) for pays in _COPIED):
                with function.graph.inside(node.region):
                    carry.initial = _own(function.graph, initial)
        if renew_initials(node):
            function.live = None


def _own(graph: Graph, array: Node) -> Node:
    """Return a new array with the elements of another: a copy, or one that is made like it, as ``np.zeros`` is."""
    if not array.operation.is_filled:
        return graph.add("copy", (array,), pinned=True)
    return graph.typed(array.opcode, array.operands, array.shape, array.element_type, pinned=True, **array.parameters)


def _as_it_is(function: Function, live: LiveNodes, part: Node) -> Node | None:
    """Return the same part of the updated array, for a later update that reads the old one: ``y[0] = x[1]``, where y is
    x with other positions updated. None if there is no such update.
    """
    change = _change_of(live, part)
    base = change.operands[0] if change is not None else part.operands[0]
    version = base
    while version is not part.operands[0]:
        if not version.operation.changes or version.region is not part.region or not are_apart(version, part):
            return None
        version = version.operands[0]
    if base is version:
        return None
    return function.graph.add("getitem", (base, *part.operands[1:]), index=part.parameters["index"])


def _before_it_changes(graph: Graph, change: Node) -> Node | None:
    """Return the update with a copy of the part that it reads and may overwrite: ``x[:, 1] = x[2].copy()``; None if
    none is needed.

    NumPy copies a row that becomes a column only if both have opposite directions in memory. In loops, it would copy
    the array.
    """
    x, value, *places = change.operands
    if not value.ndim or value.opcode != "getitem" or value.operands[0] is not x:
        return None
    if not is_view(value) or are_apart(change, value) or is_same_or_apart(change, value):
        return None
    if not change.region.is_in_loop and (value.ndim != 1 or _axes(change) == _axes(value)):
        return None
    return graph.add(change.opcode, (x, graph.add("copy", (value,), pinned=True), *places), **change.parameters)


def _before_another_change(graph: Graph, change: Node) -> Node | None:
    """Return the update of an array in a loop with a copy of the part that it reads of an older version, which another
    update may have overwritten: ``row = x[i].copy()``, ``x[i] = x[j]``, ``x[j] = row``; None if there is no such part.
    """
    before, value, *places = change.operands
    if not value.ndim or value.opcode != "getitem" or not is_view(value) or value.operands[0] is before:
        return None
    version = before
    while version.operation.changes and version.region is change.region and version is not value.operands[0]:
        version = version.operands[0]
    if version is not value.operands[0] or not change.region.is_in_loop:
        return None
    copy = graph.valued(graph.add("copy", (value,), pinned=True), value, graph)
    return graph.add(change.opcode, (before, copy, *places), **change.parameters)


def _axes(node: Node) -> list[int]:
    """Return the axes along which an index selects several positions."""
    items = [item for item in node.parameters["index"] if item is not None]
    return [axis for axis, item in enumerate(items) if item == FULL or isinstance(item, tuple)]


def _change_of(live: LiveNodes, part: Node) -> Node | None:
    """Return the only update that uses a part of an array; None if it has other uses."""
    node = part
    while live.count(node) == 1 and not live.is_root(node):
        (user,) = live.users(node)
        if user.operation.changes:
            return user if user.operands[0] is not node and user.region is part.region else None
        if not user.operation.is_elementwise or user.region is not part.region:
            return None
        node = user
    return None
