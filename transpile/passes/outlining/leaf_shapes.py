"""Adds unit axes to operations that lowering wrote without them, if the same operations on other arrays have them: in
the update of a last layer, the weights are ``[n, 1]`` and the gradient ``[n]``, the bias is ``[1]`` and its gradient a
number.

Lowering leaves unit axes out as long as nothing needs them. Functions for repeated code do not depend on sizes, but
take arrays or numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable
from math import prod
from typing import Any

from ...array.graph import Graph
from ...array.live import LiveNodes
from ...array.node import Node
from ...array.value import NEW
from ...dataclass import dataclass
from ...hlo.element_types import PRED
from .replacing import readers_in


@dataclass(frozen=True, slots=True)
class _Widened:
    """A component, and what only it reads of another shape: ``inner``, whose elements get their axes by ``index``."""

    nodes: list[Node]
    inner: frozenset[Node] = frozenset()
    index: tuple[Any, ...] = ()

    @property
    def form(self) -> Hashable:
        """Return how often each operation occurs: components that are alike have the same form."""
        return frozenset(Counter(node.opcode for node in (*self.nodes, *self.inner)).items())


def widen(graph: Graph, live: LiveNodes, parts: list[list[Node]], least_copies: int, least_work: int) -> bool:
    """Return whether parts of components got their axes: then there are so many components that are alike, some of so
    much work. A number that several alike ones read stays a number.
    """
    found = [_widened(nodes, live) for nodes in parts]
    forms = [one.form for one in found]
    counts = Counter(forms)
    chosen = [(one, form) for one, form in zip(found, forms, strict=True) if one.inner and counts[form] >= least_copies]
    if all(len(one.nodes) + len(one.inner) < least_work for one, _ in chosen):
        return False
    form_of = {node: form for one, form in zip(found, forms, strict=True) for node in (*one.nodes, *one.inner)}
    for one, form in chosen:
        inside = {*one.nodes, *one.inner}
        inputs = {operand for node in one.inner for operand in node.operands} - one.inner
        others = {node: [user for user in live.users(node) if user not in inside] for node in inputs}
        shared = {node for node in inputs if any(form_of.get(user) == form for user in others[node])}
        _widen(graph, live, one, {node for node in inputs if node.ndim or not (node.is_literal or node in shared)})
    live.flush()
    return True


def _widened(nodes: list[Node], live: LiveNodes) -> _Widened:
    inside, shape, readers = set(nodes), nodes[0].shape, readers_in(live)
    starts: dict[Node, tuple[Any, ...]] = {}  # with the index that gives each its axes
    around = set(inside)  # what may read them
    for node in nodes:
        for operand in node.operands:
            if operand.opcode == "expand" and inside.issuperset(readers(operand)):
                starts[operand.operands[0]] = operand.parameters["index"]
                around.add(operand)
            elif not operand.ndim and prod(shape) == 1:
                starts[operand] = (NEW,) * len(shape)
    inner, waiting = set[Node](), [node for node in starts if _computes(node)]
    while waiting:
        node = waiting.pop()
        if node not in inner:
            inner.add(node)
            waiting += [operand for operand in node.operands if _computes(operand) and operand.shape == node.shape]
    while outer := {node for node in inner if not (around | inner).issuperset(readers(node))}:
        inner -= outer
    indices = {starts[node] for node in inner if node in starts}
    shapes = {node.shape for node in inner}
    shapes |= {operand.shape for node in inner for operand in node.operands if operand.ndim}
    return _Widened(nodes, frozenset(inner), *indices) if len(indices) == len(shapes) == 1 else _Widened(nodes)


def _computes(node: Node) -> bool:
    is_number = node.element_type is PRED or (node.element_type is not None and node.type.is_floating)
    return is_number and node.operation.is_elementwise and not node.is_literal and not node.stands_alone


def _widen(graph: Graph, live: LiveNodes, one: _Widened, own: Collection[Node]) -> None:
    made: dict[Node, Node] = {}

    def wide(node: Node) -> Node:
        if node not in made and node in own:
            made[node] = graph.add("expand", (node,), index=one.index)
        elif node not in made and node in one.inner:
            operands, given = tuple(map(wide, node.operands)), node.parameters
            with graph.in_place_of(node):
                new = graph.add(node.opcode, operands, element_type=node.element_type, interval=node.interval, **given)
            made[node] = new
        return made.get(node, node)

    starts = {operand for node in one.nodes for operand in node.operands}
    for start in starts:
        source = start.operands[0] if start.opcode == "expand" else start
        if source in one.inner:
            with graph.recording() as recorded:
                new = wide(source)
                if new.ndim < len(one.index):
                    new = graph.add("expand", (new,), index=one.index)
            live.replace(start, new, recorded)
