"""The analysis of which carried arrays of a loop may be changed where they are.

``t = t.copy()`` and ``t[i] = x`` in every iteration is one copy before the loop and ``t[i] = x``, where nothing that
outlives the change looks at the array that is changed.
"""

from __future__ import annotations

from .graph import Graph
from .node import Node
from .program import Carry, Loop
from .traversal import body_nodes, loop_roots


def is_view(node: Node) -> bool:
    """The array may look at what the operation is given: ``x[i]`` does where ``i`` is a number, not an array."""
    picks = node.opcode in ("take", "advanced_index") and all(index.ndim == 0 for index in node.operands[1:])
    return picks or node.operation.is_view


def is_own_array(node: Node) -> bool:
    """The operation makes an array that nothing else looks at."""
    return node.operation.allocates and not is_view(node)


def may_change_in_place(loop: Loop, carry: Carry, named: frozenset[Node] | set[Node] = frozenset()) -> bool:
    """The next value of a carry may be written into its present array, if that is the loop's own.

    ``named`` are the nodes that have variables: a view in a variable might be read later.
    """
    following = carry.following
    if following is None or not following.operation.changes or following.operands[0] is not carry.parameter:
        return False
    if following.region is not loop.region:
        return False
    seen = {carry.parameter, following}  # what is, or may look at, the array
    for member in body_nodes(loop_roots(loop), loop.region):
        looks = [operand for operand in member.operands if operand in seen]
        if member is following and looks[0] is carry.parameter:
            looks = [operand for operand in looks[1:] if operand.ndim or operand in named]  # a number is read before
        if not looks:
            continue
        if member is following or member.region is not loop.region:
            return False
        if is_view(member):
            if member in named:
                return False
            seen.add(member)
        elif not member.operation.allocates:
            return False
    others = (other.following for other in loop.carries if other is not carry)
    return not any(other in seen for other in others)


def own_changed(graph: Graph, loop: Loop) -> None:
    """Arrays that the loop may change where they are begin as copies of its own."""
    for carry in loop.carries:
        if may_change_in_place(loop, carry):
            initial = carry.initial
            carry.initial = graph.add("copy", (initial,), pinned=True)
