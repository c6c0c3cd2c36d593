"""Cumulative reductions along an axis with several chunks."""

from __future__ import annotations

from ....transpile.array.node import Node, Slot, Ufunc
from ..planning.chunked_implementation import (
    EVERY_OPERAND,
    Arguments,
    ChunkedImplementation,
    Implementations,
    OperandAxes,
    as_it_is,
    axis_of_all,
)


def _accumulated(node: Node) -> OperandAxes:
    return axis_of_all(node, node.parameters["axis"])


def _accumulate(node: Node) -> Arguments:
    return (Ufunc(node.operation.folds), Slot(0)), {"axis": node.parameters["axis"]}


def _running(node: Node) -> OperandAxes:
    """Return the axis of the operands that are arrays; the other half are their initial numbers."""
    arrays = node.operands[: len(node.operands) // 2]
    axis = node.parameters["keywords"].get("axis", 0)
    return {(k, axis): axis for k, array in enumerate(arrays) if 0 not in array.shape}


def _scanned(node: Node) -> OperandAxes:
    """Return the scanned axis of all operands."""
    axis = node.parameters["keywords"].get("axis", 0)
    return {(k, axis): axis for k, array in enumerate(node.operands) if 0 not in array.shape}


def _best(node: Node) -> OperandAxes:
    (x,), axis = node.operands, node.parameters["axis"]
    return {} if 0 in x.shape else {(0, axis): None}


def _find(node: Node) -> Arguments:
    return (Slot(0),), {"axis": node.parameters["axis"], "dtype": node.element_type}


ACCUMULATE = ChunkedImplementation(
    "accumulate_in_chunks", _accumulated, _accumulate, reads=1, holds=1, tasks=2, takes_files=True, by_rows=True
)
IMPLEMENTATIONS: Implementations = {
    **dict.fromkeys(("cummax", "cummin", "cumsum", "cumprod"), (ACCUMULATE,)),
    "cumlogaddexp": (
        ChunkedImplementation(
            "accumulate_in_chunks",
            _accumulated,
            lambda node: ((Ufunc("logaddexp"), Slot(0)), {"axis": node.parameters["axis"], "dtype": node.element_type}),
            reads=1,
            holds=1,
            tasks=2,
            takes_files=True,
            by_rows=True,
        ),
    ),
    "argmax": (ChunkedImplementation("argmax_in_chunks", _best, _find, holds_of_operands=1),),
    "argmin": (ChunkedImplementation("argmin_in_chunks", _best, _find, holds_of_operands=1),),
    "cumulative": (
        ChunkedImplementation("cumulative_in_chunks", _running, as_it_is, reads=EVERY_OPERAND, holds=6, tasks=2),
    ),
    "associative_scan": (
        ChunkedImplementation("associative_scan_in_chunks", _scanned, as_it_is, reads=EVERY_OPERAND, holds=6, tasks=2),
    ),
}
