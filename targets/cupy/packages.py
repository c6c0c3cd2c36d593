"""Packages besides CuPy that modules may import if the user allows it."""

from __future__ import annotations

from ...transpile.array.node import Node
from ...transpile.target import OwnCall, Package

_TYPES = frozenset("f16 bf16 f32".split())


def _convolution(node: Node) -> OwnCall | None:
    """Return the cuDNN call that replaces a convolution, or None. It has two or three spatial axes, one group and no
    negative padding.
    """
    if node.opcode != "prelude" or node.parameters["function"] != "convolution":
        return None
    keywords = node.parameters["keywords"]
    types = {each.type.name for each in (node, *node.operands)}
    if not {"feature_groups", "batch_groups", "dtype"}.isdisjoint(keywords) or len(types) > 1 or not types <= _TYPES:
        return None
    rank = node.ndim - 2
    edges = keywords.get("padding", ((0, 0),) * rank)
    if rank not in (2, 3) or any(edge < 0 for pair in edges for edge in pair):
        return None
    if "input_dilation" in keywords:  # the gradient of images: the padding of the forward pass must not be negative
        spans = zip(_kernel_sizes(node), keywords.get("kernel_dilation", (1,) * rank), edges, strict=True)
        if "strides" in keywords or any(low > (size - 1) * gap for size, gap, (low, _) in spans):
            return None
    return OwnCall("convolution_by_cudnn", keywords=tuple(keywords.items()))


def _kernel_sizes(node: Node) -> list[int]:
    """Return the size of a convolution's kernel along each spatial axis."""
    shape, layout = node.operands[1].shape, node.parameters["keywords"].get("layout")
    if layout is None:
        return list(shape[:-2])
    axes_x, axes_kernel, _ = layout.replace("->", ",").split(",")
    return [shape[axes_kernel.index(letter)] for letter in axes_x if letter not in "NC"]


def _nothing(node: Node) -> OwnCall | None:
    return None


CUDNN = Package(_convolution, _nothing, _nothing)
