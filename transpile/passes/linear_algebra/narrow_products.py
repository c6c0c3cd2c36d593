"""Products of 16-bit floats summed in float32, and of bytes summed in int32, without casts before them, if the target's
library sums in that way (in tensor cores of a GPU).

``(a.astype(f32) @ b.astype(f32)).astype(bf16)`` is ``a @ b``; if the result stays float32 or int32, a function of the
target's prelude returns it.
"""

from __future__ import annotations

from math import prod
from typing import Any

from ...array.contractions import has_rows_of_words, is_of_matrices, subscripts
from ...array.graph import Graph
from ...array.live import live_nodes
from ...array.node import Node, Slot
from ...array.program import Function
from ...array.rewriting import prelude_call, rewrite
from ...array.support import Support
from ...hlo.element_types import BF16, F16, F32, S8, S32, ElementType

_NARROW = (BF16, F16)
_SUMMED = {F32: _NARROW, S32: (S8,)}  # types of factors, by the type of sums


def narrow_products(function: Function, supports: Support) -> None:
    """Remove casts around products of 16-bit floats and of bytes."""
    if not supports.features.narrow_products:
        return
    graph, live = function.graph, live_nodes(function)
    of_matrices, contraction = supports.features.narrow_products

    def rounded(node: Node) -> Node | None:
        (product,) = node.operands
        is_rounded = node.type in _NARROW and _is_product(product) and product.element_type is F32
        if not is_rounded or live.count(product) != 1:
            return None
        operands = _narrow_operands(graph, product, node.type)
        if operands is None:
            return None
        if _is_rounded_once(product):
            return graph.add(product.opcode, operands, **product.parameters)
        text = subscripts(product)
        return None if text is None else _call(graph, contraction, operands, text)

    def kept(node: Node) -> Node | None:
        if node.element_type not in _SUMMED:
            return None
        found = (_narrow_operands(graph, node, narrow) for narrow in _SUMMED[node.type])
        operands = next((operands for operands in found if operands is not None), None)
        if operands is None:
            return None
        text = None if is_of_matrices(node) else subscripts(node)
        if node.type is S32 and not has_rows_of_words(*operands, text):
            return None
        if is_of_matrices(node):
            return _call(graph, of_matrices, operands, node.type)
        return None if text is None else _call(graph, contraction, operands, text, node.type)

    rewrite(function, ("convert",), rounded)
    rewrite(function, ("matmul", "tensordot", "einsum"), kept)


def _is_product(node: Node) -> bool:
    """Return whether a node is a product of the library."""
    return node.operation.is_product and node.opcode != "prelude"


def _is_rounded_once(product: Node) -> bool:
    """Return whether the library, or the function for matrices, rounds only the sum; libraries may round each term of a
    product that is a single number.
    """
    return is_of_matrices(product) if product.opcode != "tensordot" else prod(product.shape) != 1


def _call(graph: Graph, function: str, operands: tuple[Node, ...], *more: Any) -> Node:
    return prelude_call(graph, function, operands, (Slot(0), Slot(1), *more))


def _narrow_operands(graph: Graph, product: Node, element_type: ElementType) -> tuple[Node, Node] | None:
    """Return the arrays of the narrow type that both operands were cast from; None if one was not, or is a scalar."""
    sources = [_source(graph, operand, element_type) for operand in product.operands]
    operands = [source for source in sources if source is not None and source.ndim]
    return (operands[0], operands[1]) if len(operands) == len(sources) == 2 else None


def _source(graph: Graph, node: Node, element_type: ElementType) -> Node | None:
    """Return the array of the narrow type that was cast, with the axes as the user reads them; or None."""
    if node.opcode == "transpose":
        inner = _source(graph, node.operands[0], element_type)
        return None if inner is None else graph.add("transpose", (inner,), axes=node.parameters["axes"])
    is_cast = node.opcode == "convert" and node.operands[0].element_type is element_type
    return node.operands[0] if is_cast else None
