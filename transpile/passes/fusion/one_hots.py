"""One-hots: a scatter of one element per row into zeros becomes a selection by the element's index.

The selection is fused with the operations around it and no array of zeros is made: the gradient of a cross entropy is
one kernel.
"""

from __future__ import annotations

from ...array.graph import Graph
from ...array.node import Node, Slot, Ufunc, literal_value
from ...array.program import Function
from ...array.rewriting import rewrite
from ...array.value import FULL, NEW
from ...hlo.element_types import PRED, S32
from ...kernels.gathers import counted_axis


def one_hots(function: Function) -> None:
    """Write scatters of single elements into zeros as selections, where each element belongs to a different row."""
    rewrite(function, ("prelude", "update_at", "setitem"), lambda node: _selected(function.graph, node))


def _selected(graph: Graph, node: Node) -> Node | None:
    if node.opcode != "prelude":
        where, combine = node.parameters["index"], node.parameters.get("ufunc")
    elif node.parameters["function"] == "scatter_at":
        _, where, _, *combiners = node.parameters["arguments"]
        combine = combiners[0] if combiners else None
    else:
        return None
    zeros, values, *indices = node.operands
    if zeros.opcode != "zeros" or combine not in (None, Ufunc("add")) or len(indices) != zeros.ndim:
        return None
    slots = tuple(Slot(2 + k) for k in range(len(indices)))
    if where not in (slots, slots[0]) or values.element_type is not node.element_type:
        return None
    count = max(index.ndim for index in indices)
    axes = [counted_axis(index, size, count) for index, size in zip(indices, zeros.shape, strict=True)]
    if None not in axes and axes[-1] in axes[:-1]:
        axes[-1] = None  # a diagonal: the element's index is the row's index
    chosen = [index for index, axis in zip(indices, axes, strict=True) if axis is None]
    if [axis for axis in axes if axis is not None] != list(range(count)) or len(chosen) != 1:
        return None
    (index,), at = chosen, axes.index(None)
    batch = tuple(size for axis, size in enumerate(zeros.shape) if axis != at)
    if index.shape != batch or index.element_type is None or index.type is PRED or values.shape not in ((), batch):
        return None
    return _choice(graph, node, index, values, at, is_sum=combine is not None)


def _from_start(graph: Graph, index: Node, size: int) -> Node:
    """Return an index of an axis with this size, of which negative ones count from the end, counted from the start."""
    is_negative = graph.add("compare", (index, graph.literal(0, index.type)), direction="LT")
    counted = graph.add("add", (index, graph.literal(size, index.type)))
    return graph.add("select", (is_negative, counted, index))


def _choice(graph: Graph, node: Node, index: Node, values: Node, at: int, is_sum: bool) -> Node:
    kind = index.type if index.type.bits >= S32.bits else S32
    if index.type is not kind:
        index = graph.add("convert", (index,), element_type=kind)
    size, behind = node.shape[at], node.ndim - 1 - at
    if node.opcode != "prelude" and (index.interval is None or index.interval[0] < 0):
        index = _from_start(graph, index, size)
    own = (FULL,) * at + (NEW,) + (FULL,) * behind
    numbers = graph.add("arange", (), element_type=kind, interval=(0, size - 1), stop=size)
    if behind:
        numbers = graph.add("expand", (numbers,), index=(FULL,) + (NEW,) * behind)
    is_chosen = graph.add("compare", (graph.add("expand", (index,), index=own), numbers), direction="EQ")
    zero = graph.literal(0, node.type)
    if is_sum and not (values.is_literal and literal_value(values) != 0):
        values = graph.add("add", (values, zero))  # turns -0 into 0
    if values.ndim:
        values = graph.add("expand", (values,), index=own)
    return graph.add("select", (is_chosen, values, zero))
