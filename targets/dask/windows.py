"""What goes by windows, which can be read on their own: convolutions and reductions of windows."""

from __future__ import annotations

from dataclasses import dataclass

from ...transpile.array.node import Node

MEANT_WHOLE = frozenset("layout channels_first input_dilation base_dilation batch_groups reverse_kernel".split())


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of a node over its first operand, for each of its axes ``first``, ``first + 1``, ..: how many
    elements they have, from how many to how many they are, and the padding."""

    first: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]

    @property
    def axes(self) -> range:
        return range(self.first, self.first + len(self.sizes))

    def longest(self, shape: tuple[int, ...]) -> int | None:
        """The axis along which an array of this shape may be cut, one of those along which windows move."""
        return max(self.axes, key=lambda axis: shape[axis] if self.size(axis) > 1 else 0, default=None)

    def size(self, axis: int) -> int:
        return self.sizes[axis - self.first]

    def stride(self, axis: int) -> int:
        return self.strides[axis - self.first]


def windows_of(node: Node) -> Windows | None:
    """Those of a node, if tasks can read them."""
    if node.opcode != "prelude" or node.results or MEANT_WHOLE & node.parameters["keywords"].keys():
        return None
    function, keywords = node.parameters["function"], node.parameters["keywords"]
    if function in ("convolution", "integer_convolution", "image_filter"):
        first, sizes = 1, tuple(node.operands[1].shape[:-2])
    elif function in ("reduce_window", "fold_windows"):
        first, sizes = 0, tuple(node.parameters["arguments"][-1])
    else:
        return None
    strides = keywords.get("strides") or (1,) * len(sizes)
    return Windows(first, sizes, tuple(strides), tuple(keywords.get("padding") or ((0, 0),) * len(sizes)))
