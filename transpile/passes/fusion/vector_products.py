"""Batched matrix-vector products become sums of element-wise products.

They are limited by memory bandwidth alone, so a kernel is as fast as the library, takes axes in any order, and is fused
with the operations around it: the scores of a decoding step, the mixture of a few experts.
"""

from __future__ import annotations

from collections.abc import Callable

from ...array.contractions import spread
from ...array.graph import Graph
from ...array.node import Node
from ...array.program import Function
from ...array.rewriting import rewrite
from ...array.value import permute


def vector_products(function: Function, reduces: Callable[[Node], bool]) -> None:
    """Write contractions as sums where a factor has one vector per element of a batch, in types of more than 16 bits,
    in which sums accumulate as products do.
    """
    rewrite(function, ("einsum",), lambda node: _summed(function.graph, node, reduces))


def _summed(graph: Graph, node: Node, reduces: Callable[[Node], bool]) -> Node | None:
    terms, _, result = node.parameters["subscripts"].partition("->")
    pairs = sorted(zip(terms.split(","), node.operands, strict=True), key=lambda pair: len(pair[0]))
    if len(pairs) != 2 or not node.type.is_floating or node.type.bits < 32:
        return None
    (own, vectors), (letters, matrices) = pairs
    summed = set(letters) - set(result)
    if not summed or not set(own) < set(letters) or not set(own) & set(result) or not set(result) <= set(letters):
        return None
    if len(set(letters)) < len(letters) or {vectors.element_type, matrices.element_type} != {node.element_type}:
        return None
    product = graph.add("multiply", (matrices, spread(graph, vectors, own, letters)))
    total = graph.add("sum", (product,), axes=tuple(k for k, letter in enumerate(letters) if letter in summed))
    kept = [letter for letter in letters if letter in result]
    return permute(graph, total, [kept.index(letter) for letter in result]) if reduces(total) else None
