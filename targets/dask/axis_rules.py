"""Axis maps that many operations share, and those of operations on shapes and of reductions.

An axis map says for each axis of an operand which axis of the result it is, or None where it is needed whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...transpile.array.node import Node

AxisMap = tuple[int | None, ...]
Rule = Callable[[Node], list[AxisMap]]  # an axis map for each operand


def nothing(node: Node) -> list[AxisMap]:
    """Every operand is needed whole, which is always right."""
    return [(None,) * operand.ndim for operand in node.operands]


def aligned(operand: Node, shape: Sequence[int]) -> AxisMap:
    """Broadcasting lets the last axes meet; an axis of one element that is repeated is needed whole."""
    offset = len(shape) - operand.ndim
    return tuple(offset + axis if size == shape[offset + axis] else None for axis, size in enumerate(operand.shape))


def elementwise(node: Node) -> list[AxisMap]:
    """All operands are broadcast to the shape of the result."""
    return [aligned(operand, node.shape) for operand in node.operands]


def leading(ndim: int, whole: int) -> AxisMap:
    """All axes but the last few stay what they are."""
    return tuple(axis if axis < ndim - whole else None for axis in range(ndim))


def reduced(ndim: int, axes: Sequence[int], keepdims: bool = False) -> AxisMap:
    """The axes that a reduction over ``axes`` leaves."""
    kept = [axis for axis in range(ndim) if axis not in axes]
    return tuple(None if axis in axes else axis if keepdims else kept.index(axis) for axis in range(ndim))


def all_but(node: Node, at: int) -> list[AxisMap]:
    """Work goes along one axis, which is needed whole of each operand."""
    return [tuple(axis if axis != at else None for axis in range(operand.ndim)) for operand in node.operands]


def along_axis(node: Node) -> list[AxisMap]:
    """Work goes along the axis that a parameter names."""
    return all_but(node, node.parameters["axis"])


def along_keyword(node: Node) -> list[AxisMap]:
    """Work goes along the axis that a keyword of the call names, or along the first."""
    return all_but(node, node.parameters["keywords"].get("axis", 0))


def along_argument(place: int) -> Rule:
    """Work goes along the axis that an argument of the call names."""
    return lambda node: all_but(node, node.parameters["arguments"][place])


def last_axis(node: Node) -> list[AxisMap]:
    """Work goes along the last axis."""
    return [leading(operand.ndim, 1) for operand in node.operands]


def matrices(node: Node) -> list[AxisMap]:
    """The last two axes are those of matrices, the ones before them number these."""
    return [leading(operand.ndim, 2) for operand in node.operands]


def view(node: Node) -> list[AxisMap]:
    """Elements that are as wide as before stay where they are."""
    same = node.operands[0].type.dtype.itemsize == node.type.dtype.itemsize
    return elementwise(node) if same else nothing(node)


def bitcast(node: Node) -> list[AxisMap]:
    """Elements of another width come and go in a last axis."""
    shared = min(node.ndim, node.operands[0].ndim)
    return [tuple(axis if axis < shared else None for axis in range(node.operands[0].ndim))]


def transpose(node: Node) -> list[AxisMap]:
    """Axes change their places."""
    axes = node.parameters["axes"]
    return [tuple(axes.index(axis) for axis in range(len(axes)))]


def reshape(node: Node) -> list[AxisMap]:
    """Axes that are neither merged nor split stay; in one block only one size may be left open."""
    found: dict[int, int] = {}
    source, target = node.operands[0].shape, node.shape
    i = k = 0
    while i < len(source) and k < len(target):
        left, right, first = source[i], target[k], (i, k)
        while left != right:
            if left < right and i + 1 < len(source):
                i += 1
                left *= source[i]
            elif left > right and k + 1 < len(target):
                k += 1
                right *= target[k]
            else:
                return nothing(node)
        if first == (i, k):
            found[i] = k
        i, k = i + 1, k + 1
    if 0 in source:
        return nothing(node)
    return [tuple(found.get(axis) for axis in range(len(source)))]


def stack(node: Node) -> list[AxisMap]:
    """A new axis lies between those of the operands."""
    at = node.parameters["axis"]
    return [tuple(axis + (axis >= at) for axis in range(operand.ndim)) for operand in node.operands]


def pad(node: Node) -> list[AxisMap]:
    """Axes without padding stay."""
    widths = node.parameters["widths"]
    return [tuple(axis if tuple(width) == (0, 0) else None for axis, width in enumerate(widths)), ()]


def pad_with_gaps(node: Node) -> list[AxisMap]:
    """Axes without padding and without gaps between their elements stay."""
    padding, interior = node.parameters["arguments"][2], node.parameters["keywords"].get("interior")
    gaps = interior or (0,) * node.ndim
    whole = [tuple(ends) != (0, 0) or gap != 0 for ends, gap in zip(padding, gaps, strict=True)]
    return [tuple(None if needed else axis for axis, needed in enumerate(whole)), ()]


def roll(node: Node) -> list[AxisMap]:
    """Axes that are not rolled stay."""
    axes = node.parameters["axis"]
    rolled = axes if isinstance(axes, tuple) else (axes,)
    return [tuple(axis if axis not in rolled else None for axis in range(node.ndim))]


def reduction(node: Node) -> list[AxisMap]:
    """Axes that are not summed over.. stay."""
    axes = node.parameters["axes"] if "axes" in node.parameters else (node.parameters["axis"],)
    return [reduced(node.operands[0].ndim, axes, bool(node.parameters.get("keepdims")))]


def folded(node: Node) -> list[AxisMap]:
    """A reduction of several arrays by a function."""
    axes = node.parameters["arguments"][-1]
    return [reduced(operand.ndim, axes) if operand.ndim else () for operand in node.operands]


def fft(node: Node) -> list[AxisMap]:
    """The last axes are transformed."""
    return [leading(node.operands[0].ndim, len(node.parameters["lengths"]))]


def numbered(node: Node) -> list[AxisMap]:
    """Random numbers are made of a state and the count of each."""
    state, counts = node.operands
    return [(None,) * state.ndim, tuple(range(counts.ndim))]


def features(node: Node) -> list[AxisMap]:
    """Batch normalisation with known statistics takes vectors of features along one axis."""
    axis = node.parameters["keywords"].get("axis", -1) % node.ndim
    return [tuple(range(node.ndim)), *((axis,) for _ in node.operands[1:])]


def right_sides(node: Node) -> list[AxisMap]:
    """Triangular systems share a matrix, and are independent of each other."""
    matrix, sides = matrices(node)
    free = node.ndim - (1 if node.parameters["keywords"].get("left_side", True) else 2)
    return [matrix, tuple(free if axis == free else place for axis, place in enumerate(sides))]
