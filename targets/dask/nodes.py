"""What is asked about any node."""

from __future__ import annotations

from ...transpile.array.node import Node


def name_of(node: Node) -> str:
    """The operation, or the function that is called for it."""
    function = node.parameters.get("function")
    return str(getattr(function, "name", function)) if node.opcode in ("prelude", "library") else node.opcode


def shape_of(node: Node) -> tuple[int, ...]:
    """The shape of an array; of the first result where there are several."""
    if node.results:
        shape: tuple[int, ...] = node.results[0][0]
        return shape
    return node.shape


def is_argument(node: Node) -> bool:
    """An argument of main, or a part of one that is a tuple."""
    while node.opcode == "item":
        (node,) = node.operands
    return "argument" in node.parameters
