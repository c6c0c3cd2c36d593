"""The analysis of which loop-carried arrays may be updated in place.

``t = t.copy()`` and ``t[i] = x`` in every iteration become one copy before the loop and ``t[i] = x``, if no view of the
array is live after the update.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from .affine import Affine, affine, combined, integer_value
from .graph import Graph
from .node import Node, Region, Slot
from .program import Branch, Carry, Loop
from .traversal import body_nodes, dependencies, is_inside, loop_roots
from .value import FULL


def is_view(node: Node) -> bool:
    """Return whether the result may be a view of the first operand. ``x[i]`` is one if ``i`` is a number, not if it is
    an array.
    """
    picks = node.opcode in ("take", "advanced_index") and all(index.ndim == 0 for index in node.operands[1:])
    return picks or node.operation.is_view


def is_own_array(node: Node) -> bool:
    """Return whether the operation allocates an array that nothing else aliases."""
    return node.operation.allocates and not is_view(node)


def runs_more_often(node: Node, than: Node) -> bool:
    """Return whether a loop is around a node that is not around the other, whose body is the same or one around."""
    inner = takewhile(lambda region: region is not than.region, node.region.path())
    return any(region.kind in ("loop", "block") for region in inner)


def reads_safely(change: Node, view: Node) -> bool:
    """Return whether an update may read a view of the updated array while it writes: the two parts do not overlap, as
    in ``x[i] = x[i + 1]``, or they are the same part if they do, as in ``x[i] = x[j]``.
    """
    return view.operands[:1] == change.operands[:1] and (are_apart(change, view) or is_same_or_apart(change, view))


def are_apart(change: Node, view: Node) -> bool:
    """Return whether the part that a ``setitem`` writes and the part that a ``getitem`` reads, of arrays of the same
    shape, do not overlap.
    """
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


def is_same_or_apart(change: Node, view: Node) -> bool:
    """Return whether an update writes and a ``getitem`` reads one position, or all, of each axis: the two parts are
    apart, or each element is written where it is read.
    """
    if (
        change.opcode not in ("setitem", "scatter")
        or view.opcode != "getitem"
        or view.operands[0].shape != change.shape
    ):
        return False
    return _single_axes(change) == _single_axes(view) is not None


def _single_axes(node: Node) -> list[bool] | None:
    """Return for each axis whether an index takes one position of it, or all; None if it takes a part of an axis."""
    items = node.parameters["index"]
    places = [node.operands[item.index] if isinstance(item, Slot) else item for item in items]
    singles = [isinstance(place, int) or (isinstance(place, Node) and not place.ndim) for place in places]
    if not all(single or item == FULL for single, item in zip(singles, items, strict=True)):
        return None
    return singles + [False] * (node.operands[0].ndim - len(items))


def is_same_part(change: Node, view: Node) -> bool:
    """Tell whether a change of an array writes what a part of that is: ``x[i] = x[i] + 1``."""
    if change.opcode != "setitem" or view.opcode != "getitem" or view.operands[0] is not change.operands[0]:
        return False
    return _places(change) == _places(view)


def _places(node: Node) -> list[Any]:
    """Return the part of each axis that an index selects: a range of known positions, or nodes in place of slots."""
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
    """Return the start (an affine sum) and the length of what an index item selects along its axis; None if unknown."""
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
    """Return a start and a length; None if the start may be negative, which would count from the end."""
    is_known = (node.is_python_int or node.is_literal) and node.interval is not None and node.interval[0] >= 0
    return (affine(node), length) if is_known else None


def is_update_chain(loop: Loop, carry: Carry, *, elements_are_numbers: bool) -> bool:
    """Return whether the next value of a carry is its current value after a chain of updates, possibly in inner loops
    or in branches, so that a loop that owns the array needs no copy per iteration.
    """
    chain: list[Node] = []
    start = _updated(carry.following, loop.region, chain, elements_are_numbers=elements_are_numbers)
    if not chain or start is not carry.parameter:
        return False
    body = body_nodes(loop_roots(loop), loop.region)
    if _is_read_behind(body, start, chain[-1], elements_are_numbers=elements_are_numbers):
        return False
    given = chain[-1].operands[1:] if chain[-1].opcode != "loop" else ()
    views = (part for part in given if part.ndim and is_view(part) and part.operands[0] is start)
    return all(reads_safely(chain[-1], view) for view in views)


def _updated(node: Node | None, region: Region, chain: list[Node], *, elements_are_numbers: bool) -> Node | None:
    """Return the value of which another is a later version, behind all updates of a region, which are added to
    ``chain``; None if a body in between does not change the array where it is.
    """
    while node is not None and node.region is region:
        if node.operation.changes:
            chain.append(node)
            node = node.operands[0]
            continue
        if node.opcode != "item" or node.operands[0].opcode not in ("loop", "conditional"):
            break
        (whole,), index = node.operands, node.parameters["index"]
        chain += [node, whole]
        if whole.opcode == "conditional":
            node = _updated_in_branches(whole, index, elements_are_numbers=elements_are_numbers)
            continue
        inner: Loop = whole.parameters["loop"]
        initial = inner.carries[index].initial
        will_copy = initial.opcode == "copy" or is_update_chain(
            inner, inner.carries[index], elements_are_numbers=elements_are_numbers
        )
        node = initial.operands[0] if initial.opcode == "copy" else initial
        node = node if will_copy else None
    return node


def _updated_in_branches(whole: Node, index: int, *, elements_are_numbers: bool) -> Node | None:
    """Return the array that each branch of a conditional gives as it is, or changed, if none reads it after that."""
    found, changes = set[Node](), False
    branches: tuple[Branch, ...] = whole.parameters["branches"]
    for branch in branches:
        chain: list[Node] = []
        start = _updated(branch.results[index], branch.region, chain, elements_are_numbers=elements_are_numbers)
        if start is None or is_inside(start.region, branch.region):
            return None
        if chain:
            changes = True
            body = body_nodes(branch.results, branch.region)
            if start in branch.results or _is_read_behind(
                body, start, chain[-1], elements_are_numbers=elements_are_numbers
            ):
                return None
        found.add(start)
    return found.pop() if changes and len(found) == 1 else None


def is_changed_and_made(loop: Loop, carry: Carry, *, elements_are_numbers: bool) -> bool:
    """Return whether each iteration updates the current value of a carry and makes a new array as the next one, so that
    only the initial value must be copied.
    """
    made = carry.following
    while made is not None and made.operation.changes and made.region is loop.region:
        made = made.operands[0]
    if made is None or made.region is not loop.region or made.operation.changes or not is_own_array(made):
        return False
    body = body_nodes(loop_roots(loop), loop.region)
    changes = [node for node in body if node.operation.changes and node.operands[0] is carry.parameter]
    if len(changes) != 1 or changes[0].region is not loop.region:
        return False
    return not _is_read_behind(body, carry.parameter, changes[0], elements_are_numbers=elements_are_numbers)


def _is_read_behind(body: Sequence[Node], array: Node, first: Node, *, elements_are_numbers: bool) -> bool:
    """Return whether a node of a body reads an array, or a view of it, behind the ``first`` update."""
    seen, behind = {array}, {first}
    within = first.parameters["loop"].region if first.opcode == "loop" else None
    for node in body:
        if any(operand in behind for operand in dependencies(node)):
            behind.add(node)
        if any(operand in seen for operand in dependencies(node)):
            is_inside_first = within is not None and is_inside(node.region, within)
            if node is not first and (node in behind or is_inside_first):
                return True
            if is_view(node) and not (elements_are_numbers and not node.ndim):
                seen.add(node)
    return False


def may_change_in_place(loop: Loop, carry: Carry, named: frozenset[Node] | set[Node] = frozenset()) -> bool:
    """Return whether the next value of a carry may be written into its current array, provided that the loop owns it.

    ``named`` are the nodes with variables: a view in a variable might be read later.
    """
    following = carry.following
    if following is None or not following.operation.changes or following.operands[0] is not carry.parameter:
        return False
    if following.region is not loop.region:
        return False
    seen = {carry.parameter, following}  # nodes that are the array or may be views of it
    for member in body_nodes(loop_roots(loop), loop.region):
        looks = [operand for operand in dependencies(member) if operand in seen]
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


def copy_updated_carries(graph: Graph, loop: Loop) -> None:
    """Make loops own the arrays that they update in place: add a copy of the initial value."""
    for carry in loop.carries:
        if may_change_in_place(loop, carry):
            initial = carry.initial
            carry.initial = graph.add("copy", (initial,), pinned=True)
