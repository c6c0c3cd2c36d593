"""Rules of operations that make arrays from numbers, and of operations that move elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...hlo.element_types import ElementType
from ..operation import AxisMap, Interval, Operand, Parameters, Shape
from . import axes

# -- leaves


def of_constant(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    shape: Shape = parameters["constant"].array.shape
    return shape


def only_literal(operands: Sequence[Operand], parameters: Parameters, result: ElementType) -> Interval:
    value = int(parameters["constant"].array)
    return value, value


def only_value(operands: Sequence[Operand], parameters: Parameters, result: ElementType) -> Interval:
    return parameters["value"], parameters["value"]


def always(operands: Sequence[Operand]) -> bool:
    return True


def counted(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    return (parameters["stop"],)


def positions(operands: Sequence[Operand], parameters: Parameters, result: ElementType) -> Interval:
    return 0, max(parameters["stop"] - 1, 0)


def spaced(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    return (len(range(parameters["start"], parameters["stop"], parameters["step"])),)


def sizes(operands: Sequence[Operand], parameters: Parameters, result: ElementType) -> Interval:
    return 0, operands[0].shape[parameters["axis"]]


# -- data movement of one operand


def transposed(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    shape, order = operands[0].shape, parameters["axes"]
    if sorted(order) != list(range(len(shape))):
        raise ValueError(f"{order} is no order of the axes of {shape}")
    return tuple([shape[axis] for axis in order])


def transposed_axes(node: Any) -> list[AxisMap]:
    order = node.parameters["axes"]
    return [tuple(order.index(axis) for axis in range(len(order)))]


def reshaped_axes(node: Any) -> list[AxisMap]:
    """Return the axis map of a reshape: axes that are neither merged nor split are mapped. Size operands have no
    axes.
    """
    return [_kept_axes(node), *[() for _ in node.operands[1:]]]


def _kept_axes(node: Any) -> AxisMap:
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
                return (None,) * len(source)
        if first == (i, k):
            found[i] = k
        i, k = i + 1, k + 1
    if 0 in source:
        return (None,) * len(source)
    return tuple(found.get(axis) for axis in range(len(source)))


def viewed(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    shape: Shape = operands[0].shape
    return (*shape[:-1], parameters["size"]) if "size" in parameters else shape


def bits_axes(node: Any) -> list[AxisMap]:
    same = node.operands[0].type.dtype.itemsize == node.type.dtype.itemsize
    return axes.elementwise(node) if same else axes.nothing(node)


# -- diagonals and triangles


def diagonal(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    shape, offset = operands[0].shape, parameters["offset"]
    first, second = _two_axes(operands[0], parameters)
    rows, columns = shape[first] + min(offset, 0), shape[second] - max(offset, 0)
    kept = [size for axis, size in enumerate(shape) if axis not in (first, second)]
    return (*kept, max(min(rows, columns), 0))


def _two_axes(x: Operand, parameters: Parameters) -> tuple[int, int]:
    ndim, given = len(x.shape), parameters["axes"]
    return given.get("axis1", 0) % ndim, given.get("axis2", 1) % ndim


def diagonal_axes(node: Any) -> list[AxisMap]:
    (x,) = node.operands
    return [axes.without(x.ndim, _two_axes(x, node.parameters))]


# -- joins


def joined(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    at, first = parameters["axis"], operands[0].shape
    sizes = [operand.shape[at] for operand in operands]
    for operand in operands:
        if operand.shape[:at] != first[:at] or operand.shape[at + 1 :] != first[at + 1 :]:
            raise ValueError(f"{first} and {operand.shape} do not join along axis {at}")
    return (*first[:at], sum(sizes), *first[at + 1 :])


def stacked(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    at, first = parameters["axis"], operands[0].shape
    if any(operand.shape != first for operand in operands):
        raise ValueError("arrays of different shapes are stacked")
    return (*first[:at], len(operands), *first[at:])


def stacked_axes(node: Any) -> list[AxisMap]:
    at = node.parameters["axis"]
    return [tuple(axis + (axis >= at) for axis in range(operand.ndim)) for operand in node.operands]


def padded(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    widths = parameters["widths"]
    return tuple([size + before + after for size, (before, after) in zip(operands[0].shape, widths, strict=True)])


def padded_axes(node: Any) -> list[AxisMap]:
    return [tuple(axis if tuple(width) == (0, 0) else None for axis, width in enumerate(node.parameters["widths"])), ()]


def rolled_axes(node: Any) -> list[AxisMap]:
    rolled = node.parameters["axis"]
    rolled = rolled if isinstance(rolled, tuple) else (rolled,)
    return [tuple(axis if axis not in rolled else None for axis in range(node.ndim))]


# -- sizes
