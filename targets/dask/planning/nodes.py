"""Questions about any node: its name, its shape, its bytes, and where ``main`` has it from."""

from __future__ import annotations

from math import prod

from ....transpile.array.node import Node
from ....transpile.array.scalars import is_known_on_host


def name_of(node: Node) -> str:
    """The operation of a node, or the function that is called for it."""
    function = node.parameters.get("function")
    return str(getattr(function, "name", function)) if node.opcode in ("prelude", "library") else node.opcode


def shape_of(node: Node) -> tuple[int, ...]:
    """The shape of an array; that of the first result where a node has several."""
    if node.results:
        shape: tuple[int, ...] = node.results[0][0]
        return shape
    return node.shape


def bytes_of(node: Node) -> int:
    """The bytes of a whole array; 0 for what is none."""
    return prod(node.shape) * node.type.dtype.itemsize if node.element_type is not None else 0


def is_argument(node: Node) -> bool:
    """Tell whether a node is an argument of ``main``, or a part of an argument that is a tuple."""
    while node.opcode == "item":
        (node,) = node.operands
    return "argument" in node.parameters


def is_plain_number(node: Node) -> bool:
    """Tell whether ``main`` has a node as a number, not as a lazy array."""
    return node.is_python_int or node.is_literal or is_known_on_host(node)


def is_filled(node: Node) -> bool:
    """Tell whether the first operand has any elements."""
    return 0 not in node.operands[0].shape
