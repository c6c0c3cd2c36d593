"""Products of 16-bit floats are accumulated in float32: where a target's library does just that, on a GPU in tensor
cores, nothing is cast before. ``(a.astype(f32) @ b.astype(f32)).astype(bf16)`` is ``a @ b``; where the sums stay
float32, a function of the target's prelude gives them.
"""

from __future__ import annotations

from math import prod

from ...array.graph import Graph
from ...array.live import live_nodes
from ...array.node import Node, Slot
from ...array.program import Function
from ...array.rewriting import rewrite
from ...array.support import Support
from ...hlo.element_types import BF16, F16, F32, ElementType

_NARROW = (BF16, F16)


def narrow_products(function: Function, supports: Support) -> None:
    """Take the casts from around products of 16-bit floats."""
    wide = supports.features.narrow_products
    if not wide:
        return
    live = live_nodes(function)

    def rounded(node: Node) -> Node | None:
        (product,) = node.operands
        is_rounded = node.type in _NARROW and product.opcode in _PRODUCTS and product.element_type is F32
        if not is_rounded or live.count(product) != 1:
            return None
        operands = _narrow_operands(function.graph, product, node.type)
        return None if operands is None else function.graph.add(product.opcode, operands, **product.parameters)

    def kept(node: Node) -> Node | None:
        if node.element_type is not F32:
            return None
        found = (_narrow_operands(function.graph, node, narrow) for narrow in _NARROW)
        operands = next((operands for operands in found if operands is not None), None)
        return None if operands is None else _sums(function.graph, wide, operands)

    rewrite(function, ("convert",), rounded)
    rewrite(function, ("matmul",), kept)


_PRODUCTS = ("matmul", "tensordot")


def _sums(graph: Graph, function: str, operands: tuple[Node, ...]) -> Node:
    return graph.add("prelude", operands, function=function, arguments=(Slot(0), Slot(1), F32), keywords={})


def _narrow_operands(graph: Graph, product: Node, element_type: ElementType) -> tuple[Node, ...] | None:
    """Return what the operands were cast from, where both are arrays of matrices of the type: as many, or one."""
    sources = [_source(graph, operand, element_type) for operand in product.operands]
    operands = tuple(source for source in sources if source is not None and source.ndim >= 2)
    if len(operands) < 2 or (product.opcode == "tensordot" and prod(product.shape) == 1):
        return None  # of one number, libraries may round each term
    batches = {operand.shape[:-2] for operand in operands} - {()}
    return operands if product.opcode != "matmul" or len(batches) <= 1 else None


def _source(graph: Graph, node: Node, element_type: ElementType) -> Node | None:
    """Return what was cast from the narrow type, in the order of axes in which it is read."""
    if node.opcode == "transpose":
        inner = _source(graph, node.operands[0], element_type)
        return None if inner is None else graph.add("transpose", (inner,), axes=node.parameters["axes"])
    is_cast = node.opcode == "convert" and node.operands[0].element_type is element_type
    return node.operands[0] if is_cast else None
