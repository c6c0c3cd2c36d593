"""A sort by keys no longer puts arrays in order that nobody reads."""

from __future__ import annotations

from ..array.live import LiveNodes, live_nodes
from ..array.node import Node, Slot
from ..array.program import Function
from ..array.rewriting import rewrite
from ..array.support import Support


def unread_results(function: Function, supports: Support) -> None:
    """Sort only those operands of ``sort_by_keys`` whose order something reads."""
    live = live_nodes(function)
    sorts = [node for node in live.of(("prelude",)) if node.parameters["function"] == "sort_by_keys"]
    shorter = {node: (read, _of(function, node, read)) for node in sorts if (read := _read(live, node))}

    def rule(node: Node) -> Node | None:
        if node.operands[0] not in shorter:
            return None
        read, made = shorter[node.operands[0]]
        return function.graph.add("item", (made,), index=read.index(node.parameters["index"]))

    if shorter:
        rewrite(function, ("item",), rule)


def _read(live: LiveNodes, node: Node) -> list[int]:
    """Return the numbers of the results that are read; none where these are all."""
    users = live.users(node)
    if any(user.opcode != "item" for user in users):
        return []
    read = sorted({user.parameters["index"] for user in users})
    return read if len(read) < len(node.parameters["arguments"][1]) else []


def _of(function: Function, node: Node, read: list[int]) -> Node:
    """Return a sort by the same keys that gives these results."""
    keys, operands, axis = node.parameters["arguments"]
    kept = [*keys, *(operands[number] for number in read)]
    slots = tuple(map(Slot, range(len(kept))))
    arguments = (slots[: len(keys)], slots[len(keys) :], axis)
    return function.graph.add(
        "prelude",
        tuple(node.operands[slot.index] for slot in kept),
        function="sort_by_keys",
        arguments=arguments,
        keywords=node.parameters["keywords"],
    )
