"""The table of operations of the array dialect: one row each, by topic in the modules of this package."""

from __future__ import annotations

from functools import cache
from typing import Any

from ..operation import Operation, Parameters
from . import axes, control, elementwise, indexing, products, reductions, structure
from .functions import function_row
from .inference import broadcast, common_type
from .rows import rows_of

_OF_ELEMENTS: dict[str, Any] = {"shape": broadcast, "element_type": common_type, "axes": axes.elementwise}
OPERATIONS: dict[str, Operation] = {
    name: row
    for rows in (
        rows_of(elementwise, is_elementwise=True, allocates=True, **_OF_ELEMENTS),
        rows_of(structure, moves=True),
        rows_of(indexing, moves=True),
        rows_of(reductions),
        rows_of(products),
        rows_of(control, moves=True),
    )
    for name, row in rows.items()
}

# Reductions, and running reductions that keep all partial results, by their combining operation.
REDUCTIONS = {row.folds: name for name, row in OPERATIONS.items() if row.folds and row.is_reduction}
RUNNING = {row.folds: name for name, row in OPERATIONS.items() if row.folds and not row.is_reduction}

CALLED_BY_NAME = frozenset(("prelude", "library"))


def operation(opcode: str, parameters: Parameters) -> Operation:
    """Return the row of an operation, or of the function that a node calls by name.

    Raises KeyError if the operation has no row.
    """
    if opcode in CALLED_BY_NAME:
        return function_row(opcode, parameters)
    return OPERATIONS[opcode]


def operation_or_unknown(opcode: str, parameters: Parameters) -> Operation:
    """Return the row as :func:`operation` does; an operation of one target that has no row gets an empty one."""
    if opcode in CALLED_BY_NAME:
        return function_row(opcode, parameters)
    return OPERATIONS.get(opcode) or _unknown(opcode)


@cache
def _unknown(opcode: str) -> Operation:
    return Operation(opcode, ("*operands",), axes=axes.nothing)
