"""Tells block functions apart that do not do the same: those that do are written once."""

from __future__ import annotations

from collections.abc import Hashable

from ....transpile.array.graph import frozen
from ....transpile.array.node import Node
from ....transpile.array.program import Function, roots
from ....transpile.array.traversal import topological


def what_it_does(function: Function) -> Hashable:
    """A key that functions share which compute the same from arguments of the same types; the function itself where
    that is not clear.

    A product is written the same way for all sizes.
    """
    parameters = {node: k for k, node in enumerate(function.parameters)}
    nodes = [node for node in topological(roots(function)) if node not in parameters]
    if any(node.stands_alone for node in nodes):
        return function
    any_size = all(node.operation.is_product for node in nodes)

    def form(node: Node) -> Hashable:
        shape = tuple(min(size, 2) for size in node.shape) if any_size else node.shape
        return shape, node.element_type, node.is_python_int, node.interval, node.results

    place = parameters | {node: len(parameters) + k for k, node in enumerate(nodes)}
    steps = [
        (node.opcode, tuple(place[x] for x in node.operands), frozen(node.parameters), form(node)) for node in nodes
    ]
    results = tuple(place[node] for node in roots(function))
    return tuple(map(form, parameters)), tuple(steps), results, function.note
