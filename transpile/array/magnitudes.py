"""The largest magnitude that the elements of a float node may have, by that of its operands: rules for rows.

A rule gets the node and what is known of all of its operands. None says that nothing is known: it may be infinite.
"""

from __future__ import annotations

from math import prod
from typing import Any

from .node import literal_value


def largest(node: Any, given: list[float]) -> float:
    """Each element is one of an operand's, or nearer to 0."""
    return max(given)


def total(node: Any, given: list[float]) -> float:
    """The elements are added or subtracted."""
    return sum(given)


def product(node: Any, given: list[float]) -> float:
    """The elements are multiplied."""
    return prod(given)


def square(node: Any, given: list[float]) -> float:
    """The elements are multiplied by themselves."""
    return given[0] ** 2


def quotient(node: Any, given: list[float]) -> float | None:
    """The elements are divided by a number."""
    divisor = node.operands[1]
    least = abs(float(literal_value(divisor))) if divisor.is_literal else 0.0
    return given[0] / least if least else None


def one(node: Any, given: list[float]) -> float:
    """Whatever the operands are, if they are finite."""
    return 1.0


def folded(node: Any, given: list[float]) -> float | None:
    """The elements along some axes are added."""
    count, results = prod(node.operands[0].shape), prod(node.shape)
    return given[0] * (count // results) if count and results else None


def counted(node: Any, given: list[float]) -> float:
    """The elements are positions up to a size."""
    return float(max(abs(node.parameters.get("start", 0)), abs(node.parameters["stop"])))
