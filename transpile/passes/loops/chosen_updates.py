"""Puts what is computed only under a condition behind a test.

``if ok: x[i] = value`` stands for ``np.where(ok, updated, x)``, which copies the array twice, and for
``x[i] = np.where(ok, value, x[i])``. Where a loop carries x, ``if not done: x = step(x)`` stands for
``np.where(done, x, step(x))``, which computes in vain. All choices of one mask are under one test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import partial

from ...array.graph import Graph
from ...array.in_place import is_own_array
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node, Slot
from ...array.program import Branch, Function
from ...array.rewriting import copied, rewrite
from ...array.support import Support
from ...array.traversal import dependencies, is_inside, topological
from ...array.value import read_index
from ...dataclass import dataclass
from .own_arrays import own_arrays

_OPPOSITE = {"EQ": "NE", "NE": "EQ", "LT": "GE", "GE": "LT", "GT": "LE", "LE": "GT"}  # of integers


def chosen_updates(function: Function, supports: Support) -> None:
    """Replace choices between an array and what is computed in its place."""
    features = supports.features
    if not features.arrays_are_mutable:
        return
    live = live_nodes(function)
    if features.elements_are_numbers:
        rewrite(function, ("setitem",), partial(_kept_part, function.graph), supports)
        rewrite(function, ("select",), _Choices(function.graph, live).chosen, supports)
    else:
        rewrite(function, ("select",), partial(_stored, function.graph, live), supports)
    own_arrays(function, supports)


def _stored(graph: Graph, live: LiveNodes, node: Node) -> Node | None:
    """Return an array in which an update stores either something new or what was there, in place of a choice between
    the updated and the old array: a test would wait for the device. None if a choice is of something else.
    """
    mask, *choices = node.operands
    for new, old in (choices, choices[::-1]):
        is_update = new.opcode == "setitem" and new.operands[0] is old and live.count(new) == 1
        if is_update and not mask.ndim and node.region.is_in_loop:
            _, value, *places = new.operands
            part = graph.add("getitem", (old, *places), index=read_index(new.parameters["index"]))
            either = (value, part) if new is choices[0] else (part, value)
            chosen = graph.add("select", (mask, *either), element_type=node.element_type)
            return graph.add("setitem", (old, chosen, *places), pinned=True, **new.parameters)
    return None


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
            kept = Branch(node.region.child("branch"), [x])
            (item,) = _under(graph, mask, changed, kept, is_negated=new is choices[1])
            return item
    return None


@dataclass(slots=True)
class _Choices:
    """The choices of a function, and what stands for those that are under one test with an earlier one."""

    graph: Graph
    live: LiveNodes
    replaced: dict[Node, Node] = field(default_factory=dict)

    def chosen(self, node: Node) -> Node | None:
        """Return what is computed under a test, or None if a choice is of something else."""
        if node in self.replaced or node.operands[0].ndim or not node.ndim:
            return self.replaced.get(node)
        for is_negated in (False, True):
            choices = self._under_one_test(node, is_negated=is_negated)
            inside = self._only_for(choices, is_negated=is_negated)
            paying = [each for each in choices if self._pays(_given(each, is_negated), inside)]
            if node in paying:
                if len(paying) < len(choices):
                    inside = self._only_for(paying, is_negated=is_negated)
                self._write(paying, inside, is_negated=is_negated)
                return self.replaced[node]
        return None

    def _under_one_test(self, node: Node, *, is_negated: bool) -> list[Node]:
        """Return a node and other choices with its mask, if they keep an array or change it, or keep what a loop
        carries; none of them needs another.
        """
        if not _keeps(node, is_negated):
            return []
        mask, found, needed = node.operands[0], [node], set(_needed(node))
        for other in self.live.users(mask):
            if other.opcode == "select" and other.region is node.region and _keeps(other, is_negated):
                own = {other, *_needed(other)}
                if other not in needed and own.isdisjoint(found):
                    found.append(other)
                    needed |= own
        return found

    def _pays(self, given: Node, inside: Sequence[Node]) -> bool:
        """Tell whether a test is better for what a choice gives: it is computed only then, or need not be copied."""
        return given in inside or not given.ndim or (is_own_array(given) and not _is_update(given))

    def _only_for(self, choices: Sequence[Node], *, is_negated: bool) -> list[Node]:
        """Return what is computed only for the changes that choices make, operands first."""
        given = dict.fromkeys(_given(choice, is_negated) for choice in choices)
        others = {operand for choice in choices for operand in choice.operands} - {*given}
        inside = set[Node]()
        body = topological(given, lambda node: [each for each in node.operands if each.region is node.region])
        for node in reversed(body):
            is_own = _is_update(node) or not (node.stands_alone or node.results)
            is_made = node.operands and node.opcode != "item" and node.region is choices[0].region
            is_kept = node in others or self.live.is_root(node)
            readers = inside.union(choices) if node in given else inside
            if is_own and is_made and not is_kept and readers.issuperset(self.live.users(node)):
                inside.add(node)
        return [node for node in body if node in inside]

    def _write(self, choices: Sequence[Node], inside: Sequence[Node], *, is_negated: bool) -> None:
        """Compute what choices change under a test of their mask."""
        changed = Branch(choices[0].region.child("branch"))
        copies: dict[Node, Node] = {}
        for part in inside:
            operands = tuple(copies.get(operand, operand) for operand in part.operands)
            with self.graph.coming_as(part, self.graph), self.graph.inside(changed.region):
                copy = copied(self.graph, part, operands, part.interval, part.parameters, pinned=True)
            copies[part] = self.graph.valued(copy, part, self.graph)
        changed.results = [copies.get(given, given) for given in (_given(choice, is_negated) for choice in choices)]
        kept = Branch(choices[0].region.child("branch"), [_kept(choice, is_negated) for choice in choices])
        items = _under(self.graph, choices[0].operands[0], changed, kept, is_negated=is_negated)
        self.replaced.update(zip(choices, items, strict=True))


def _under(graph: Graph, mask: Node, changed: Branch, kept: Branch, *, is_negated: bool) -> list[Node]:
    """Return what a branch makes of values, if a mask, or its opposite, holds, that another keeps."""
    if (
        is_negated
        and mask.opcode == "compare"
        and (mask.operands[0].is_python_int or mask.operands[0].type.is_integral)
    ):
        mask = graph.add("compare", mask.operands, direction=_OPPOSITE[mask.parameters["direction"]])
        is_negated = False
    branches = (changed, kept) if is_negated else (kept, changed)
    whole = graph.add("conditional", (mask,), branches=branches)
    return [graph.add("item", (whole,), index=k) for k in range(len(kept.results))]


def _needed(choice: Node) -> list[Node]:
    """Return what a choice needs in its body, but for its mask."""
    region = choice.region
    return topological(
        choice.operands[1:], lambda node: [each for each in dependencies(node) if is_inside(each.region, region)]
    )


def _given(choice: Node, is_negated: bool) -> Node:
    """Return the new value of a choice, which it is if the mask holds, or if it does not."""
    return choice.operands[2 if is_negated else 1]


def _kept(choice: Node, is_negated: bool) -> Node:
    """Return the old value of a choice."""
    return choice.operands[1 if is_negated else 2]


def _keeps(choice: Node, is_negated: bool) -> bool:
    """Tell whether a choice keeps what the loop around it carries, or an array of which the new one is an update."""
    new, old = _given(choice, is_negated), _kept(choice, is_negated)
    if old.shape != choice.shape or new.shape != choice.shape or old.is_python_int or new.is_python_int:
        return False
    if old.opcode == "parameter" and old.region is choice.region and old.region.kind == "loop":
        return True
    while new is not old and _is_update(new) and new.region is choice.region:
        new = new.operands[0]
    return new is old and bool(old.ndim) and (choice.region.is_in_loop or is_own_array(old))


def _is_update(node: Node) -> bool:
    """Tell whether a node is its first operand with other values at some places."""
    is_scatter = node.opcode == "prelude" and node.parameters["function"] in ("scatter_at", "put_at")
    return node.operation.changes or (is_scatter and node.parameters["arguments"][0] == Slot(0))
