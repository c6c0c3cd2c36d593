"""A loop's output whose rows are made of other rows that the loop stores, in a few cheap operations, is not stored: who
reads a row computes it, ``1 - tanhs[i]`` in place of ``differences[i]``. Nor are rows of what the loop itself reads,
what it counts, and what is the same in every round; nor ``x[None]`` and ``x.T``, but ``x``. Derivatives are full of
such rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...array.affine import affine
from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node
from ...array.program import Function, Loop
from ...array.rewriting import rewrite, with_operands
from ...array.support import Support
from ...array.traversal import is_inside
from ...array.value import getitem
from ...dataclass import dataclass
from ..calls.inlining import copy_of, operations_between
from ..to_array.counters import from_affine
from .dead_carries import unread_carries
from .loop_rows import is_counted_store, is_line, of_all_rounds, read_by_rows, row_at

_MOST_OPERATIONS = 3  # of one row
_SEEN_OTHERWISE = ("expand", "transpose")


def rematerialization(function: Function, supports: Support) -> None:
    """Compute cheap rows again where loops read them."""
    if not supports.features.arrays_fit_memory:
        return
    graph = function.graph
    for node in live_nodes(function).of(("loop",)):
        _store_sources(graph, node, live_nodes(function))
    live = live_nodes(function)
    outputs = {item: rows for loop in live.of(("loop",)) for item, rows in _cheap_outputs(function, loop, live)}
    if not outputs:
        return

    def computed(node: Node) -> Node | None:
        source, index = node.operands[0], node.parameters["index"]
        if len(node.operands) == 1:
            return getitem(graph, source, index) if source.opcode == "expand" else None
        rows = outputs.get(source)
        return None if rows is None else rows.computed(graph, rows.value, node)

    rewrite(function, ("getitem",), computed, supports)
    unread_carries(function, supports)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The ``value`` of a row of a ``loop``'s output, and ``outputs`` that hold other values of the same iteration."""

    value: Node
    outputs: dict[Node, Node]
    loop: Loop

    def operations(self, value: Node) -> int:
        """Return the number of operations that compute a value from available ones; more than the limit if others are
        needed.
        """
        if value.is_literal or value in self.outputs or self._is_outside(value) or self._is_input(value):
            return 0
        if value.is_python_int:
            return 0 if self._is_counted(value) else _MOST_OPERATIONS + 1
        if value.opcode in ("scalar", *_SEEN_OTHERWISE) or _is_part(value):
            return self.operations(value.operands[0])
        is_cheap = value.operation.is_elementwise and not value.operation.is_costly
        if not is_cheap or any(part.shape not in ((), value.shape) for part in value.operands):
            return _MOST_OPERATIONS + 1
        return 1 + sum(map(self.operations, value.operands))

    def _is_outside(self, value: Node) -> bool:
        return not is_inside(value.region, self.loop.region)

    def _is_input(self, value: Node) -> bool:
        """Return whether a value is the row or column at the counter, or near to it, of an array from outside of the
        loop.
        """
        return is_line(value) and self._is_outside(value.operands[0]) and self._is_counted(value.operands[1])

    def _is_counted(self, number: Node) -> bool:
        """Return whether a Python int is arithmetic on the counter alone."""
        return [*affine(number)[0]] == [self.loop.counter]

    def computed(self, graph: Graph, value: Node, row: Node) -> Node:
        """Return the value of the iteration whose ``row`` is read."""
        if value in self.outputs:
            return row_at(graph, self.outputs[value], row.operands[1])
        if self._is_outside(value):
            return value
        if value.is_python_int:
            (coefficient, *_), constant = affine(value)[0].values(), affine(value)[1]
            moved = dict.fromkeys((row.operands[1],), coefficient)
            return from_affine(graph, moved, constant, value.element_type)
        operands = tuple(self.computed(graph, part, row) for part in value.operands)
        if _is_part(value):
            return getitem(graph, operands[0], value.parameters["index"])
        return with_operands(graph, value, operands)


def _store_sources(graph: Graph, node: Node, live: LiveNodes) -> None:
    """Let a loop store ``x`` instead of ``x[None]`` and ``x.T``."""
    loop: Loop = node.parameters["loop"]
    for value, item in read_by_rows(node, live).items():
        source = value
        while source.opcode in _SEEN_OTHERWISE:
            (source,) = source.operands
        if source is not value and _Rows(source, {}, loop).operations(source) > _MOST_OPERATIONS:
            of_all_rounds(graph, node, source, item.shape[0])


def _is_part(value: Node) -> bool:
    """Return whether a value is a part of another one at a fixed place."""
    return value.opcode == "getitem" and len(value.operands) == 1


def _cheap_outputs(function: Function, node: Node, live: LiveNodes) -> Iterator[tuple[Node, _Rows]]:
    """Yield the outputs of a loop that are only read by rows, and whose rows are cheap."""
    graph = function.graph
    loop: Loop = node.parameters["loop"]
    stored = {store.value: loop.carries.index(store.carry) for store in loop.stores if is_counted_store(store, loop)}
    items = read_by_rows(node, live)
    outputs: dict[Node, Node] = {}
    for value in sorted(stored, key=lambda value: value.number):
        item = items.get(value)
        with graph.inside(loop.region):
            is_inner = is_inside(value.region, loop.region)
            rows = _Rows(_outside_of_call(function, value, live) if is_inner else value, outputs, loop)
        if item is not None and rows.operations(rows.value) <= _MOST_OPERATIONS:
            yield item, rows
        else:
            with graph.in_place_of(node):
                outputs[value] = graph.add("item", (node,), index=stored[value])


def _outside_of_call(function: Function, value: Node, live: LiveNodes) -> Node:
    """Return the copy of a call's result that is made of the call's operands and other results, if it is small; other
    values unchanged.
    """
    call = value.operands[0] if value.opcode == "item" else value
    if call is value or call.opcode != "call":
        return value
    called: Function = call.parameters["function"]
    inside = called.flat_results
    result = inside[value.parameters["index"]]
    others = [user for user in live.users(call) if user.opcode == "item" and user is not value]
    known = {inside[other.parameters["index"]]: other for other in others}
    known |= dict(zip(called.parameters, call.operands, strict=True))
    if result in known or operations_between(known, result, _is_cheap) > _MOST_OPERATIONS:
        return value
    return copy_of(function.graph, result, known, called.graph)


def _is_cheap(node: Node) -> bool:
    return _is_part(node) or node.operation.is_elementwise
