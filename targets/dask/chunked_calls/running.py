"""Running combinations along an axis in several chunks."""

from __future__ import annotations

from ....transpile.array.node import Node, Slot, Ufunc
from ..chunked_implementation import (
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
    """The operands are arrays, and as many numbers to begin with."""
    arrays = node.operands[: len(node.operands) // 2]
    axis = node.parameters["keywords"].get("axis", 0)
    return {(k, axis): axis for k, array in enumerate(arrays) if 0 not in array.shape}


ACCUMULATE = ChunkedImplementation("accumulate_in_chunks", _accumulated, _accumulate, reads=1, tasks=2)
IMPLEMENTATIONS: Implementations = {
    **dict.fromkeys(("cummax", "cummin"), (ACCUMULATE,)),
    "cumulative": (
        ChunkedImplementation("cumulative_in_chunks", _running, as_it_is, reads=EVERY_OPERAND, holds=6, tasks=2),
    ),
}
