"""The contracted axes of products and convolutions."""

from __future__ import annotations

from ....transpile.array.node import Node
from ....transpile.array.operations.windows import convolution_axes

CONVOLUTIONS = ("convolution", "integer_convolution", "image_filter")


def contracted(node: Node) -> list[tuple[int, int]]:
    """Return the contracted axes of a product, as pairs of an axis of the first and an axis of the second operand."""
    if node.opcode == "tensordot":
        return list(zip(*node.parameters["axes"], strict=True))
    if node.opcode == "einsum":
        left, right = node.parameters["subscripts"].split("->")[0].split(",")
        return [(left.index(c), right.index(c)) for c in left if c in right]
    if node.opcode == "matmul":
        a, b = node.operands
        return [(a.ndim - 1, max(0, b.ndim - 2))]
    if is_convolution(node):
        x, kernel, _ = convolution_axes(node.parameters, node.ndim)
        return [] if "feature_groups" in node.parameters["keywords"] else [(x.index("C"), kernel.index("I"))]
    return []


def is_convolution(node: Node) -> bool:
    return node.opcode == "prelude" and node.parameters["function"] in CONVOLUTIONS
