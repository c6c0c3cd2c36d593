"""The structure of functions as keys: equal for functions that compute the same."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from .graph import frozen
from .node import Node
from .program import Function, roots
from .traversal import topological


def structure(function: Function, form: Callable[[Node], Hashable]) -> Hashable:
    """Return a key of a function's operations, in order, with numbers in place of nodes. ``form`` returns what must be
    equal of two nodes beside their operations; loops and branches are only equal to themselves.
    """
    places = {node: k for k, node in enumerate(function.parameters)}
    steps = []
    for node in topological(roots(function)):
        if node not in places:
            places[node] = len(places)
            operands = tuple(places[operand] for operand in node.operands)
            steps.append((node.opcode, operands, frozen(node.parameters), form(node)))
    return tuple(map(form, function.parameters)), tuple(steps), tuple(places[node] for node in roots(function))
