"""The windows of convolutions and of windowed reductions that tasks can read on their own."""

from __future__ import annotations

from ....transpile.array.node import Node
from ....transpile.array.operations.windows import convolution_axes
from ....transpile.dataclass import dataclass
from .product_axes import CONVOLUTIONS, contracted

REDUCTIONS = ("reduce_window", "fold_windows", "select_and_scatter")


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of a node along one ``axis`` of its first operand, which is the axis ``result`` of the result.

    ``size``, ``stride`` and ``dilation`` are those of the windows, ``gap`` is the distance of the operand's elements
    after input dilation, and ``kernel`` is the axis of a convolution's kernel. ``is_summed`` if a window has more
    elements than there are windows: then the kernel is cut, and the parts of its chunks are added.
    """

    letter: str
    axis: int
    result: int
    kernel: int | None
    size: int
    stride: int
    dilation: int
    gap: int
    is_summed: bool

    def like(self, node: Node) -> tuple[Node, int]:
        """Return the array and its axis that is cut like that of the first operand."""
        if self.is_summed and self.kernel is not None:
            return node.operands[1], self.kernel
        return node, self.result

    def length(self, given: int) -> int:
        """Return the chunk length of that axis, for chunks of the first operand that are ``given`` long."""
        return max(1, given // self.dilation if self.is_summed else given * self.gap // self.stride)

    def reach(self, count: int, taps: int) -> int:
        """Return how many elements of the first operand ``count`` windows cover with ``taps`` of their elements."""
        return ((count - 1) * self.stride + (taps - 1) * self.dilation) // self.gap + 1


def layout_of(node: Node) -> str:
    """Return a letter for each axis, as in the layout of a convolution."""
    if node.parameters["function"] in CONVOLUTIONS:
        x, kernel, result = convolution_axes(node.parameters, node.ndim)
        return f"{x},{kernel}->{result}"
    letters = "".join(chr(ord("a") + k) for k in range(node.ndim))
    return f"{letters}->{letters}"


def windows_of(node: Node) -> tuple[Windows, ...]:
    """Return the windows along each axis, if tasks can read them; none for any other node."""
    if node.opcode != "prelude" or node.parameters["function"] not in (*CONVOLUTIONS, *REDUCTIONS):
        return ()
    if node.results or 0 in node.shape or 0 in node.operands[0].shape:
        return ()
    function, keywords = node.parameters["function"], node.parameters["keywords"]
    letters, result = layout_of(node).split("->")
    x, _, kernel = letters.partition(",")
    moving = [letter for letter in x if not kernel or letter not in "NC"]
    ones = (1,) * len(moving)
    dilations = keywords.get("kernel_dilation") or keywords.get("window_dilation") or ones
    gaps = keywords.get("input_dilation") or keywords.get("base_dilation") or ones
    found = []
    for at, letter in enumerate(moving):
        axis = kernel.index(letter) if kernel else None
        size = node.operands[1].shape[axis] if axis is not None else node.parameters["arguments"][-1][at]
        place, stride = result.index(letter), (keywords.get("strides") or ones)[at]
        can_add = axis is not None and "reverse_kernel" not in keywords and node.type.bits >= 32
        if function == "select_and_scatter":  # a piece needs all elements of the windows that reach it
            size, stride = 2 * size - 1, 1
        is_summed = can_add and size > node.shape[place]
        found.append(Windows(letter, x.index(letter), place, axis, size, stride, dilations[at], gaps[at], is_summed))
    return tuple(found)


def summed_letters(node: Node, flags: tuple[bool, ...]) -> str:
    """Return the letters of kernel axes with ``flags`` set along which parts of a convolution are added."""
    if node.parameters["function"] not in CONVOLUTIONS or node.type.bits < 32:
        return ""
    kernel = convolution_axes(node.parameters, node.ndim)[1]
    can = {windows.letter for windows in windows_of(node) if windows.is_summed} | {"I" for _ in contracted(node)}
    return "".join(letter for letter, flag in zip(kernel, flags, strict=True) if flag and letter in can)


def moving_axes(node: Node) -> set[tuple[int, int]]:
    """Return the (operand, axis) pairs along which windows move that may be cut."""
    found = {(0, windows.axis) for windows in windows_of(node)}
    found |= {(1, windows.kernel) for windows in windows_of(node) if windows.is_summed and windows.kernel is not None}
    if found and node.parameters["function"] == "select_and_scatter":
        found |= {(1, axis) for _, axis in found}
    return found
