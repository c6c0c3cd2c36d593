"""What depends on the places of elements, spelled with row and column numbers where it is cut: each block has its own
of them, and is computed like everything else that goes element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...transpile.array.node import Graph, Node
from ...transpile.array.program import Function
from ...transpile.array.value import FULL, NEW, getitem
from ...transpile.hlo.element_types import PRED, S32, S64, ElementType
from ...transpile.passes.rewriting import rewrite
from ...transpile.passes.to_array.intervals import elementwise_interval
from .cuts import Cuts
from .groups import name_of

Operands = tuple[Node, ...]


def spelled_out(function: Function, cuts: Cuts) -> bool:
    """Rewrite what is to be cut and has another spelling; whether there was any."""
    found = {node for node in cuts.classes.nodes if name_of(node) in SPELLINGS and _is_to_be_cut(node, cuts)}
    if not found:
        return False

    def rule(node: Node, operands: Operands) -> Node | None:
        return SPELLINGS[name_of(node)](function.graph, node, operands) if node in found else None

    rewrite(function, rule)
    return True


def _is_to_be_cut(node: Node, cuts: Cuts) -> bool:
    """Along the rows or columns of matrices."""
    if any(True in cuts.flags[operand][-2:] for operand in node.operands):
        return True
    return any(cuts.planned(node, axis) for axis in range(node.ndim)[-2:])


# -- numbers of rows and columns


def _along(graph: Graph, node: Node, axis: int, element_type: ElementType) -> Node:
    """The numbers of the places along an axis. Those of two axes are two arrays, which may be cut in two ways."""
    size = node.shape[axis]
    return graph.add("arange", (), (size,), element_type, interval=(0, size - 1), stop=size, axis=axis)


def _elementwise(graph: Graph, opcode: str, operands: Operands, like: Node, **parameters: Any) -> Node:
    interval = elementwise_interval(opcode, operands, like.type)
    return graph.add(opcode, operands, like.shape, like.element_type, interval=interval, **parameters)


def _mask(graph: Graph, node: Node, direction: str, diagonal: int) -> Node:
    """Where row + diagonal compares so with column, along the last two axes."""
    rows_at, columns_at = node.ndim - 2, node.ndim - 1
    element_type = S32 if sum(node.shape[rows_at:]) + abs(diagonal) < 1 << 31 else S64
    rows, columns = (_along(graph, node, axis, element_type) for axis in (rows_at, columns_at))
    shift = graph.literal(abs(diagonal), element_type)
    if diagonal > 0:
        rows = _elementwise(graph, "add", (rows, shift), rows)
    elif diagonal < 0:
        columns = _elementwise(graph, "add", (columns, shift), columns)
    rows = getitem(graph, rows, (FULL, NEW))
    return graph.add("compare", (rows, columns), node.shape[rows_at:], PRED, direction=direction)


# -- spellings


def _matrix(direction: str) -> Callable[[Graph, Node, Operands], Node]:
    """Ones where the mask is."""

    def spelled(graph: Graph, node: Node, operands: Operands) -> Node:
        mask = _mask(graph, node, direction, node.parameters["diagonal"])
        return mask if node.element_type is PRED else _elementwise(graph, "convert", (mask,), node)

    return spelled


def _triangle(direction: str) -> Callable[[Graph, Node, Operands], Node]:
    """What is where the mask is, and zeros."""

    def spelled(graph: Graph, node: Node, operands: Operands) -> Node:
        mask, zero = _mask(graph, node, direction, node.parameters["diagonal"]), graph.literal(0, node.type)
        return _elementwise(graph, "select", (mask, *operands, zero), node)

    return spelled


def _on_diagonal(graph: Graph, node: Node, operands: Operands) -> Node:
    """A vector on a diagonal: it stands in each row, behind or before as many zeros as its place asks for."""
    (vector,), (_, *offset) = operands, node.parameters["arguments"]
    diagonal, zero = sum(offset), graph.literal(0, node.type)
    if diagonal:
        widths = ((max(0, diagonal), max(0, -diagonal)),)
        vector = graph.add("pad", (vector, zero), node.shape[-1:], node.element_type, widths=widths)
    mask = _mask(graph, node, "EQ", diagonal)
    return _elementwise(graph, "select", (mask, vector, zero), node)


def _trace(graph: Graph, node: Node, operands: Operands) -> Node:
    """The sum of a diagonal."""
    (x,), (_, *offset) = operands, node.parameters["arguments"]
    diagonal, (rows, columns) = sum(offset), x.shape[-2:]
    shape = (*node.shape, min(rows + min(diagonal, 0), columns - max(diagonal, 0)))
    axes = {key: axis for key, axis in node.parameters["keywords"].items() if key != "dtype"}
    found = graph.add("diagonal", (x,), shape, node.element_type, offset=diagonal, axes=axes)
    return graph.add("sum", (found,), node.shape, node.element_type, axes=(node.ndim,))


SPELLINGS: dict[str, Callable[[Graph, Node, Operands], Node]] = {
    "eye": _matrix("EQ"),
    "tri": _matrix("GE"),
    "tril": _triangle("GE"),
    "triu": _triangle("LE"),
    "diag": _on_diagonal,
    "trace": _trace,
}
