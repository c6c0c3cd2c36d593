"""Magnitude rules of operations: the largest absolute value of a float node's elements, from those of its operands.

A rule gets the node and the magnitudes of all operands, which are known. It returns None if the result's is unknown or
may be infinite.
"""

from __future__ import annotations

from math import prod
from typing import Any

from .node import literal_value


def largest(node: Any, given: list[float]) -> float:
    """Return the magnitude where each element is an operand's element, or nearer to 0."""
    return max(given)


def total(node: Any, given: list[float]) -> float:
    """Return the magnitude of a sum or difference."""
    return sum(given)


def product(node: Any, given: list[float]) -> float:
    """Return the magnitude of a product."""
    return prod(given)


def square(node: Any, given: list[float]) -> float:
    """Return the magnitude of a square."""
    return given[0] ** 2


def quotient(node: Any, given: list[float]) -> float | None:
    """Return the magnitude of a quotient; None unless the divisor is a nonzero literal."""
    divisor = node.operands[1]
    least = abs(float(literal_value(divisor))) if divisor.is_literal else 0.0
    return given[0] / least if least else None


def one(node: Any, given: list[float]) -> float:
    """Return 1, the bound of operations such as ``sin`` for all finite operands."""
    return 1.0


def folded(node: Any, given: list[float]) -> float | None:
    """Return the magnitude of a sum of the elements along some axes; None for arrays without elements."""
    count, results = prod(node.operands[0].shape), prod(node.shape)
    return given[0] * (count // results) if count and results else None


def counted(node: Any, given: list[float]) -> float:
    """Return the magnitude of positions from ``start`` to ``stop``."""
    return float(max(abs(node.parameters.get("start", 0)), abs(node.parameters["stop"])))
