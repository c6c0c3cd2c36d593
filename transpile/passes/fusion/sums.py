"""Segment sums of rows (sums by row index) are accumulated by the kernel that computes the rows, so no array of the
rows is stored.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node, Slot
from ...array.program import Function
from ...array.rewriting import rewrite
from ...hlo.element_types import F32, F64, S32, S64
from ...kernels.kernel import Kernel
from ...target import Kernels


def sum_in_kernels(function: Function, kernels: Kernels) -> None:
    """Let kernels accumulate the values they compute, where only a call of the segment-sum function reads them."""
    live = live_nodes(function)
    rewrite(function, ("prelude",), lambda node: _summed(function.graph, live, node, kernels))


def _summed(graph: Graph, live: LiveNodes, node: Node, kernels: Kernels) -> Node | None:
    if node.parameters["function"] != kernels.sums:
        return None
    index, values, *_ = node.parameters["arguments"]
    if not (isinstance(index, Slot) and isinstance(values, Slot)):
        return None
    rows, call = node.operands[index.index], node.operands[values.index]
    if call.opcode != "kernel" or live.count(call) != 1 or call.region is not node.region:
        return None
    kernel: Kernel = call.parameters["kernel"]
    at_once = kernels.at_once(kernel, least=1)
    if not _fits(kernel, rows, call, node, at_once):
        return None
    parameter = kernel.function.graph.parameter(rows.shape, rows.element_type, kernel.function.graph.root)
    kernel.function.parameters.append(parameter)
    adding = replace(
        kernel,
        inputs=[*kernel.inputs, rows],
        outputs=[node],
        whole=kernel.whole | {parameter},
        shapes=[node.shape],
        rows=parameter,
        at_once=at_once,
        caller_allocated=[],
    )
    operands = (*call.operands, rows)
    return graph.typed("kernel", operands, node.shape, node.element_type, kernel=adding, stands_for=node)


def _fits(kernel: Kernel, rows: Node, values: Node, node: Node, at_once: int) -> bool:
    """Whether a kernel can compute ``at_once`` adjacent elements per step, which atomic functions add."""
    if at_once == 1 or kernel.rows is not None or kernel.has_loop or rows.type not in (S32, S64):
        return False
    is_one_type = values.element_type is node.element_type and node.type in (F32, F64, S32)
    return is_one_type and values.shape == (*rows.shape, *node.shape[1:]) and prod(node.shape[1:]) % at_once == 0
