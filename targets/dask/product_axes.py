"""Axis maps of products, convolutions and reductions of windows, and which axes products sum over."""

from __future__ import annotations

from collections.abc import Sequence

from ...transpile.array.node import Node
from .axis_rules import AxisMap, reduced

PRODUCTS = frozenset("matmul tensordot einsum".split())
CONVOLUTIONS = ("convolution", "integer_convolution", "image_filter")
WINDOW_KEYWORDS = frozenset("strides padding base_dilation window_dilation".split())


def contracted(node: Node) -> list[tuple[int, int]]:
    """The axes of the first operand of a product and those of the second that they are summed with."""
    if node.opcode == "tensordot":
        return list(zip(*node.parameters["axes"], strict=True))
    if node.opcode == "einsum":
        left, right = node.parameters["subscripts"].split("->")[0].split(",")
        return [(left.index(c), right.index(c)) for c in left if c in right]
    if node.opcode == "matmul":
        a, b = node.operands
        return [(a.ndim - 1, max(0, b.ndim - 2))]
    if is_convolution(node):
        x, kernel, _ = convolution_axes(node)
        return [] if "feature_groups" in node.parameters["keywords"] else [(x.index("C"), kernel.index("I"))]
    return []


def is_convolution(node: Node) -> bool:
    return node.opcode == "prelude" and node.parameters["function"] in CONVOLUTIONS


def convolution_axes(node: Node) -> tuple[str, str, str]:
    """A letter for each axis of the images, of the kernel and of the result, as in the layout of a ``convolution``."""
    count = node.ndim - 2
    spatial = "DHW"[-count:] if 0 < count <= 3 else "".join(chr(ord("a") + k) for k in range(count))
    layout = node.parameters["keywords"].get("layout", f"N{spatial}C,{spatial}IO->N{spatial}C")
    if "channels_first" in node.parameters["keywords"]:
        layout = f"NC{spatial},OI{spatial}->NC{spatial}"
    x, kernel, result = layout.replace("->", ",").split(",")
    return x, kernel, result


def matmul(node: Node) -> list[AxisMap]:
    """Batches, rows of the left and columns of the right operand stay."""
    a, b = node.operands[:2]
    first = 0 if a.ndim == 1 else 1
    batch = node.ndim - first - (b.ndim > 1)
    left: AxisMap = (None,) if a.ndim == 1 else (*_batch_axes(a, node.shape[:batch]), batch, None)
    right: AxisMap = (None,) if b.ndim == 1 else (*_batch_axes(b, node.shape[:batch]), None, node.ndim - 1)
    return [left, right]


def _batch_axes(operand: Node, batch: Sequence[int]) -> AxisMap:
    sizes = operand.shape[:-2]
    offset = len(batch) - len(sizes)
    return tuple(offset + axis if size == batch[offset + axis] else None for axis, size in enumerate(sizes))


def tensordot(node: Node) -> list[AxisMap]:
    """The axes that are not summed over stay, those of the left operand first."""
    a, b = node.operands
    left, right = node.parameters["axes"]
    first = reduced(a.ndim, left)
    offset = a.ndim - len(left)
    return [first, tuple(None if axis is None else axis + offset for axis in reduced(b.ndim, right))]


def einsum(node: Node) -> list[AxisMap]:
    """Letters that the result has stay."""
    given, result = node.parameters["subscripts"].split("->")
    return [tuple(result.index(c) if c in result else None for c in part) for part in given.split(",")]


def convolution(node: Node) -> list[AxisMap]:
    """Batches and output channels are independent of each other, but for groups."""
    keywords = node.parameters["keywords"]
    x, kernel, result = convolution_axes(node)
    grouped = "feature_groups" in keywords or "batch_groups" in keywords
    batch = None if "batch_groups" in keywords else result.index("N")
    return [
        tuple(batch if letter == "N" else None for letter in x),
        tuple(result.index("C") if letter == "O" and not grouped else None for letter in kernel),
    ]


def windows(node: Node) -> list[AxisMap]:
    """Axes along which windows have one element and do not move stay."""
    arguments, keywords = node.parameters["arguments"], node.parameters["keywords"]
    still = []
    for axis, size in enumerate(arguments[-1]):
        own = {key: keywords[key][axis] for key in WINDOW_KEYWORDS & keywords.keys()}
        still.append(size == 1 and tuple(own.pop("padding", (0, 0))) == (0, 0) and set(own.values()) <= {1})
    shape = node.shape or (node.results[0][0] if node.results else ())
    return [
        tuple(axis if still[axis] else None for axis in range(operand.ndim)) if operand.ndim == len(shape) else ()
        for operand in node.operands
    ]
