"""Unread results of calls: sorts by keys no longer reorder arrays that nothing reads, and ``top_k`` finds no indices
that nothing reads.
"""

from __future__ import annotations

from ...array.live import LiveNodes, live_nodes
from ...array.node import Node, Slot
from ...array.program import Function
from ...array.rewriting import prelude_call, rewrite
from ...array.support import Support

_LEAST_BITS = 16  # of floats that can be ordered as integers of their width


def unread_results(function: Function, supports: Support) -> None:
    """Sort only those operands of ``sort_by_keys`` whose sorted form is read; a ``top_k`` whose indices are unread
    becomes ``top_values``.
    """
    live = live_nodes(function)
    results: dict[tuple[Node, int], Node] = {}
    for node in live.of(("prelude",)):
        if node.parameters["function"] == "sort_by_keys":
            if read := _read(live, node, len(node.parameters["arguments"][1])):
                shorter = _sort_of(function, node, read)
                results |= {(node, i): function.graph.add("item", (shorter,), index=k) for k, i in enumerate(read)}
        elif node.parameters["function"] == "top_k" and _read(live, node, 2) == [0]:
            values = _values_of(function, node)
            if values is not None and supports(values):
                results[node, 0] = values
    if results:
        rewrite(function, ("item",), lambda node: results.get((node.operands[0], node.parameters["index"])))


def _read(live: LiveNodes, node: Node, count: int) -> list[int]:
    """The indices of the results that are read, out of ``count``; none if all of them are."""
    users = live.users(node)
    if any(user.opcode != "item" for user in users):
        return []
    read = sorted({user.parameters["index"] for user in users})
    return read if len(read) < count else []


def _sort_of(function: Function, node: Node, read: list[int]) -> Node:
    """A sort by the same keys that returns only these results."""
    keys, operands, axis = node.parameters["arguments"]
    kept = [*keys, *(operands[number] for number in read)]
    slots = tuple(map(Slot, range(len(kept))))
    arguments = (slots[: len(keys)], slots[len(keys) :], axis)
    operands = tuple(node.operands[slot.index] for slot in kept)
    return prelude_call(function.graph, "sort_by_keys", operands, arguments, node.parameters["keywords"])


def _values_of(function: Function, node: Node) -> Node | None:
    """A call that finds only the values of a ``top_k``, or None for types that it does not support."""
    (x,) = node.operands
    if x.type.bits < (_LEAST_BITS if x.type.is_floating else 8):
        return None
    arguments, keywords = node.parameters["arguments"], node.parameters["keywords"]
    return prelude_call(function.graph, "top_values", node.operands, arguments, keywords)
