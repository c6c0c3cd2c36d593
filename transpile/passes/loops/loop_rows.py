"""Rows that loops read and store by their counters: ``x[i]`` and ``out[i] = row``."""

from __future__ import annotations

from ...array.graph import Graph
from ...array.live import LiveNodes
from ...array.node import Node, Slot
from ...array.program import Carry, Loop, Store
from ...array.traversal import is_inside
from ...array.value import FULL

Index = tuple[object, ...]


def stored_index(row: Node) -> Index:
    """Return the index at which a loop stores a row: ``out[i] = row``."""
    return Slot(2), *(FULL,) * row.ndim


def row_at(graph: Graph, x: Node, place: Node) -> Node:
    """Return ``x[place]``."""
    return graph.add("getitem", (x, place), index=(Slot(1), *(FULL,) * (x.ndim - 1)))


def is_row(node: Node) -> bool:
    """Return whether a node is a row of its operand at one Python int, such as a counter: ``x[i]``."""
    if node.opcode != "getitem" or len(node.operands) != 2 or not node.operands[1].is_python_int:
        return False
    return bool(node.parameters["index"] == (Slot(1), *(FULL,) * node.ndim))


def is_line(node: Node) -> bool:
    """Return whether a node is the slice of its operand at one Python int along one axis: ``x[:, i]``."""
    if node.opcode != "getitem" or len(node.operands) != 2 or not node.operands[1].is_python_int:
        return False
    return [item for item in node.parameters["index"] if item != FULL] == [Slot(1)]


def is_counted_row(node: Node, loop: Loop) -> bool:
    """Return whether a node is, in each iteration, the row at the loop's counter of an array from outside."""
    is_at_counter = is_row(node) and node.operands[1] is loop.counter
    return is_at_counter and not is_inside(node.operands[0].region, loop.region)


def is_counted_store(store: Store, loop: Loop) -> bool:
    """Return whether a loop stores one row in each iteration, at its counter, in an array that is otherwise
    uninitialized.
    """
    is_at_counter = store.indices == (loop.counter,) and store.index == stored_index(store.value)
    return is_at_counter and store.carry.initial.opcode == "empty"


def read_by_rows(node: Node, live: LiveNodes) -> dict[Node, Node]:
    """Return the items of a loop's outputs that are only read by rows, by the value that each iteration stores."""
    loop: Loop = node.parameters["loop"]
    stored = {loop.carries.index(store.carry): store.value for store in loop.stores if is_counted_store(store, loop)}
    items = [user for user in live.users(node) if user.opcode == "item" and user.parameters["index"] in stored]
    by_rows = (item for item in items if not live.is_root(item) and all(map(is_row, live.users(item))))
    return {stored[item.parameters["index"]]: item for item in by_rows}


def add_rows(graph: Graph, node: Node, initial: Node, place: Node, value: Node) -> int:
    """Let a loop store a value at a place in each iteration, in rows that are ``initial`` before; return the index of
    this output.
    """
    loop: Loop = node.parameters["loop"]
    number, index = len(loop.carries), stored_index(value)
    rows = graph.parameter(initial.shape, initial.element_type, loop.region, carry=number)
    with graph.inside(loop.region):
        stored = graph.add("setitem", (rows, value, place), index=index)
    loop.carries.append(Carry(initial, rows))
    loop.stores.append(Store(loop.carries[-1], index, (place,), value, stored))
    object.__setattr__(node, "results", (*node.results, (initial.shape, initial.element_type)))
    object.__setattr__(node, "operands", (*node.operands, initial))
    return number


def of_all_rounds(graph: Graph, node: Node, value: Node, count: int) -> Node:
    """Return an array of a value in all ``count`` iterations of a loop, which stores it, if need be from now on."""
    loop: Loop = node.parameters["loop"]
    assert loop.counter is not None
    stores = (store for store in loop.stores if store.value is value and is_counted_store(store, loop))
    outputs = (loop.carries.index(store.carry) for store in stores if store.carry.parameter.shape[0] == count)
    output = next(outputs, None)
    with graph.in_place_of(node):
        if output is None:
            shape, kind = (count, *value.shape), value.element_type
            initial = graph.add("empty", (), shape=shape, element_type=kind, pinned=True)
            output = add_rows(graph, node, initial, loop.counter, value)
        return graph.add("item", (node,), index=output)
