"""Adds only to the part of an array that changes, where the rest would get 0 added: ``total[i] += x`` for the sum with
zeros of which one row is ``x``, and ``total[1:] += x`` where several padded parts are added. Of two parts with gaps,
each fills those of the other: the halves that a scan of matrices interleaves, ``total[::2] += x``. What is scattered
into zeros is scattered into the total: ``np.add.at(total, i, x)``, once for all values at the same positions.

So gradients accumulate the contributions to the elements of an array. Adding 0 turns -0 into +0: a total that begins
with zeros has no -0, and for padded parts the result depends on the order of addition anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node, Ufunc
from ...array.program import Function, Loop
from ...array.rewriting import rewrite, with_operands
from ...array.support import Support
from ...array.value import FULL, filled, getitem
from ..algebra.signed_zeros import is_never_minus_zero, sign_matters
from ..rewriting.patterns import is_zero, is_zeros
from ..rewriting.rules import is_full_float
from .own_arrays import own_arrays

_FEWEST_PADS = 3  # in one sum: its text is then longer than the lines that add to slices
_FEW = 64  # positions that are compared one by one
_ADD = Ufunc("add")
_SCATTERS = ("scatter_at", "put_at")


def added_parts(function: Function, supports: Support) -> None:
    """Add only to the parts that change."""
    graph, live = function.graph, live_nodes(function)
    totals = frozenset(_totals(node.parameters["loop"] for node in live.of(("loop",))))

    def rule(node: Node) -> Node | None:
        for total, part in (node.operands, node.operands[::-1]):
            if live.count(part) > 1 or not total.shape == part.shape == node.shape or part.region is not node.region:
                continue
            is_small = _is_from_zeros(total) or all(prod(place.shape) <= _FEW for place in part.operands[2:])
            if _is_scattered(part) and is_small and is_free(node, total):
                return _scattered(graph, live, total, part)
            if part.opcode == "setitem" and is_zeros(part.operands[0]) and is_free(node, total):
                return _added(graph, _begun(graph, total), part.operands[1:], part.parameters["index"])
            is_filled = _is_filled(live, total) and is_free(node, total)
            if part.opcode == "pad" and (is_filled or _is_padded(live, node)):
                return _added(graph, _begun(graph, total), *_place(graph, part))
            places, own = _places(part), _places(total) if live.count(total) == 1 else ()
            if _has_gaps(part) and any(map(_are_apart, places, own, node.shape)):
                return _interleaved(graph, (total, own), (part, places))
        return None

    def is_free(node: Node, total: Node) -> bool:
        """Whether the rest of a total may stay without 0 added to it."""
        is_sure = is_never_minus_zero(total, totals=totals)
        return is_sure or not sign_matters(live, node, is_entry=function.is_entry)

    rewrite(function, ("add",), rule, supports)
    own_arrays(function, supports)


def _totals(loops: Iterable[Loop]) -> set[Node]:
    """The carried values of loops that are never -0: they are not initially, and stay so."""
    carries = [carry for loop in loops for carry in loop.carries if carry.following is not None]
    found = {carry.parameter for carry in carries if is_never_minus_zero(carry.initial)}
    while True:
        known = frozenset(found)
        changed = [carry for carry in carries if carry.parameter in known and carry.following is not None]
        found = {carry.parameter for carry in changed if is_never_minus_zero(carry.following, totals=known)}  # type: ignore[arg-type]
        if found == known:
            return found


def _is_padded(live: LiveNodes, node: Node) -> bool:
    """Whether a sum is, or is part of, a sum of several padded parts."""
    while any(user.opcode == "add" and user.shape == node.shape for user in live.users(node)):
        if live.count(node) > 1:
            break
        (node,) = live.users(node)
    return sum(1 for _ in _pads(live, node)) >= _FEWEST_PADS


def _pads(live: LiveNodes, node: Node) -> Iterator[Node]:
    for operand in node.operands[: 2 if node.opcode == "add" else 1]:
        if operand.opcode == "pad" and is_zero(operand.operands[1]):
            yield operand
        elif operand.opcode in ("add", "update_at") and operand.shape == node.shape and live.count(operand) == 1:
            yield from _pads(live, operand)
    if node.opcode == "update_at":
        yield node


def _is_filled(live: LiveNodes, total: Node) -> bool:
    """Whether a total is made of zeros by assignments and additions to its parts, and nothing else reads it."""
    while total.opcode in ("setitem", "update_at") and live.count(total) == 1:
        total = total.operands[0]
        if is_zeros(total):
            return True
    return False


def _is_scattered(node: Node) -> bool:
    """Return whether a node is zeros to which values are added at some positions, so that rounding in another order is
    exact enough. To a large total, many small values would be lost one by one.
    """
    return _adds(node) and (node.type.is_integral or is_full_float(node.type)) and is_zeros(node.operands[0])


def _is_from_zeros(node: Node) -> bool:
    """Return whether a node is zeros to which values are added at some positions, perhaps several times."""
    while _adds(node):
        node = node.operands[0]
    return is_zeros(node)


def _adds(node: Node) -> bool:
    is_update = node.opcode == "update_at" or (node.opcode == "prelude" and node.parameters["function"] in _SCATTERS)
    return is_update and _ADD in (node.parameters.get("ufunc"), *node.parameters.get("arguments", ()))


def _scattered(graph: Graph, live: LiveNodes, total: Node, part: Node) -> Node:
    """Return a total to which what was scattered into zeros is added; values at the positions of the last addition are
    added to those.
    """
    _, values, *places = part.operands
    if live.count(total) == 1 and total.opcode == part.opcode and total.parameters == part.parameters:
        before, others, *known = total.operands
        if known == places and others.shape == values.shape and others.element_type is values.element_type:
            both = graph.add("add", (others, values))
            return with_operands(graph, total, (before, both, *places))
    return with_operands(graph, part, (_begun(graph, total), values, *places))


def _begun(graph: Graph, total: Node) -> Node:
    """Return zeros with a row or an element stored for a total that is one, padded; else the total."""
    if total.opcode != "pad":
        return total
    operands, index = _place(graph, total)
    if not any(isinstance(item, int) for item in index):
        return total
    zeros = filled(graph, graph.literal(0, total.type), total.shape)
    return graph.add("setitem", (zeros, *operands), index=index)


def _place(graph: Graph, pad: Node) -> tuple[tuple[Node, ...], tuple[object, ...]]:
    """Return the part that was padded, and the index that selects it in the whole. Rows and elements that have their
    own names are selected by their number, ``x[2]`` for ``x[2:3]``.
    """
    part, sizes = pad.operands[0], tuple(zip(pad.parameters["widths"], pad.shape, strict=True))
    is_one = [low + high == size - 1 > 0 for (low, high), size in sizes]
    if part.opcode == "broadcast_to" and not part.operands[0].ndim:
        row = part.operands[0]
    elif part.parameters.get("keepdims") and all(is_one[axis] for axis in part.parameters["axes"]):
        row = _without_kept(graph, part, is_one)
    else:
        row = getitem(graph, part, tuple(0 if one else FULL for one in is_one))
    is_named = row.opcode != "getitem" or row.operands[0] is not part
    return (row if is_named else part,), tuple(
        FULL if low == high == 0 else low if one and is_named else (low or None, size - high if high else None, None)
        for one, ((low, high), size) in zip(is_one, sizes, strict=True)
    )


def _without_kept(graph: Graph, part: Node, is_one: Sequence[bool]) -> Node:
    """Return a reduction without the axes that it keeps, and without other axes of which one row is added."""
    given = {**part.parameters, "keepdims": False}
    total = graph.add(part.opcode, part.operands, element_type=part.element_type, interval=part.interval, **given)
    left = (one for axis, one in enumerate(is_one) if axis not in part.parameters["axes"])
    return getitem(graph, total, tuple(0 if one else FULL for one in left))


def _interleaved(graph: Graph, *parts: tuple[Node, tuple[object, ...]]) -> Node:
    """Return an array with padded parts at places that are apart. They are assigned if they fill it and have no -0,
    which adding 0 would lose; else they are added to zeros.
    """
    whole = parts[0][0]
    arrays = [part.operands[0] for part, _ in parts]
    if sum(prod(x.shape) for x in arrays) == prod(whole.shape) and all(map(is_never_minus_zero, arrays)):
        made = graph.add("empty", (), shape=whole.shape, element_type=whole.element_type, pinned=True)
        for x, (_, places) in zip(arrays, parts, strict=True):
            made = graph.add("setitem", (made, x), index=places)
        return made
    made = filled(graph, graph.literal(0, whole.type), whole.shape)
    for x, (_, places) in zip(arrays, parts, strict=True):
        made = _added(graph, made, (x,), places)
    return made


def _are_apart(place: object, other: object, size: int) -> bool:
    """Return whether two slices of an axis are known to have no element in common."""
    one, two = sorted((_range(place, size), _range(other, size)), key=len)
    if one.step == two.step and (one.start - two.start) % one.step:
        return True
    return len(one) <= _FEW and not any(position in two for position in one)


def _range(place: object, size: int) -> range:
    return range(*slice(*place).indices(size)) if isinstance(place, tuple) else range(size)


def _has_gaps(node: Node) -> bool:
    """Return whether an array is padded with zeros between its elements."""
    return node.opcode == "prelude" and node.parameters["function"] == "pad" and is_zero(node.operands[1])


def _places(node: Node) -> tuple[object, ...]:
    """Return the index, in an array that is padded with zeros, of the elements that were padded; else nothing."""
    if _has_gaps(node):
        gaps, widths = node.parameters["keywords"]["interior"], node.parameters["arguments"][2]
    elif node.opcode == "pad" and is_zero(node.operands[1]):
        gaps, widths = (0,) * node.ndim, node.parameters["widths"]
    else:
        return ()
    index: list[object] = []
    for n, size, gap, (low, high) in zip(node.operands[0].shape, node.shape, gaps, widths, strict=True):
        if min(low, high) < 0 or not n:
            return ()
        end = low + (n - 1) * (gap + 1) + 1
        place = low or None, end if end + gap < size else None, gap + 1 if gap else None
        index.append(FULL if place == (None, None, None) else place)
    return tuple(index)


def _added(graph: Graph, total: Node, operands: tuple[Node, ...], index: tuple[object, ...]) -> Node:
    return graph.add("update_at", (total, *operands), index=index, ufunc=_ADD, distinct=True)
