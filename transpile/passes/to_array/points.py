"""The starts of a gather's or scatter's windows: one value for each indexed dimension of the operand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...array.node import Node, literal_value
from ...array.value import FULL, NEW, Value, getitem, without_dimensions
from ...hlo.attributes import SliceDimension
from ...hlo.element_types import S32
from .elementwise import converted
from .lowering import FunctionLowering
from .structure import arange, sliced


def start_points(
    lowering: FunctionLowering,
    indices: Value,
    vector_dimension: int,
    start_map: Sequence[int],
    batching: Sequence[tuple[int, int]],
) -> dict[int, Value]:
    """Return the starts by operand dimension, in order, each of the shape of ``indices`` without the vectors'
    dimension.

    ``batching`` are pairs (operand dimension, dimension of ``indices``) that advance together.
    """
    found = {
        dimension: without_units(lowering, _component(lowering, indices, vector_dimension, k))
        for k, dimension in enumerate(start_map)
    }
    shape = tuple(n for d, n in enumerate(indices.shape) if d != vector_dimension)
    for dimension, place in batching:
        place -= place > vector_dimension
        positions = arange(lowering, shape[place], S32)
        axes = tuple(0 if d == place and shape[place] != 1 else None for d in range(len(shape)))
        node = positions if shape[place] != 1 else lowering.graph.literal(0, S32)
        found[dimension] = Value(node, axes, shape)
    return dict(sorted(found.items()))


def _component(lowering: FunctionLowering, indices: Value, vector_dimension: int, k: int) -> Value:
    """Return component k of every index vector."""
    if vector_dimension == len(indices.shape):
        return indices
    node, axis = indices.node, indices.axes[vector_dimension]
    if node.opcode in ("stack", "concatenate") and node.parameters["axis"] == axis and indices.is_plain:
        if node.opcode == "stack":
            return _unrepeated(lowering, node.operands[k])
        part, k = _piece(node, k)
        indices = _unrepeated(lowering, part)
        if part.shape[vector_dimension] == 1:
            return without_dimensions(lowering.graph, indices, [vector_dimension])
    shape = indices.shape
    if node.opcode == "clamp" and all(each.shape == shape[len(shape) - each.ndim :] for each in node.operands):
        limits = (_broadcast(each, shape) for each in node.operands)
        parts = [_component(lowering, value, vector_dimension, k) for value in limits]
        return lowering.elementwise("clamp", node.type, *parts, shape=parts[1].shape)
    cut = tuple(
        SliceDimension(k, k + 1) if d == vector_dimension else SliceDimension(0, size)
        for d, size in enumerate(indices.shape)
    )
    value = sliced(lowering, indices, cut)
    value = without_dimensions(lowering.graph, value, [vector_dimension])
    return _constant(lowering, value)


def _broadcast(node: Node, shape: tuple[int, ...]) -> Value:
    """Return an array of the last dimensions of a shape, broadcast to it."""
    return Value(node, (*(None,) * (len(shape) - node.ndim), *range(node.ndim)), shape)


def _piece(node: Node, k: int) -> tuple[Node, int]:
    """Return the operand of a concatenation that contains position k, and the position in it."""
    for part in node.operands:
        size = part.shape[node.parameters["axis"]]
        if k < size:
            return part, k
        k -= size
    raise IndexError(k)


def _constant(lowering: FunctionLowering, value: Value) -> Value:
    """Return an element of a constant array as a literal; other values unchanged."""
    node = value.node
    if node.ndim or node.opcode != "getitem" or [each.opcode for each in node.operands] != ["array"]:
        return value
    element = node.operands[0].parameters["constant"].array[tuple(node.parameters["index"])]
    return Value(lowering.graph.literal(element, node.type), value.axes, value.shape)


def _unrepeated(lowering: FunctionLowering, node: Node) -> Value:
    """Return the source of a node's broadcasts and unit axes, with an axis map."""
    axes: list[int | None] = list(range(node.ndim))
    shape = node.shape
    if node.opcode == "broadcast_to":
        (source,) = node.operands
        lead = node.ndim - source.ndim
        axes = [d - lead if d >= lead else None for d in range(node.ndim)]
        node = source
    if node.opcode == "expand":
        held = [k for k, item in enumerate(node.parameters["index"]) if item is not NEW]
        axes = [held.index(axis) if axis in held else None for axis in axes]
        (node,) = node.operands
    elif node.operation.is_filled:
        (node,) = node.operands
        axes = [None] * len(shape)
    repeated = [axis for d, axis in enumerate(axes) if axis is not None and node.shape[axis] != shape[d]]
    node = getitem(lowering.graph, node, [0 if axis in repeated else FULL for axis in range(node.ndim)])
    left = [axis for axis in range(len(shape)) if axis not in repeated]
    return Value(node, tuple(left.index(axis) if axis in left else None for axis in axes), shape)


def element_points(
    lowering: FunctionLowering, points: Mapping[int, Value], windows: Mapping[int, int]
) -> dict[int, Value]:
    """Return the positions of all elements of windows of these sizes, from in-bounds starts.

    Their dimensions are those of the starts, then one for each of ``windows``.
    """
    found = {}
    for d, point in points.items():
        shape = (*point.shape, *windows.values())
        found[d] = Value(point.node, (*point.axes, *(None,) * len(windows)), shape)
        if d in windows:
            kind = point.node.type if not point.node.is_python_int and point.node.type.bits >= 32 else S32
            own = len(point.shape) + list(windows).index(d)
            axes = tuple(0 if k == own else None for k in range(len(shape)))
            steps = Value(arange(lowering, windows[d], kind), axes, shape)
            found[d] = lowering.elementwise("add", kind, converted(lowering, found[d], kind), steps, shape=shape)
    return found


def without_units(lowering: FunctionLowering, value: Value) -> Value:
    """Return the value without axes of size 1 in its node."""
    units = [d for d, size in enumerate(value.shape) if size == 1 and value.axes[d] is not None]
    if not units:
        return value
    core = without_dimensions(lowering.graph, value, units)
    rest = iter(core.axes)
    axes = tuple(None if d in units else next(rest) for d in range(len(value.shape)))
    return Value(core.node, axes, value.shape)


def known(value: Value) -> int | None:
    """Return the constant start of a dimension, or None."""
    if value.node.is_literal:
        return int(literal_value(value.node))
    return value.node.parameters["value"] if value.node.opcode == "integer" else None
