"""A carry that a loop stores before and after each iteration is stored once: ``hs[i + 1] = h``, with ``hs[0] = h``
before the loop.

Gradients save both: the input of a step, and the value that the derivative is computed from.
"""

from __future__ import annotations

from functools import partial

from ...array.affine import affine
from ...array.graph import Graph
from ...array.live import live_nodes
from ...array.node import Node
from ...array.program import Carry, Function, Loop
from ...array.rewriting import rewrite
from ...array.support import Support
from ...array.value import FULL, getitem
from ..to_array.counters import from_affine
from .dead_carries import unread_carries
from .loop_rows import add_rows, is_counted_store, is_row, row_at

_Kept = dict[tuple[Node, int], tuple[int, int]]  # by loop and output: the output with all states, and the first row


def kept_states(function: Function, supports: Support) -> None:
    """Store the states before and after all iterations of a loop in one array."""
    if not supports.features.arrays_are_mutable:
        return
    kept: _Kept = {}
    live = live_nodes(function)
    returned = {(item.operands[0], item.parameters["index"]) for item in live.of(("item",)) if live.is_root(item)}
    for node in live.of(("loop",)):
        loop: Loop = node.parameters["loop"]
        stores = {store.value: store.carry for store in loop.stores if is_counted_store(store, loop)}
        for carry in [*loop.carries] if loop.is_fixed and (loop.start, loop.step) == (0, 1) else ():
            values = (carry.parameter, carry.following)
            outputs = [loop.carries.index(stores[value]) for value in values if value in stores]
            if len(outputs) == 2 and returned.isdisjoint((node, output) for output in outputs):
                whole = _with_states(function.graph, node, loop, carry)
                kept.update(((node, output), (whole, first)) for first, output in enumerate(outputs))
    if kept:
        function.live = None
        slices: dict[Node, tuple[Node, int]] = {}
        rewrite(function, ("item", "getitem"), partial(_of_states, function.graph, kept, slices))
        unread_carries(function, supports)


def _with_states(graph: Graph, node: Node, loop: Loop, carry: Carry) -> int:
    """Let a loop store all states of a carry; return the index of that output."""
    value = carry.following
    assert value is not None and loop.counter is not None
    with graph.inside(node.region):
        shape = loop.stop + 1, *value.shape
        empty = graph.add("empty", (), shape=shape, element_type=value.element_type, pinned=True)
        initial = graph.add("setitem", (empty, carry.initial), index=(0, *(FULL,) * value.ndim), pinned=True)
    with graph.inside(loop.region):
        place = from_affine(graph, {loop.counter: 1}, 1, loop.counter.element_type)
    return add_rows(graph, node, initial, place, value)


def _of_states(graph: Graph, kept: _Kept, slices: dict[Node, tuple[Node, int]], node: Node) -> Node | None:
    """Read a former output, or a row of it, from the array with all states."""
    if node.opcode == "getitem":
        if node.operands[0] not in slices:
            return None
        if len(node.operands) == 1:  # a constant row, or a slice
            return getitem(graph, node.operands[0], node.parameters["index"])
        if not is_row(node):
            return None
        states, first = slices[node.operands[0]]
        terms, constant = affine(node.operands[1])
        return row_at(graph, states, from_affine(graph, dict(terms), constant + first, node.operands[1].element_type))
    key = node.operands[0], node.parameters["index"]
    if key not in kept:
        return None
    number, first = kept[key]
    states = graph.add("item", (node.operands[0],), index=number)
    part = getitem(graph, states, ((first or None, None if first else node.shape[0], None), *(FULL,) * (node.ndim - 1)))
    slices[part] = states, first
    return part
