"""A loop no longer carries values that only its next iteration would read."""

from __future__ import annotations

from ..array.live import live_nodes
from ..array.node import Node
from ..array.program import Function, Loop, roots
from ..array.support import Support
from ..array.traversal import dependencies


def unread_carries(function: Function, supports: Support) -> None:
    """Leave out the carries that no result, condition, effect or other carry needs."""
    live = live_nodes(function)
    loops = live.of(("loop",))
    read = _read(function, loops) if loops else {}
    for node in loops:
        if 0 < len(read[node]) < len(node.operands):
            items = [user for user in live.users(node) if user.opcode == "item"]
            _keep(function, node, sorted(read[node]), items)
            function.live = None


def _read(function: Function, loops: list[Node]) -> dict[Node, set[int]]:
    """Return the carries of each loop that something needs beside the carry itself."""
    owners = {carry.parameter: (node, k) for node in loops for k, carry in enumerate(node.parameters["loop"].carries)}
    read: dict[Node, set[int]] = {node: set() for node in loops}
    seen: set[Node] = set()
    waiting = roots(function)

    def reads(node: Node, k: int) -> None:
        if k in read[node]:
            return
        read[node].add(k)
        loop: Loop = node.parameters["loop"]
        carry = loop.carries[k]
        waiting.extend((node, carry.initial, *((carry.following,) if carry.following is not None else ())))
        for store in loop.stores:
            if store.carry is carry:
                waiting.extend((store.value, *store.indices))

    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if node in owners:
            reads(*owners[node])
        if node.opcode == "item" and node.operands[0] in read:
            reads(node.operands[0], node.parameters["index"])
        elif node in read:
            loop = node.parameters["loop"]
            needed = (loop.condition, loop.effect, loop.count, node.parameters.get("after"))
            waiting += [each for each in needed if each is not None]
        else:
            for whole in read.keys() & {*node.operands}:
                for k in range(len(whole.operands)):
                    reads(whole, k)
            waiting += dependencies(node)
    return read


def _keep(function: Function, node: Node, kept: list[int], items: list[Node]) -> None:
    """Let a loop carry no more than these, whose ``items`` and parameters are counted anew."""
    graph, loop = function.graph, node.parameters["loop"]
    numbers = {old: new for new, old in enumerate(kept)}
    left = [item for item in items if item.parameters["index"] in numbers]
    for each in (node, *items, *(carry.parameter for carry in loop.carries)):
        graph.forget(each)
    for item in left:
        item.parameters["index"] = numbers[item.parameters["index"]]
    loop.carries = [loop.carries[k] for k in kept]
    loop.stores = [store for store in loop.stores if store.carry in loop.carries]
    for k, carry in enumerate(loop.carries):
        carry.parameter.parameters["carry"] = k
    object.__setattr__(node, "operands", tuple(carry.initial for carry in loop.carries))
    object.__setattr__(node, "results", tuple(node.results[k] for k in kept))
    known = {node, *left, *(carry.parameter for carry in loop.carries)}
    for each in known:
        graph.remember(each, known.__contains__)
