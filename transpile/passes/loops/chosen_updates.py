"""Arrays that are updated only under a condition: a statement behind a test, which changes the array where it is.

``if ok: x[i] = value`` stands for ``np.where(ok, updated, x)``, which copies the array twice, and for
``x[i] = np.where(ok, value, x[i])``.
"""

from __future__ import annotations

from functools import partial

from ...array.graph import Graph
from ...array.in_place import is_own_array
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node, Slot
from ...array.program import Branch, Function
from ...array.rewriting import copied, rewrite
from ...array.support import Support
from ...array.traversal import topological
from ...array.value import read_index
from .own_arrays import own_arrays

_OPPOSITE = {"EQ": "NE", "NE": "EQ", "LT": "GE", "GE": "LT", "GT": "LE", "LE": "GT"}  # of integers


def chosen_updates(function: Function, supports: Support) -> None:
    """Replace choices between an array and updates of it."""
    features = supports.features
    if not (features.arrays_are_mutable and features.elements_are_numbers):
        return
    live = live_nodes(function)
    rewrite(function, ("setitem",), partial(_kept_part, function.graph), supports)
    rewrite(function, ("select",), partial(_chosen, function.graph, live), supports)
    own_arrays(function, supports)


def _kept_part(graph: Graph, node: Node) -> Node | None:
    """Return the array that is updated under a test, for an update that stores either something new or what was there;
    else None.
    """
    x, value, *places = node.operands
    if value.opcode != "select" or value.operands[0].ndim or not (node.region.is_in_loop or is_own_array(x)):
        return None
    mask, *choices = value.operands
    for new, old in (choices, choices[::-1]):
        is_read = old.opcode == "getitem" and old.operands == (x, *places)
        if is_read and old.parameters["index"] == read_index(node.parameters["index"]) and new.shape == value.shape:
            changed = Branch(node.region.child("branch"))
            with graph.inside(changed.region):
                update = copied(graph, node, (x, new, *places), node.interval, node.parameters, pinned=True)
            changed.results = [update]
            return _under(graph, node, mask, changed, x, is_negated=new is choices[1])
    return None


def _chosen(graph: Graph, live: LiveNodes, node: Node) -> Node | None:
    """Return the array that is updated under a test, or None if a choice is of something else."""
    mask, *choices = node.operands
    if mask.ndim or not node.ndim:
        return None
    for new, old in (choices, choices[::-1]):
        made_of = _updates(live, new, old, node)
        if not made_of or not (node.region.is_in_loop or is_own_array(old)):
            continue
        changed = Branch(node.region.child("branch"))
        copies: dict[Node, Node] = {}
        with graph.inside(changed.region):
            for part in made_of:
                operands = tuple(copies.get(operand, operand) for operand in part.operands)
                copy = copied(graph, part, operands, part.interval, part.parameters, pinned=True)
                copies[part] = graph.valued(copy, part, graph)
        changed.results = [copies[new]]
        return _under(graph, node, mask, changed, old, is_negated=new is choices[1])
    return None


def _under(graph: Graph, node: Node, mask: Node, changed: Branch, old: Node, *, is_negated: bool) -> Node:
    """Return what a branch makes of an old array if a mask, or its opposite, holds, in place of a node."""
    kept = Branch(node.region.child("branch"), [old])
    if (
        is_negated
        and mask.opcode == "compare"
        and (mask.operands[0].is_python_int or mask.operands[0].type.is_integral)
    ):
        mask = graph.add("compare", mask.operands, direction=_OPPOSITE[mask.parameters["direction"]])
        is_negated = False
    branches = (changed, kept) if is_negated else (kept, changed)
    return graph.add("item", (graph.add("conditional", (mask,), branches=branches),), index=0)


def _updates(live: LiveNodes, new: Node, old: Node, choice: Node) -> list[Node]:
    """Return the updates that make an array of an old one, and what they compute of earlier ones, operands first; none
    if it is not made so, or if something else reads it.
    """
    updates: set[Node] = set()
    array = new
    while array is not old:
        if not _is_update(array) or array.region is not choice.region:
            return []
        updates.add(array)
        array = array.operands[0]
    if not updates or old.shape != choice.shape:
        return []

    inside: dict[Node, None] = {}
    for node in topological([new], lambda node: [each for each in node.operands if each.region is choice.region]):
        if node in updates or any(operand in inside for operand in node.operands):
            inside[node] = None
    for node in inside:
        is_own = node in updates or not (node.stands_alone or node.results)
        readers = [choice] if node is new else inside
        if not is_own or live.is_root(node) or any(user not in readers for user in live.users(node)):
            return []
    return [*inside]


def _is_update(node: Node) -> bool:
    """Tell whether a node is its first operand with other values at some places."""
    is_scatter = node.opcode == "prelude" and node.parameters["function"] in ("scatter_at", "put_at")
    return node.operation.changes or (is_scatter and node.parameters["arguments"][0] == Slot(0))
