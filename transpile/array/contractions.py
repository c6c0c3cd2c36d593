"""Products of two arrays in one notation: matrix products, and contractions written as subscripts of ``einsum``."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from string import ascii_lowercase

from .graph import Graph
from .node import Node
from .value import FULL, NEW, getitem, permute


def is_of_matrices(node: Node) -> bool:
    """Return whether a product multiplies batches of matrices of the same shape, or one matrix with all of the other
    operand.
    """
    a, b = node.operands
    if node.opcode == "tensordot":
        return b.ndim == 2 and node.parameters["axes"] == ((a.ndim - 1,), (0,))
    is_one = len({a.shape[:-2], b.shape[:-2]} - {()}) <= 1
    return node.opcode == "matmul" and min(a.ndim, b.ndim) >= 2 and is_one


def subscripts(node: Node) -> str | None:
    """Return the ``einsum`` subscripts of a ``matmul``, ``tensordot`` or ``einsum`` of two arrays. None for a batched
    ``matmul`` and for an ``einsum`` of more or fewer arrays.
    """
    if node.opcode == "einsum":
        text: str = node.parameters["subscripts"]
        return text if len(node.operands) == 2 else None
    a, b = node.operands
    if node.opcode == "matmul" and max(a.ndim, b.ndim) > 2:
        return None
    axes = node.parameters["axes"] if node.opcode == "tensordot" else ((a.ndim - 1,), (max(b.ndim - 2, 0),))
    letters = ascii_lowercase[: a.ndim + b.ndim]
    left, right = letters[: a.ndim], list(letters[a.ndim :])
    for axis, other in zip(*axes, strict=True):
        right[other] = left[axis]
    result = "".join(letter for letter in (*left, *right) if (letter in left) != (letter in right))
    return f"{left},{''.join(right)}->{result}"


def spread(graph: Graph, factor: Node, own: str, letters: Sequence[str]) -> Node:
    """Return a factor, whose axes are named ``own``, with one axis for each of ``letters``, in this order; axes that
    the factor lacks have size 1.
    """
    ordered = permute(graph, factor, [own.index(letter) for letter in letters if letter in own])
    return getitem(graph, ordered, [FULL if letter in own else NEW for letter in letters])


def has_rows_of_words(a: Node, b: Node, text: str | None) -> bool:
    """Return whether the rows of ``a`` and of the product, both of bytes, consist of whole words of 32 bits. ``text``
    are the subscripts of the product; None stands for a matrix product.
    """
    if text is None:
        return min(a.ndim, b.ndim) >= 2 and a.shape[-1] % 4 == b.shape[-1] % 4 == 0
    left, right, result = text.replace("->", ",").split(",")
    sizes = dict(zip(left + right, a.shape + b.shape, strict=True))
    summed = prod(sizes[axis] for axis in left if axis not in result)
    columns = prod(sizes[axis] for axis in right if axis not in left)
    return summed % 4 == columns % 4 == 0
