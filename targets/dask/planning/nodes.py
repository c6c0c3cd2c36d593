"""Properties of any node: its name, shape, bytes, and whether ``main`` gets it as an argument or a number."""

from __future__ import annotations

from ....transpile.array.node import Node
from ....transpile.array.scalars import is_known_on_host


def name_of(node: Node) -> str:
    """Return the operation of a node, or the name of the function that it calls."""
    function = node.parameters.get("function")
    return str(getattr(function, "name", function)) if node.opcode in ("prelude", "library") else node.opcode


def shape_of(node: Node) -> tuple[int, ...]:
    """Return the shape of an array, or of the first result of a node with several."""
    if node.results:
        shape: tuple[int, ...] = node.results[0][0]
        return shape
    return node.shape


def is_argument(node: Node) -> bool:
    """Return whether a node is an argument of ``main``, or part of an argument that is a tuple."""
    while node.opcode == "item":
        (node,) = node.operands
    return "argument" in node.parameters


def is_plain_number(node: Node) -> bool:
    """Return whether a node is a number in ``main``, not a lazy array."""
    return node.is_python_int or node.is_literal or is_known_on_host(node)


def is_filled(node: Node) -> bool:
    """Return whether the first operand has any elements."""
    return 0 not in node.operands[0].shape
