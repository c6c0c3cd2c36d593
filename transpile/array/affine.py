"""Python ints as sums of counters times constants."""

from __future__ import annotations

from .node import Node, literal_value

Affine = tuple[dict[Node, int], int]  # the sum of nodes times their coefficients, and a constant


def integer_value(node: Node) -> int | None:
    """The value of an integer constant."""
    if node.opcode == "integer":
        return int(node.parameters["value"])
    if node.is_literal and node.type.is_integral:
        return int(literal_value(node))
    return None


def affine(node: Node) -> Affine:
    """A Python int as a sum; what is no sum stands for itself."""
    value = integer_value(node)
    if value is not None:
        return {}, value
    if node.is_python_int and node.opcode == "retype":
        return affine(node.operands[0])
    if node.is_python_int and node.opcode in ("add", "subtract", "multiply"):
        return combined(node.opcode, *map(affine, node.operands)) or ({node: 1}, 0)
    return {node: 1}, 0


def combined(opcode: str, left: Affine, right: Affine) -> Affine | None:
    """The sum, difference or product of two sums; None for a product of two that vary."""
    (terms, constant), (others, other) = left, right
    if opcode == "multiply":
        if terms and others:
            return None
        factor = other if terms else constant
        scaled = {node: coefficient * factor for node, coefficient in (terms or others).items() if factor}
        return scaled, constant * other
    sign = 1 if opcode == "add" else -1
    merged = dict(terms)
    for node, coefficient in others.items():
        merged[node] = merged.get(node, 0) + sign * coefficient
    return {node: coefficient for node, coefficient in merged.items() if coefficient}, constant + sign * other
