"""Lowers gather to ``x[i]``, ``np.take``, ``x[i, j]``, ``x[i[:, None] + np.arange(3)]`` or ``np.take_along_axis``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...array.node import Node, Slot
from ...array.value import FULL, Value, arranged, common_order, permute
from ...hlo.attributes import SliceDimension
from ...hlo.ir import Instruction
from .indexing import clamped, fits
from .lowering import FunctionLowering, lowers
from .points import element_points, known, start_points, without_units
from .structure import sliced

_NUMBERS = (
    "offset_dims",
    "collapsed_slice_dims",
    "start_index_map",
    "operand_batching_dims",
    "start_indices_batching_dims",
)


@lowers("gather")
def gather(lowering: FunctionLowering, instruction: Instruction, operand: Value, indices: Value) -> Value:
    if "gathers" not in lowering.module.options.disabled:
        taken = _by_index(lowering, instruction, operand, indices)
        if taken is not None:
            return taken
    numbers = {key: instruction[key] for key in _NUMBERS if instruction[key]}
    if instruction["index_vector_dim"] != len(indices.shape) - 1:
        numbers["index_vector_dim"] = instruction["index_vector_dim"]
    nodes = (lowering.plain(operand), lowering.plain(indices))
    arguments = (Slot(0), Slot(1), instruction["slice_sizes"])
    return lowering.call("gather", nodes, arguments=arguments, **numbers)


def _by_index(lowering: FunctionLowering, instruction: Instruction, operand: Value, indices: Value) -> Value | None:
    """Return the gather as indexing by one array for each indexed dimension; None if there are no elements."""
    sizes = instruction["slice_sizes"]
    if 0 in operand.shape or 0 in sizes:
        return None
    batching = list(zip(instruction["operand_batching_dims"], instruction["start_indices_batching_dims"], strict=True))
    points = start_points(lowering, indices, instruction["index_vector_dim"], instruction["start_index_map"], batching)
    points = {d: point for d, point in points.items() if sizes[d] != operand.shape[d]}  # else clamped to 0
    long = [d for d, point in points.items() if sizes[d] != 1 and known(point) is None]
    shape = instruction.array_shape.dimensions
    offsets = instruction["offset_dims"]
    batch = [d for d in range(len(shape)) if d not in offsets]
    gone = {*instruction["collapsed_slice_dims"], *instruction["operand_batching_dims"]}
    kept = [d for d in range(len(sizes)) if d not in gone]
    places = {d: offsets[k] for k, d in enumerate(kept)}  # the result's dimension of each operand dimension
    along = _along_axis(lowering, instruction, operand, points, batching)
    if along is not None:
        return along
    for d in long:
        points[d] = replace(points[d], node=clamped(lowering, points[d].node, operand.shape[d] - sizes[d] + 1))
    points = element_points(lowering, points, {d: sizes[d] for d in long})
    batch += [places[d] for d in long]
    starts = {d: known(point) for d, point in points.items()}
    windows = tuple(
        _window(starts.get(d, 0), size, operand.shape[d]) if d not in points or starts[d] is not None
        else SliceDimension(0, operand.shape[d])
        for d, size in enumerate(sizes)
    )  # fmt: skip
    operand = without_units(lowering, sliced(lowering, operand, windows))
    moving = {axis: point for d, point in points.items() if starts[d] is None and (axis := operand.axes[d]) is not None}
    node, order = _indexed(lowering, operand, moving, batch, places)
    axes = tuple(order.index(d) if d in order else None for d in range(len(shape)))
    return Value(node, axes, shape)


def _window(start: int | None, size: int, limit: int) -> SliceDimension:
    first = min(max(start or 0, 0), limit - size)
    return SliceDimension(first, first + size)


def _indexed(
    lowering: FunctionLowering,
    operand: Value,
    moving: Mapping[int, Value],
    batch: Sequence[int],
    places: Mapping[int, int],
) -> tuple[Node, list[int]]:
    """Return ``operand`` indexed along axes by values of the batch shape, and the result's dimension of each axis."""
    node = operand.node
    dimension_of = {axis: d for d, axis in enumerate(operand.axes) if axis is not None}
    rest = [axis for axis in range(node.ndim) if axis not in moving]
    if not moving:
        return node, [places[dimension_of[axis]] for axis in rest]
    need = common_order(list(moving.values()))
    index = [arranged(lowering.graph, value, need) for value in moving.values()]
    limits = [node.shape[axis] for axis in moving]
    first = min(moving)
    if list(moving) == list(range(first, first + len(moving))):
        before, after = [a for a in rest if a < first], [a for a in rest if a > first]
    else:
        node = permute(lowering.graph, node, [*moving, *rest])
        before, after, first = [], rest, 0
    order = [
        *(places[dimension_of[axis]] for axis in before),
        *(batch[d] for d in need),
        *(places[dimension_of[axis]] for axis in after),
    ]
    if len(index) == 1:
        made = lowering.graph.add(
            "take", (node, lowering.strong(index[0])), axis=first, clamped=not fits(lowering, index[0], limits[0] - 1)
        )
    else:
        slots = tuple(Slot(1 + k) for k in range(len(index)))
        inside = [clamped(lowering, part, limit) for part, limit in zip(index, limits, strict=True)]
        made = lowering.graph.add("advanced_index", (node, *inside), index=(FULL,) * first + slots)
    return made, order


def _along_axis(
    lowering: FunctionLowering,
    instruction: Instruction,
    operand: Value,
    points: Mapping[int, Value],
    batching: Sequence[tuple[int, int]],
) -> Value | None:
    """Return ``np.take_along_axis`` if all dimensions but one are batch dimensions of the indices, or None."""
    moving = [d for d in instruction["start_index_map"] if d in points]
    if len(batching) < 2 or len(moving) != 1 or len(batching) != len(operand.shape) - 1:
        return None
    (axis,) = moving
    if instruction["slice_sizes"][axis] != 1:
        return None
    point = points[axis]
    aligned = len(point.shape) == len(operand.shape) and all(
        place - (place > instruction["index_vector_dim"]) == d for d, place in batching
    )
    shape = instruction.array_shape
    if not aligned or shape.dimensions != point.shape or known(point) is not None:
        return None
    inside = Value(clamped(lowering, point.node, operand.shape[axis]), point.axes, point.shape)
    made = lowering.graph.add("take_along_axis", (lowering.plain(operand), lowering.plain(inside)), axis=axis)
    return Value.of(made)
