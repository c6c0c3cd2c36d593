"""The analysis of which carried arrays of a loop may be changed where they are.

``t = t.copy()`` and ``t[i] = x`` in every iteration is one copy before the loop and ``t[i] = x``, where nothing that
outlives the change looks at the array that is changed.
"""

from __future__ import annotations

from typing import Any

from .affine import Affine, affine, combined, integer_value
from .graph import Graph
from .node import Node, Slot
from .program import Carry, Loop
from .traversal import body_nodes, dependencies, is_inside, loop_roots


def is_view(node: Node) -> bool:
    """The array may look at what the operation is given: ``x[i]`` does where ``i`` is a number, not an array."""
    picks = node.opcode in ("take", "advanced_index") and all(index.ndim == 0 for index in node.operands[1:])
    return picks or node.operation.is_view


def is_own_array(node: Node) -> bool:
    """The operation makes an array that nothing else looks at."""
    return node.operation.allocates and not is_view(node)


def lies_apart(change: Node, view: Node) -> bool:
    """Tell whether a change of an array reads a part of it that it does not write: ``x[i] = x[i + 1]``."""
    return view.operands[:1] == change.operands[:1] and are_apart(change, view)


def are_apart(change: Node, view: Node) -> bool:
    """Tell whether the places of a change are others than those of a part of an array of the same shape."""
    if change.opcode != "setitem" or view.opcode != "getitem" or view.operands[0].shape != change.shape:
        return False
    items = [[item for item in node.parameters["index"] if item is not None] for node in (change, view)]
    for item, other, size in zip(*items, change.operands[0].shape, strict=False):
        stretch, beside = _stretch(change, item, size), _stretch(view, other, size)
        if stretch is None or beside is None:
            continue
        difference = combined("subtract", stretch[0], beside[0])
        if difference is not None and not difference[0]:
            distance = difference[1]
            if distance >= beside[1] or -distance >= stretch[1]:
                return True
    return False


def is_same_part(change: Node, view: Node) -> bool:
    """Tell whether a change of an array writes what a part of that is: ``x[i] = x[i] + 1``."""
    if change.opcode != "setitem" or view.opcode != "getitem" or view.operands[0] is not change.operands[0]:
        return False
    return _places(change) == _places(view)


def _places(node: Node) -> list[Any]:
    """What an index takes along each axis: a range of numbers, or nodes in place of slots."""
    sizes, places = iter(node.operands[0].shape), list[Any]()
    for item in node.parameters["index"]:
        if item is None:
            places.append(None)
            continue
        size = next(sizes)
        number = integer_value(node.operands[item.index]) if isinstance(item, Slot) else item
        if isinstance(number, int):
            places.append(number % size)
        elif isinstance(item, str):
            places.append(range(size))
        elif isinstance(item, Slot):
            places.append(node.operands[item.index])
        elif len(item) == 2:
            start, length = node.operands[item[0].index], item[1]
            known = integer_value(start)
            places.append((start, length) if known is None else range(known, known + length))
        elif any(isinstance(each, Slot) for each in item):
            places.append(tuple(node.operands[each.index] if isinstance(each, Slot) else each for each in item))
        else:
            places.append(range(size)[slice(*item)])
    return places + [range(size) for size in sizes]


def _stretch(node: Node, item: Any, size: int) -> tuple[Affine, int] | None:
    """Where what an item of an index takes begins along its axis, and how long that is; None where it may be spread."""
    if isinstance(item, Slot):
        return _place(node.operands[item.index], 1)
    if isinstance(item, int):
        return ({}, item % size), 1
    if isinstance(item, tuple) and len(item) == 2:
        return _place(node.operands[item[0].index], item[1])
    if isinstance(item, tuple) and len(item) == 3 and not any(isinstance(each, Slot) for each in item):
        places = range(*slice(*item).indices(size))
        return (({}, min(places)), max(places) - min(places) + 1) if places else None
    return None


def _place(node: Node, length: int) -> tuple[Affine, int] | None:
    """A place that counters say, and is no negative number, which would count from the end."""
    is_known = (node.is_python_int or node.is_literal) and node.interval is not None and node.interval[0] >= 0
    return (affine(node), length) if is_known else None


def leads_back(loop: Loop, carry: Carry) -> bool:
    """Tell whether the next value of a carry is the present one, changed step by step, maybe by loops within, so that a
    loop with an array of its own needs no copy in its rounds.
    """
    node, chain = carry.following, []
    while node is not None and node.region is loop.region:
        if node.operation.changes:
            chain.append(node)
            node = node.operands[0]
        elif node.opcode == "item" and node.operands[0].opcode == "loop":
            inner: Loop = node.operands[0].parameters["loop"]
            chain += [node, node.operands[0]]
            begun = inner.carries[node.parameters["index"]]
            will_copy = begun.initial.opcode == "copy" or leads_back(inner, begun)
            node = begun.initial.operands[0] if begun.initial.opcode == "copy" else begun.initial
            node = node if will_copy else None
        else:
            break
    if not chain or node is not carry.parameter or _is_read_behind(loop, carry, chain):
        return False
    given = chain[-1].operands[1:] if chain[-1].opcode != "loop" else ()
    views = (part for part in given if part.ndim and is_view(part) and part.operands[0] is node)
    return all(lies_apart(chain[-1], view) for view in views)


def _is_read_behind(loop: Loop, carry: Carry, chain: list[Node]) -> bool:
    """Tell whether something reads the present value, or a view of it, that needs the first change of it."""
    body = body_nodes(loop_roots(loop), loop.region)
    seen, behind = {carry.parameter}, {chain[-1]}
    first = chain[-1].parameters["loop"].region if chain[-1].opcode == "loop" else None
    for node in body:
        if any(operand in behind for operand in dependencies(node)):
            behind.add(node)
        if any(operand in seen for operand in dependencies(node)):
            is_inside_first = first is not None and is_inside(node.region, first)
            if node is not chain[-1] and (node in behind or is_inside_first):
                return True
            if is_view(node):
                seen.add(node)
    return False


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
