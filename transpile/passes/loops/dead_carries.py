"""A loop no longer carries values that only its own next iteration would read, nor does a branch return results that
nothing reads. Equal outputs that a loop stacks are stacked once: gradients of library code save the same values under
several names.
"""

from __future__ import annotations

from collections.abc import Hashable

from ...array.live import live_nodes, renew_initials
from ...array.node import Node
from ...array.program import Branch, Carry, Function, Loop, roots
from ...array.rewriting import rewrite
from ...array.support import Support
from ...array.traversal import dependencies


def equal_stores(function: Function, supports: Support) -> None:
    """Read the first of several equal stacked outputs of a loop instead of the others, so that nothing reads those."""
    first: dict[tuple[Node, int], int] = {}
    for node in live_nodes(function).of(("loop",)):
        loop: Loop = node.parameters["loop"]
        seen: dict[Hashable, int] = {}
        for k, carry in enumerate(loop.carries):
            key = _stacked(loop, carry)
            if key is not None and (before := seen.setdefault(key, k)) != k:
                first[node, k] = before
    if first:
        rewrite(function, ("item",), lambda node: _first(function, node, first))


def _stacked(loop: Loop, carry: Carry) -> Hashable | None:
    """A key that is equal for carries that end as the same array; None for one that is no stacked output."""
    store = next((store for store in loop.stores if store.carry is carry), None)
    if store is None or carry.initial.opcode != "empty":
        return None
    return carry.parameter.shape, carry.parameter.element_type, store.index, store.indices, store.value


def _first(function: Function, node: Node, first: dict[tuple[Node, int], int]) -> Node | None:
    loop, k = node.operands[0], node.parameters["index"]
    return function.graph.add("item", (loop,), index=first[loop, k]) if (loop, k) in first else None


def unread_carries(function: Function, supports: Support) -> None:
    """Remove the carries, and the results of branches, that no result, condition, effect or other carry needs."""
    live = live_nodes(function)
    bodies = live.of(("loop", "conditional"))
    read = _read(function, bodies) if bodies else {}
    for node in bodies:
        if 0 < len(read[node]) < len(node.results):
            items = [user for user in live.users(node) if user.opcode == "item"]
            _keep(function, node, sorted(read[node]), items)
            function.live = None


def _read(function: Function, bodies: list[Node]) -> dict[Node, set[int]]:
    """For each loop and conditional, the indices of the results that are needed by something other than the carry
    itself.
    """
    loops = [node for node in bodies if node.opcode == "loop"]
    owners = {carry.parameter: (node, k) for node in loops for k, carry in enumerate(node.parameters["loop"].carries)}
    read: dict[Node, set[int]] = {node: set() for node in bodies}
    seen: set[Node] = set()
    waiting = roots(function)

    def reads(node: Node, k: int) -> None:
        if k not in read[node]:
            read[node].add(k)
            waiting.append(node)
            waiting.extend(_behind_result(node, k))

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
            waiting += _in_any_case(node)
        else:
            for whole in read.keys() & {*node.operands}:
                for k in range(len(whole.results)):
                    reads(whole, k)
            waiting += dependencies(node)
    return read


def _behind_result(node: Node, k: int) -> list[Node]:
    """The nodes from which one result of a loop or conditional is computed."""
    if node.opcode == "conditional":
        return [branch.results[k] for branch in node.parameters["branches"]]
    loop: Loop = node.parameters["loop"]
    carry = loop.carries[k]
    stores = [node for store in loop.stores if store.carry is carry for node in (store.value, *store.indices)]
    return [carry.initial, *((carry.following,) if carry.following is not None else ()), *stores]


def _in_any_case(node: Node) -> list[Node]:
    """The nodes that a loop or conditional needs whichever of its results are read."""
    needed = [node.parameters.get("after")]
    if node.opcode == "conditional":
        needed += [*node.operands, *(branch.effect for branch in node.parameters["branches"])]
    else:
        loop: Loop = node.parameters["loop"]
        needed += [loop.condition, loop.effect, loop.count, *(loop.bounds or ())]
    return [each for each in needed if each is not None]


def _keep(function: Function, node: Node, kept: list[int], items: list[Node]) -> None:
    """Restrict a loop or conditional to the results ``kept``, renumbering its ``items`` and parameters."""
    graph = function.graph
    numbers = {old: new for new, old in enumerate(kept)}
    left = [item for item in items if item.parameters["index"] in numbers]
    loop: Loop | None = node.parameters.get("loop")
    parameters = [carry.parameter for carry in loop.carries] if loop is not None else []
    for each in (node, *items, *parameters):
        graph.forget(each)
    for item in left:
        item.parameters["index"] = numbers[item.parameters["index"]]
    if loop is not None:
        _keep_carries(node, loop, kept)
        parameters = [carry.parameter for carry in loop.carries]
    else:
        branches: tuple[Branch, ...] = node.parameters["branches"]
        for branch in branches:
            branch.results = [branch.results[k] for k in kept]
    object.__setattr__(node, "results", tuple(node.results[k] for k in kept))
    known = {node, *left, *parameters}
    for each in known:
        graph.remember(each, known.__contains__)


def _keep_carries(node: Node, loop: Loop, kept: list[int]) -> None:
    loop.carries = [loop.carries[k] for k in kept]
    loop.stores = [store for store in loop.stores if store.carry in loop.carries]
    for k, carry in enumerate(loop.carries):
        carry.parameter.parameters["carry"] = k
    renew_initials(node)
