"""Functions of matrices that are done to each of many by itself."""

from __future__ import annotations

from ....transpile.array.node import Node
from .nodes import name_of

# Functions of one matrix, or of many, each by itself, and how many axes of the first operand are not their numbers.
FACTORED = {
    **dict.fromkeys(
        "eigh eigvalsh geev gees gehrd geqp3 geqrf gesdd getrf orgqr ormqr potrf qr svd svdvals syevd sytrd".split(), 2
    ),
    **dict.fromkeys("gtsv gtsv_perturbed pivots_to_permutation".split(), 1),
}


def count_of_batches(node: Node) -> int:
    """Return how many axes number the matrices that are factored, each by itself."""
    name = name_of(node)
    return node.operands[0].ndim - FACTORED[name] if name in FACTORED and node.operands[0].ndim else 0
