"""Loops begin with a copy of what they change step by step, so that none is made in their rounds."""

from __future__ import annotations

from functools import partial

from ...array.in_place import are_apart, is_own_array, leads_back
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node
from ...array.program import Function, Loop
from ...array.rewriting import rewrite
from ...array.support import Support


def own_arrays(function: Function, supports: Support) -> None:
    """Have loops begin with arrays of their own, where all that they do to one is to change it, outermost loops first:
    what a loop within changes is then the loop's own. Changes read the array as it is then.
    """
    if not supports.features.arrays_are_mutable:
        return
    rewrite(function, ("getitem",), partial(_as_it_is, function, live_nodes(function)))
    for node in sorted(live_nodes(function).of(("loop",)), key=lambda node: node.region.depth):
        loop: Loop = node.parameters["loop"]
        for carry in loop.carries:
            if not is_own_array(carry.initial) and leads_back(loop, carry):
                with function.graph.inside(node.region):
                    carry.initial = function.graph.add("copy", (carry.initial,), pinned=True)
        initials = tuple(carry.initial for carry in loop.carries)
        if initials != node.operands:
            object.__setattr__(node, "operands", initials)
            function.live = None


def _as_it_is(function: Function, live: LiveNodes, part: Node) -> Node | None:
    """The same part of a changed array, which a later change of that is made of: ``y[0] = x[1]``, where y is x with
    other places changed.
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


def _change_of(live: LiveNodes, part: Node) -> Node | None:
    """The change that a part of an array is used for, and for nothing else."""
    node = part
    while live.count(node) == 1 and not live.is_root(node):
        (user,) = live.users(node)
        if user.operation.changes:
            return user if user.operands[0] is not node and user.region is part.region else None
        if not user.operation.is_elementwise or user.region is not part.region:
            return None
        node = user
    return None
