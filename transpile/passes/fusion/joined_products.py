"""Products of joined arrays become sums of the products of their parts, where that takes much less.

The messages of a graph network are ``concatenate([edges, nodes[senders], nodes[receivers]], axis=1) @ w``. The product
of all nodes is gathered in place of the nodes, if there are fewer nodes than edges; a row that all edges share is
multiplied once. One kernel adds the products, and nothing is joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...array.graph import Graph
from ...array.live import live_nodes
from ...array.node import Node
from ...array.program import Function
from ...array.rewriting import rewrite
from ...array.value import FULL, filled, getitem, is_of_one_number
from ...kernels.gathers import gather_of
from ..rewriting.rules import is_full_float

# In multiplications of a product: what it takes to copy an element, to add one of another product, and to call the
# library.
_COPY, _ADDITION, _CALL = 8, 8, 2**16
_OF_ROWS = ("take", "advanced_index")  # gathers of rows by the same indices in all columns


def joined_products(function: Function) -> None:
    """Multiply the parts of an array that is joined only to be multiplied by a matrix."""
    graph, live = function.graph, live_nodes(function)

    def rule(node: Node) -> Node | None:
        joined, matrix = node.operands
        is_joined = joined.opcode == "concatenate" and joined.parameters["axis"] == joined.ndim - 1
        if not is_joined or matrix.ndim != 2 or live.count(joined) != 1 or not is_full_float(node.type):
            return None
        parts = _with_neighbours(graph, joined.operands)
        before = prod(joined.shape) * (matrix.shape[1] + _COPY)
        after = sum(prod(_source(graph, part).shape) * matrix.shape[1] for part in parts)
        after += sum(prod(part.shape) * _COPY for part in parts if part.opcode == "concatenate")
        after += (len(parts) - 1) * (prod(node.shape) * _ADDITION + _CALL)
        return _sum(graph, node, parts) if after < before else None

    rewrite(function, ("matmul",), rule)


def _source(graph: Graph, part: Node) -> Node:
    """Return the array whose rows a part gathers or repeats, if it is smaller; else the part."""
    source, gather = part, gather_of(part) if part.opcode in _OF_ROWS else None
    if gather is not None and gather.kept[-1] == part.ndim - 1:
        source = gather.array
    elif is_of_one_number(part):
        source = filled(graph, part.operands[0], part.shape[-1:])
    elif part.opcode == "broadcast_to":
        (source,) = part.operands
    has_rows = source.shape[-1:] == part.shape[-1:]
    return source if has_rows and prod(source.shape) < prod(part.shape) else part


def _with_neighbours(graph: Graph, parts: Sequence[Node]) -> list[Node]:
    """Return the parts; neighbours that are multiplied as they are stay joined."""
    groups: list[list[Node]] = []
    is_whole = False
    for part in parts:
        was_whole, is_whole = is_whole, _source(graph, part) is part
        if was_whole and is_whole:
            groups[-1].append(part)
        else:
            groups.append([part])
    axis = parts[0].ndim - 1
    return [own[0] if len(own) == 1 else graph.add("concatenate", tuple(own), axis=axis) for own in groups]


def _sum(graph: Graph, node: Node, parts: Sequence[Node]) -> Node | None:
    """Return the sum of the products of parts with their rows of the matrix."""
    _, matrix = node.operands
    products, end = [], 0
    for part in parts:
        begin, end = end, end + part.shape[-1]
        source, rows = _source(graph, part), getitem(graph, matrix, [(begin, end, None), FULL])
        product = graph.add("matmul", (source, rows), element_type=node.element_type, **node.parameters)
        if source is not part and part.opcode in _OF_ROWS:
            product = graph.add(part.opcode, (product, *part.operands[1:]), **part.parameters)
        products.append(product)
    first, *others = sorted(products, key=lambda product: product.ndim < node.ndim)
    for product in others:
        first = graph.add("add", (first, product))
    return first if first.shape == node.shape else None
