"""Operations that make arrays from numbers, and operations that move elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...hlo.element_types import S32, ElementType
from .. import magnitudes
from ..operation import AxisMap, Interval, Operand, Parameters, Row, Shape, Table
from . import axes
from .inference import (
    common_type,
    interval_of_all,
    interval_of_first,
    like_first,
    scalar,
    type_of_first,
)
from .parameters import ANY, AXES, AXIS, INT, INT_OR_INTS, PAIRS

OPERATIONS = Table(moves=True)


# -- leaves


def _of_constant(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    shape: Shape = parameters["constant"].array.shape
    return shape


def _only(operands: Sequence[Operand], parameters: Parameters, result: ElementType) -> Interval:
    value = int(parameters["constant"].array)
    return value, value


def _always(operands: Sequence[Operand]) -> bool:
    return True


_atom: Row = {"is_atom": True, "is_light": True}


OPERATIONS.define("parameter", parameters={"argument": INT.optional, "count": INT.optional}, **_atom)
OPERATIONS.define(
    "literal", traits="generated known_on_host", parameters={"constant": ANY}, shape=scalar, interval=_only, **_atom
)
OPERATIONS.define(
    "integer",
    traits="known_on_host",
    parameters={"value": INT},
    shape=scalar,
    interval=lambda operands, parameters, result: (parameters["value"], parameters["value"]),
    python_int=_always,
    **_atom,
)
OPERATIONS.define("array", names="table", parameters={"constant": ANY}, shape=_of_constant)
OPERATIONS.define(
    "arange",
    names="positions",
    traits="counts generated allocates",
    magnitude=magnitudes.counted,
    parameters={"stop": INT},
    shape=lambda operands, parameters: (parameters["stop"],),
    interval=lambda operands, parameters, result: (0, max(parameters["stop"] - 1, 0)),
)
OPERATIONS.define(
    "range",
    names="positions",
    traits="counts generated allocates",
    magnitude=magnitudes.counted,
    parameters={"start": INT, "stop": INT, "step": INT},
    shape=lambda operands, parameters: (len(range(parameters["start"], parameters["stop"], parameters["step"])),),
)
for _name, _noun in (("zeros", "zeros"), ("ones", "ones"), ("full", "filled")):
    OPERATIONS.define(
        _name,
        "fill",
        traits="generated allocates",
        element_type=type_of_first,
        interval=interval_of_first,
        magnitude=magnitudes.largest,
        axes=axes.nothing,
        default_names=(_noun,),
    )
OPERATIONS.define("empty", "*count", names="out", traits="stands_alone allocates")
OPERATIONS.define("tri", names="mask", traits="generated allocates", parameters={"diagonal": INT})
OPERATIONS.define("eye", names="identity", traits="generated allocates", parameters={"diagonal": INT})


# -- data movement of one operand


def _transposed(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    shape, order = operands[0].shape, parameters["axes"]
    if sorted(order) != list(range(len(shape))):
        raise ValueError(f"{order} is no order of the axes of {shape}")
    return tuple([shape[axis] for axis in order])


def _transposed_axes(node: Any) -> list[AxisMap]:
    order = node.parameters["axes"]
    return [tuple(order.index(axis) for axis in range(len(order)))]


def _reshaped_axes(node: Any) -> list[AxisMap]:
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


def _viewed(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    shape: Shape = operands[0].shape
    return (*shape[:-1], parameters["size"]) if "size" in parameters else shape


def _bits_axes(node: Any) -> list[AxisMap]:
    same = node.operands[0].type.dtype.itemsize == node.type.dtype.itemsize
    return axes.elementwise(node) if same else axes.nothing(node)


_same_elements: Row = {"element_type": type_of_first, "interval": interval_of_first, "magnitude": magnitudes.largest}

OPERATIONS.define(
    "copy", "x", names="out", traits="stands_alone allocates", shape=like_first, axes=axes.elementwise, **_same_elements
)
OPERATIONS.define(
    "transpose",
    "x",
    traits="view light",
    parameters={"axes": AXES},
    shape=_transposed,
    axes=_transposed_axes,
    **_same_elements,
)
OPERATIONS.define("reshape", "x *lengths", names="reshaped", traits="view", axes=_reshaped_axes, **_same_elements)
OPERATIONS.define(
    "broadcast_to", "x", names="repeated", traits="view read_only", axes=axes.elementwise, **_same_elements
)
OPERATIONS.define(
    "view",
    "x",
    parameters={"size": INT.optional},  # of the last axis, if the elements have another width
    shape=_viewed,
    axes=_bits_axes,
    is_view=True,
    is_known_on_host=True,
    default_names=("bits",),
)
OPERATIONS.define(
    "scalar",
    "x",
    names="value",
    traits="known_on_host",
    shape=scalar,
    interval=interval_of_first,
    axes=axes.elementwise,
)
OPERATIONS.define(
    "retype",
    "x",
    traits="view known_on_host",
    shape=like_first,
    interval=interval_of_first,
    python_int=_always,
    axes=axes.elementwise,
    **_atom,
)


# -- diagonals and triangles


def _diagonal(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    shape, offset = operands[0].shape, parameters["offset"]
    first, second = _two_axes(operands[0], parameters)
    rows, columns = shape[first] + min(offset, 0), shape[second] - max(offset, 0)
    kept = [size for axis, size in enumerate(shape) if axis not in (first, second)]
    return (*kept, max(min(rows, columns), 0))


def _two_axes(x: Operand, parameters: Parameters) -> tuple[int, int]:
    ndim, given = len(x.shape), parameters["axes"]
    return given.get("axis1", 0) % ndim, given.get("axis2", 1) % ndim


def _diagonal_axes(node: Any) -> list[AxisMap]:
    (x,) = node.operands
    return [axes.without(x.ndim, _two_axes(x, node.parameters))]


for _name, _noun in (("tril", "lower"), ("triu", "upper")):
    OPERATIONS.define(
        _name,
        "x",
        traits="allocates",
        parameters={"diagonal": INT},
        shape=like_first,
        element_type=type_of_first,
        axes=axes.elementwise,
        default_names=(_noun,),
        names_after=(f"{_noun}_{{}}",),
    )
OPERATIONS.define(
    "diagonal",
    "x",
    names="diagonal",
    after="{}_diagonal",
    traits="view read_only",
    parameters={"offset": INT, "axes": ANY},
    shape=_diagonal,
    axes=_diagonal_axes,
    **_same_elements,
)


# -- joins


def _joined(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    at, first = parameters["axis"], operands[0].shape
    sizes = [operand.shape[at] for operand in operands]
    for operand in operands:
        if operand.shape[:at] != first[:at] or operand.shape[at + 1 :] != first[at + 1 :]:
            raise ValueError(f"{first} and {operand.shape} do not join along axis {at}")
    return (*first[:at], sum(sizes), *first[at + 1 :])


def _stacked(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    at, first = parameters["axis"], operands[0].shape
    if any(operand.shape != first for operand in operands):
        raise ValueError("arrays of different shapes are stacked")
    return (*first[:at], len(operands), *first[at:])


def _stacked_axes(node: Any) -> list[AxisMap]:
    at = node.parameters["axis"]
    return [tuple(axis + (axis >= at) for axis in range(operand.ndim)) for operand in node.operands]


def _padded(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    widths = parameters["widths"]
    return tuple([size + before + after for size, (before, after) in zip(operands[0].shape, widths, strict=True)])


def _padded_axes(node: Any) -> list[AxisMap]:
    return [tuple(axis if tuple(width) == (0, 0) else None for axis, width in enumerate(node.parameters["widths"])), ()]


def _rolled_axes(node: Any) -> list[AxisMap]:
    rolled = node.parameters["axis"]
    rolled = rolled if isinstance(rolled, tuple) else (rolled,)
    return [tuple(axis if axis not in rolled else None for axis in range(node.ndim))]


_joins: Row = {"element_type": common_type, "interval": interval_of_all, "allocates": True, "joins": True}

OPERATIONS.define(
    "concatenate",
    "*parts",
    names="joined",
    magnitude=magnitudes.largest,
    parameters={"axis": AXIS},
    shape=_joined,
    axes=axes.all_but_one,
    **_joins,
)
OPERATIONS.define(
    "stack",
    "*parts",
    names="stacked",
    magnitude=magnitudes.largest,
    parameters={"axis": AXIS},
    shape=_stacked,
    axes=_stacked_axes,
    **_joins,
)
OPERATIONS.define(
    "pad",
    "x fill",
    names="padded",
    after="padded_{}",
    parameters={"widths": PAIRS},
    shape=_padded,
    axes=_padded_axes,
    **_joins,
)
OPERATIONS.define(
    "roll",
    "x",
    names="rolled",
    after="rolled_{}",
    traits="joins allocates",
    parameters={"shift": INT_OR_INTS, "axis": INT_OR_INTS},
    shape=like_first,
    axes=_rolled_axes,
    **_same_elements,
)


# -- sizes


OPERATIONS.define(
    "axis_size",
    "x",
    names="size",
    traits="counts",
    parameters={"axis": AXIS},
    shape=scalar,
    element_type=lambda operands, parameters: S32,
    interval=lambda operands, parameters, result: (0, operands[0].shape[parameters["axis"]]),
    axes=axes.nothing,
)
