"""Equal outputs that a loop stacks are stacked once: gradients of library code save the same values under several
names.
"""

from __future__ import annotations

from collections.abc import Hashable

from ...array.live import live_nodes
from ...array.node import Node
from ...array.program import Carry, Function, Loop
from ...array.rewriting import rewrite
from ...array.support import Support


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
