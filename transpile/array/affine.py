"""Python ints as sums of counters times constants."""

from __future__ import annotations

from .node import Node, literal_value
from .program import Loop

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


def extreme(terms: dict[Node, int], constant: int, sign: int) -> int:
    """The least value of a sum (``sign`` -1), or the greatest (1)."""
    while terms:
        inner = max(terms, key=lambda node: (node.region.depth, node.number))
        factor, end = terms[inner], _end(inner, sign * terms[inner] > 0)
        others = {node: each for node, each in terms.items() if node is not inner}
        scaled = {node: each * factor for node, each in end[0].items()}, end[1] * factor
        total = combined("add", (others, constant), scaled)
        assert total is not None
        terms, constant = total
    return constant


def _end(node: Node, greatest: bool) -> Affine:
    """The greatest or the least that a Python int may be: in terms of other counters where its loop has such bounds."""
    loop = loop_of(node)
    if loop is None or loop.bounds is None:
        assert node.interval is not None
        return {}, node.interval[greatest]
    (start, from_start), (stop, from_stop) = map(affine, loop.bounds)
    return (stop, from_stop - loop.step) if greatest == (loop.step > 0) else (start, from_start)


def loop_of(node: Node) -> Loop | None:
    """The loop with bounds that a counter belongs to."""
    loop: Loop | None = node.parameters.get("counter")
    return loop if loop is not None and loop.bounds is not None else None
