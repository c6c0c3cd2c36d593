"""A conversion to the type that NumPy promotes to anyway is not written: ``count + inside`` for masks and counts."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...array.graph import Graph
from ...array.node import Node, literal_value
from ...array.operations import OPERATIONS
from ...array.program import Function
from ...array.rewriting import rewrite, with_operands
from ...array.support import Support
from ..rewriting.users import Uses

_PROMOTING = [opcode for opcode, row in OPERATIONS.items() if row.promotes]


def promotions(function: Function, supports: Support) -> None:
    """Remove conversions beside arrays of the target type."""
    graph = function.graph
    uses = Uses(function)
    kept: set[Node] = set()  # nodes whose type other operands are promoted to

    def rule(node: Node) -> Node | None:
        if node.opcode == "select" and not node.ndim:  # Python's choice is one of the numbers as it is
            return None
        first = 1 if node.opcode == "select" else 0
        for place in range(first, first + 2):
            other = node.operands[2 * first + 1 - place]
            if not _is_promoted(node.operands[place], other, uses) or node.operands[place] in kept:
                continue
            kept.add(other)
            given = (*node.operands[:place], *node.operands[place].operands, *node.operands[place + 1 :])
            made = with_operands(graph, node, given)
            if supports(made):
                return made
        return None

    rewrite(function, _PROMOTING, rule, supports)
    if supports.features.arrays_fit_memory and not supports.has_kernels:  # chunks and kernels add up in one type
        rewrite(function, ("cumsum", "cumprod"), partial(_running, graph, uses), supports)


def _running(graph: Graph, uses: Uses, node: Node) -> Node | None:
    """Running totals of counted numbers without the conversion that their own dtype makes."""
    (converted,) = node.operands
    if converted.opcode != "convert" or len(uses(converted)) != 1 or not node.type.is_integral:
        return None
    (source,) = converted.operands
    if source.is_python_int or source.type.is_extension or not np.can_cast(source.type.dtype, converted.type.dtype):
        return None
    return graph.add(
        node.opcode, (source,), element_type=node.type, interval=node.interval, axis=node.parameters["axis"]
    )


def _is_promoted(node: Node, other: Node, uses: Uses) -> bool:
    """Whether the node converts to the type of the array ``other``, and the operation that uses it would do so too."""
    if node.opcode != "convert" or len(uses(node)) != 1 or other.element_type is not node.element_type:
        return False
    (source,) = node.operands
    if source.is_literal or source.is_python_int or source.type.is_extension or node.type.is_extension:
        return False
    if other.is_literal:  # a Python complex number promotes an array of floats; one without imaginary part is a float
        return (
            source.type.is_floating
            and node.type.is_complex
            and literal_value(other).imag != 0
            and np.result_type(source.type.dtype, 1j) == node.type.dtype
        )
    if other.is_python_int or (other.opcode == "convert" and len(uses(other)) == 1):
        return False
    return bool(np.result_type(source.type.dtype, node.type.dtype) == node.type.dtype)
