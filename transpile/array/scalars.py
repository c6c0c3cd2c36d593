"""The values that are Python or NumPy scalars in emitted code for every array library: constants, counters, and
expressions of these alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod

from ..walks import reached
from .node import Node
from .operation import Operation
from .operations import CALLED_BY_NAME

MOST_NUMBERS = 16  # in a matrix of numbers


def is_known_on_host(node: Node) -> bool:
    """Return whether Python can branch on the value and index by it, because it is made of constants and counters
    alone.
    """
    return _is_built_of(node, lambda operation: operation.is_known_on_host)


def is_scalar_expression(node: Node) -> bool:
    """Return whether an expression contains no array: some libraries give a scalar for it where an array is
    required.
    """
    return _is_built_of(node, _is_of_scalars)


def _is_of_scalars(operation: Operation) -> bool:
    return operation.is_known_on_host or (operation.is_elementwise and operation.name not in CALLED_BY_NAME)


def _is_built_of(node: Node, accepts: Callable[[Operation], bool]) -> bool:
    """Return whether ``node`` is made of constants and counters by accepted operations alone."""
    parts = reached([node], lambda part: () if part.is_python_int or part.is_literal else part.operands)
    return all(
        part.is_python_int or part.is_literal or (accepts(part.operation) and bool(part.operands)) for part in parts
    )


def numbers_in(nodes: Iterable[Node]) -> set[Node]:
    """Return the Python ints among nodes, operands first, that are no counters and not made of counters alone."""
    found: set[Node] = set()
    for node in nodes:
        if node.is_python_int and (
            node.opcode in ("as_int", "item")
            or "carry" in node.parameters
            or any(operand in found for operand in node.operands)
        ):
            found.add(node)
    return found


def is_row(node: Node) -> bool:
    """Return whether a node stacks numbers into a vector."""
    return node.opcode == "stack" and node.ndim == 1


def is_matrix(node: Node) -> bool:
    """Return whether a node reshapes a short row of numbers into a matrix."""
    if node.opcode != "reshape" or node.ndim != 2:
        return False
    row, *sizes = node.operands  # known only at run time
    return not sizes and is_row(row) and prod(row.shape) <= MOST_NUMBERS
