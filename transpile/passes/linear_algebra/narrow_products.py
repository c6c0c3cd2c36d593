"""A product of matrices of 16-bit floats that is accumulated in float32 and rounded to their type is ``a @ b``, where a
target's library computes just that: on a GPU, in tensor cores.
"""

from __future__ import annotations

from ...array.graph import Graph
from ...array.live import live_nodes
from ...array.node import Node
from ...array.program import Function
from ...array.rewriting import rewrite
from ...array.support import Support
from ...hlo.element_types import BF16, F16, F32, ElementType


def narrow_products(function: Function, supports: Support) -> None:
    """Take the casts from around products of two matrices that nothing else reads in float32."""
    if not supports.features.narrow_products:
        return
    live = live_nodes(function)

    def rule(node: Node) -> Node | None:
        (product,) = node.operands
        is_rounded = node.type in (BF16, F16) and product.opcode == "matmul" and product.element_type is F32
        return _narrowed(function.graph, product, node.type) if is_rounded and live.count(product) == 1 else None

    rewrite(function, ("convert",), rule)


def _narrowed(graph: Graph, product: Node, element_type: ElementType) -> Node | None:
    sources = [_source(graph, operand, element_type) for operand in product.operands]
    matrices = [source for source in sources if source is not None and source.ndim == 2]
    return graph.add("matmul", tuple(matrices)) if len(matrices) == 2 else None


def _source(graph: Graph, node: Node, element_type: ElementType) -> Node | None:
    """Return what was cast from the narrow type, in the order of axes in which it is read."""
    if node.opcode == "transpose":
        inner = _source(graph, node.operands[0], element_type)
        return None if inner is None else graph.add("transpose", (inner,), axes=node.parameters["axes"])
    is_cast = node.opcode == "convert" and node.operands[0].element_type is element_type
    return node.operands[0] if is_cast else None
