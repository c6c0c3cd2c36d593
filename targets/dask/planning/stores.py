"""Writes of a loop at computed places: a loop of ``main`` can only write at places that it knows."""

from __future__ import annotations

from ....transpile.array.program import Function, Loop, Store, roots
from ....transpile.array.scalars import is_known_on_host
from ....transpile.array.traversal import topological


def without_computed_stores(function: Function) -> None:
    """Stores at computed places become values that are carried, as any other: in a block function these are written
    in place all the same."""
    for node in topological(roots(function)):
        if node.opcode == "loop":
            loop: Loop = node.parameters["loop"]
            for store in loop.stores:
                if not all(map(is_known_on_host, store.indices)):
                    _carry(function, loop, store)
            loop.stores = [store for store in loop.stores if store.carry.following is None]


def _carry(function: Function, loop: Loop, store: Store) -> None:
    graph, carry = function.graph, store.carry
    function.live = None
    operands = (carry.parameter, store.value, *store.indices)
    with graph.inside(loop.region), graph.coming_as(store.result, graph):
        carry.following = graph.typed(
            "setitem", operands, carry.parameter.shape, carry.parameter.element_type, index=store.index
        )
