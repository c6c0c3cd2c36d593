"""Python ints as affine sums: counters times constants, plus a constant."""

from __future__ import annotations

from .node import Node, literal_value
from .program import Loop

Affine = tuple[dict[Node, int], int]  # the coefficient of each node, and the constant


def integer_value(node: Node) -> int | None:
    """Return the value of an integer constant; None for any other node."""
    if node.opcode == "integer":
        return int(node.parameters["value"])
    if node.is_literal and node.type.is_integral:
        return int(literal_value(node))
    return None


def affine(node: Node) -> Affine:
    """Return a Python int as an affine sum of counters; any other node is a term of its own."""
    value = integer_value(node)
    if value is not None:
        return {}, value
    if node.is_python_int and node.opcode == "retype":
        return affine(node.operands[0])
    if node.is_python_int and node.opcode in ("add", "subtract", "multiply"):
        return combined(node.opcode, *map(affine, node.operands)) or ({node: 1}, 0)
    return {node: 1}, 0


def combined(opcode: str, left: Affine, right: Affine) -> Affine | None:
    """Return the sum, difference or product of two affine sums; None for a product of two that both have terms."""
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
    """Return the least (``sign`` -1) or the greatest (``sign`` 1) value of an affine sum."""
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
    """Return the greatest or the least value of a term: an affine sum of other counters if its loop has ``bounds``,
    else a number from its interval.
    """
    loop = loop_of(node)
    if loop is None or loop.bounds is None:
        assert node.interval is not None
        return {}, node.interval[greatest]
    (start, from_start), (stop, from_stop) = map(affine, loop.bounds)
    return (stop, from_stop - loop.step) if greatest == (loop.step > 0) else (start, from_start)


def loop_of(node: Node) -> Loop | None:
    """Return the loop of a counter; None if the node is no counter or its loop has no ``bounds``."""
    loop: Loop | None = node.parameters.get("counter")
    return loop if loop is not None and loop.bounds is not None else None
