"""Products of two arrays that are both cut: which of their axes is what, and how long the chunks of each are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, prod
from typing import TYPE_CHECKING

from ...transpile.array.node import Node
from .links import contracted, links

if TYPE_CHECKING:
    from .cuts import Axis, Classes

PRODUCTS = frozenset("matmul tensordot einsum".split())


def is_product(node: Node) -> bool:
    """Whether parts of it, for chunks of what it sums over, can be added up."""
    return node.opcode in PRODUCTS or (bool(contracted(node)) and node.type.bits >= 32)


@dataclass(frozen=True, slots=True)
class Product:
    """``batch``, ``rows`` and ``columns`` are axes of the result: those of both operands, of the left one only and of
    the right one only. ``summed`` are the axis of the left and that of the right operand that are summed over."""

    batch: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    summed: tuple[int, int]


def product_of(node: Node) -> Product | None:
    """A product over one axis whose parts may be summed up in the type of the result; None for any other node."""
    pairs = contracted(node)
    if len(pairs) != 1 or node.type.bits < 32:
        return None
    left, right = ({place for place in link if place is not None} for link in links(node))
    batch, rows, columns = (tuple(sorted(axes)) for axes in (left & right, left - right, right - left))
    return Product(batch, rows, columns, pairs[0])


def cut_product(classes: Classes, sizes: Mapping[Axis, int], lengths: dict[Axis, int], node: Node, target: int) -> None:
    """Square blocks of a product of large matrices, so that both are read few times; short steps of what it sums over.

    A small product stays whole, and is cut along what it sums over if that is longest: its parts are summed up. Where
    one of the operands is small it stays whole, and the other is cut into rows or columns.
    """
    product = product_of(node) if node.opcode in PRODUCTS else None
    if product is None or len(product.rows) != 1 or len(product.columns) != 1:
        return
    rows, columns = (node.shape[axis] for axis in (*product.rows, *product.columns))
    shortest, longest, width = min(rows, columns), max(rows, columns), node.type.dtype.itemsize
    summed = node.operands[0].shape[product.summed[0]]
    step = classes.of(node.operands[0], product.summed[0])
    if longest * summed * width <= target:
        return
    if rows * columns * width <= target // 8:
        if summed > longest and not product.batch:
            lengths.setdefault(step, max(1, target // (width * longest)))
        return
    if shortest * summed * width <= target // 8:
        return
    result = [classes.of(node, axis) for axis in (*product.rows, *product.columns)]
    now = {classes.of(node, axis): 1 for axis in product.batch if node.shape[axis] > 1}
    now.update({key: lengths.get(key, ceil(sizes.get(key, 1) / 2)) for key in result})
    while prod(now[key] for key in result) * width > target // 2:
        long = max(result, key=lambda key: now[key])
        now[long] = ceil(now[long] / 2)
    if step not in now:
        now[step] = lengths.get(step, max(1, target // 4 // (width * max(now.values()))))
    lengths.update({key: length for key, length in now.items() if length < sizes.get(key, 1)})
