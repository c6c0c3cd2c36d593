"""Factors of matrices, and systems of equations, that are cut into square tiles, and tall matrices cut along rows."""

from __future__ import annotations

from collections.abc import Mapping
from math import isqrt
from typing import TYPE_CHECKING

from ...transpile.array.node import Node
from .nodes import name_of

if TYPE_CHECKING:
    from .cuts import Axis, Classes

# Functions of one matrix, or of many, each by itself, and how many axes of the first operand are not their numbers.
FACTORED = {
    **dict.fromkeys(
        "eigh eigvalsh geev gees gehrd geqp3 geqrf gesdd getrf orgqr ormqr potrf qr svd svdvals syevd sytrd".split(), 2
    ),
    **dict.fromkeys("gtsv pivots_to_permutation".split(), 1),
}
IN_TILES = frozenset(("cholesky", "triangular_solve"))  # functions of the prelude


def square_axes(node: Node) -> dict[tuple[int, int], int]:
    """The operands and their axes that are cut like the sides of tiles, and the axis of the result that is; none for
    what is not done in tiles."""
    if node.opcode != "prelude" or node.parameters["function"] not in IN_TILES:
        return {}
    rows, columns = node.ndim - 2, node.ndim - 1
    if len(node.operands) == 1:
        return {(0, rows): rows, (0, columns): columns}
    solved = rows if node.parameters["keywords"].get("left_side", True) else columns
    return {(0, rows): solved, (0, columns): solved, (1, solved): solved}


def rows_of_tall(node: Node) -> dict[tuple[int, int], int | None]:
    """The rows of a matrix to factor that has at least twice as many of them as columns, and those of the factor that
    is as tall; none of any other, or where that factor is wanted square."""
    sizes = node.operands[0].shape
    if len(sizes) != 2 or not sizes[0] >= 2 * sizes[1] > 0:
        return {}
    if not node.results:
        return {(0, 0): None}
    return {(0, 0): 0} if tuple(node.results[0][0]) == tuple(sizes) else {}


def cut_tiles(classes: Classes, sizes: Mapping[Axis, int], lengths: dict[Axis, int], node: Node, target: int) -> None:
    """Square tiles of matrices that are too large, and square pieces of what stands on the right-hand sides."""
    side = isqrt(target // node.type.dtype.itemsize) if square_axes(node) else 0
    rows, columns = node.ndim - 2, node.ndim - 1
    if not side or sizes.get(classes.of(node.operands[0], columns), 1) <= side:
        return
    now = {classes.of(node, axis): side if axis >= rows else 1 for axis in range(node.ndim)}
    now[classes.of(node.operands[0], columns)] = side
    lengths.update({key: length for key, length in now.items() if length < lengths.get(key, sizes.get(key, 1))})


def count_of_batches(node: Node) -> int:
    """How many axes number the matrices that are factored, each by itself."""
    name = name_of(node)
    return node.operands[0].ndim - FACTORED[name] if name in FACTORED and node.operands[0].ndim else 0
