"""Dynamic slices, gather and scatter: Python indexing where it is provably the same, else the prelude."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...array.node import Node, Slot, literal_value
from ...array.value import FULL, Value, getitem, materialise, without_dimensions
from ...hlo.attributes import SliceDimension
from ...hlo.ir import Instruction
from ...hlo.shapes import ArrayShape
from .intervals import type_interval
from .lowering import FunctionLowering, Lowered, lowers
from .structure import sliced


def _start_values(lowering: FunctionLowering, operands: tuple[Value, ...], rank: int) -> list[Value]:
    """One scalar a dimension; the older form with one vector of starts is taken apart."""
    if len(operands) == 1 and operands[0].shape == (rank,) and rank:
        node = lowering.plain(operands[0])
        return [Value.of(_element(lowering, node, k)) for k in range(rank)]
    return list(operands)


def _element(lowering: FunctionLowering, node: Node, position: int) -> Node:
    return lowering.graph.add("getitem", (node,), (), node.element_type, index=(position,))


def _within(start: Node, limit: int) -> bool:
    """The start is proved to lie in [0, limit]: no clamp is needed."""
    return start.interval is not None and start.interval[0] >= 0 and start.interval[1] <= limit


@lowers("dynamic-slice")
def dynamic_slice(lowering: FunctionLowering, instruction: Instruction, operand: Value, *indices: Value) -> Value:
    sizes = instruction["dynamic_slice_sizes"]
    starts = _start_values(lowering, indices, len(sizes))
    moving = [d for d, size in enumerate(sizes) if size != operand.shape[d]]
    if not moving:
        return operand
    scalars = {d: starts[d].node for d in moving}
    axes = operand.axes
    shape = tuple(sizes)
    if all(axes[d] is None for d in moving):
        return Value(operand.node, axes, shape)
    positions = _positions(lowering, scalars, sizes, operand.shape)
    if positions is not None and all(start.opcode == "integer" for start in positions.values()):
        fixed = {d: start.parameters["value"] for d, start in positions.items()}
        return sliced(
            lowering, operand, tuple(SliceDimension(fixed.get(d, 0), fixed.get(d, 0) + n) for d, n in enumerate(sizes))
        )
    if positions is not None:
        return _indexed(lowering, operand, positions, shape)
    node = materialise(lowering.graph, operand)
    chosen = tuple(scalars.get(d) or lowering.graph.integer(0) for d in range(len(sizes)))
    texts = tuple(Slot(1 + d) for d in range(len(sizes)))
    statics = tuple(sizes)
    return _call_with_starts(lowering, "dynamic_slice", (node, *chosen), shape, (Slot(0), texts, statics))


def _positions(
    lowering: FunctionLowering, starts: dict[int, Node], sizes: Sequence[int], shape: Sequence[int]
) -> dict[int, Node] | None:
    """What to index by, in bounds, or None where that is no short expression: constants and single elements are
    clamped, longer slices start at a counter that needs no clamp."""
    found: dict[int, Node] = {}
    for d, start in starts.items():
        limit = shape[d] - sizes[d]
        if start.is_literal:
            found[d] = lowering.graph.integer(min(max(int(literal_value(start)), 0), limit))
        elif sizes[d] == 1:
            found[d] = _clamped(lowering, start, shape[d])
        elif start.is_python_int and _within(start, limit):
            found[d] = start
        else:
            return None
    return found


def _call_with_starts(
    lowering: FunctionLowering,
    function: str,
    nodes: tuple[Node, ...],
    shape: tuple[int, ...],
    arguments: tuple[Any, ...],
) -> Value:
    """Starts may stay Python ints: the prelude clamps any integer."""
    node = lowering.graph.add(
        "prelude", nodes, shape, nodes[0].element_type, function=function, arguments=arguments, keywords={}
    )
    return Value.of(node)


def _indexed(lowering: FunctionLowering, operand: Value, starts: dict[int, Node], shape: tuple[int, ...]) -> Value:
    """``x[i]`` or ``x[i : i + size]`` with starts known to be in bounds; a single element leaves the node."""
    index: list[Any] = [FULL] * operand.node.ndim
    nodes: list[Node] = [operand.node]
    dropped = set()
    node_shape = list(operand.node.shape)
    for d, start in starts.items():
        axis = operand.axes[d]
        if axis is None:
            continue
        nodes.append(start)
        slot = Slot(len(nodes) - 1)
        if shape[d] == 1:
            index[axis] = slot
            dropped.add(axis)
        else:
            index[axis] = (slot, shape[d])
            node_shape[axis] = shape[d]
    kept = [axis for axis in range(operand.node.ndim) if axis not in dropped]
    node = lowering.graph.add(
        "getitem",
        tuple(nodes),
        tuple(node_shape[axis] for axis in kept),
        operand.node.element_type,
        interval=operand.node.interval,
        index=tuple(index),
    )
    axes = tuple(kept.index(axis) if axis is not None and axis not in dropped else None for axis in operand.axes)
    return Value(node, axes, shape)


@lowers("dynamic-update-slice")
def dynamic_update_slice(
    lowering: FunctionLowering, instruction: Instruction, operand: Value, update: Value, *indices: Value
) -> Value:
    starts = _start_values(lowering, indices, len(operand.shape))
    if update.shape == operand.shape:
        return update
    if 0 in update.shape:
        return operand
    moving = [d for d, size in enumerate(update.shape) if size != operand.shape[d]]
    scalars = {d: starts[d].node for d in moving}
    node = lowering.plain(operand)
    positions = _positions(lowering, scalars, update.shape, operand.shape)
    if positions is not None:
        return _updated(lowering, node, update, positions)
    chosen = tuple(scalars.get(d) or lowering.graph.integer(0) for d in range(len(operand.shape)))
    slots = tuple(Slot(2 + d) for d in range(len(operand.shape)))
    arguments = (Slot(0), Slot(1), slots)
    return _call_with_starts(
        lowering, "dynamic_update_slice", (node, lowering.plain(update), *chosen), operand.shape, arguments
    )


def _updated(lowering: FunctionLowering, node: Node, update: Value, starts: dict[int, Node]) -> Value:
    """``x[i] = update`` on a copy of ``x``; loops write in place where nobody else reads ``x``."""
    single = [d for d in starts if update.shape[d] == 1]
    value = without_dimensions(lowering.graph, update, single)
    written = value.node if value.node.is_literal else lowering.strong(materialise(lowering.graph, value))
    index: list[Any] = [FULL] * node.ndim
    nodes = [node, written]
    for d, start in starts.items():
        nodes.append(start)
        slot = Slot(len(nodes) - 1)
        index[d] = slot if update.shape[d] == 1 else (slot, update.shape[d])
    return Value.of(lowering.graph.add("setitem", tuple(nodes), node.shape, node.element_type, index=tuple(index)))


@lowers("gather")
def gather(lowering: FunctionLowering, instruction: Instruction, operand: Value, indices: Value) -> Value:
    shape = instruction.array_shape
    taken = _take(lowering, instruction, operand, indices) or _by_several(lowering, instruction, operand, indices)
    if taken is not None:
        return taken
    numbers = {
        key: instruction[key]
        for key in (
            "offset_dims",
            "collapsed_slice_dims",
            "start_index_map",
            "operand_batching_dims",
            "start_indices_batching_dims",
        )
        if instruction[key]
    }
    if instruction["index_vector_dim"] != len(indices.shape) - 1:
        numbers["index_vector_dim"] = instruction["index_vector_dim"]
    nodes = (lowering.plain(operand), lowering.plain(indices))
    arguments = (Slot(0), Slot(1), instruction["slice_sizes"])
    return lowering.call("gather", nodes, shape.dimensions, shape.element_type, arguments=arguments, **numbers)


def _take(lowering: FunctionLowering, instruction: Instruction, operand: Value, indices: Value) -> Value | None:
    """Rows along one dimension: ``np.take``, or ``x[i]`` where every index is proved in range."""
    sizes = instruction["slice_sizes"]
    if len(instruction["start_index_map"]) != 1 or instruction["operand_batching_dims"]:
        return None
    (dimension,) = instruction["start_index_map"]
    collapsed = instruction["collapsed_slice_dims"]
    rest = [d for d in range(len(sizes)) if d != dimension]
    if collapsed != (dimension,) or any(sizes[d] != operand.shape[d] for d in rest) or not operand.shape[dimension]:
        return None
    vector_dim = instruction["index_vector_dim"]
    if vector_dim < len(indices.shape):
        indices = without_dimensions(lowering.graph, indices, [vector_dim])
    shape = instruction.array_shape
    offset = instruction["offset_dims"]
    batch = [d for d in range(shape.rank) if d not in offset]
    axis = operand.axes[dimension]
    if axis is None:
        return None
    # Axes of np.take's result: the operand's before the axis, the index's, the operand's after it.
    index_dims = [d for d, a in enumerate(indices.axes) if a is not None]
    index_dims.sort(key=lambda d: indices.axes[d] or 0)
    operand_result = {operand.axes[d]: offset[k] for k, d in enumerate(rest) if operand.axes[d] is not None}
    before = [operand_result[a] for a in range(axis)]
    after = [operand_result[a] for a in range(axis + 1, operand.node.ndim)]
    order = [*before, *(batch[d] for d in index_dims), *after]
    limit = operand.shape[dimension] - 1
    if indices.node.is_literal:
        position = min(max(int(literal_value(indices.node)), 0), limit)
        node = getitem(
            lowering.graph, operand.node, [position if a == axis else FULL for a in range(operand.node.ndim)]
        )
    else:
        node = lowering.graph.add(
            "take",
            (operand.node, lowering.strong(indices.node)),
            tuple(shape.dimensions[d] for d in order),
            shape.element_type,
            interval=operand.node.interval,
            axis=axis,
            clamped=not _within(indices.node, limit),
        )
    axes = tuple(order.index(d) if d in order else None for d in range(shape.rank))
    return Value(node, axes, shape.dimensions)


def _by_several(lowering: FunctionLowering, instruction: Instruction, operand: Value, indices: Value) -> Value | None:
    """``x[i, j]``: single elements (or rows) by one index array for each of the first dimensions."""
    count = len(instruction["start_index_map"])
    sizes, last = instruction["slice_sizes"], len(indices.shape) - 1
    stacked = indices.node.opcode == "stack" and indices.is_plain and indices.node.parameters["axis"] == last
    first = tuple(range(count))
    if (
        not stacked
        or count < 2
        or instruction["index_vector_dim"] != last
        or instruction["start_index_map"] != first
        or instruction["collapsed_slice_dims"] != first
        or instruction["operand_batching_dims"]
        or any(sizes[d] != operand.shape[d] for d in range(count, len(sizes)))
        or 0 in operand.shape[:count]
    ):
        return None
    node = lowering.plain(operand)
    inside = [_clamped(lowering, index, node.shape[d]) for d, index in enumerate(indices.node.operands)]
    shape = instruction.array_shape
    offset = instruction["offset_dims"]
    order = [*(d for d in range(shape.rank) if d not in offset), *offset]
    made = lowering.graph.add(
        "advanced_index",
        (node, *inside),
        tuple(shape.dimensions[d] for d in order),
        shape.element_type,
        interval=node.interval,
    )
    return Value(made, tuple(order.index(d) for d in range(shape.rank)), shape.dimensions)


def _clamped(lowering: FunctionLowering, index: Node, size: int) -> Node:
    """An index moved into [0, size); itself where it is proved to be there."""
    if _within(index, size - 1):
        return index
    largest = type_interval(index.type)
    assert largest is not None
    low, high = (lowering.graph.literal(bound, index.type) for bound in (0, min(size - 1, largest[1])))
    return lowering.node("clamp", (low, index, high), index.type)


@lowers("scatter")
def scatter(lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Lowered:
    count = (len(operands) - 1) // 2
    numbers = {
        key: instruction[key]
        for key in (
            "update_window_dims",
            "inserted_window_dims",
            "scatter_dims_to_operand_dims",
            "input_batching_dims",
            "scatter_indices_batching_dims",
        )
        if instruction[key]
    }
    indices = operands[count]
    if instruction["index_vector_dim"] != len(indices.shape) - 1:
        numbers["index_vector_dim"] = instruction["index_vector_dim"]
    computation = instruction["to_apply"]
    replaces = computation.root is computation.parameters[-1] and count == 1
    combine = None if replaces else lowering.combiner(computation)
    nodes = tuple(lowering.plain(value) for value in operands)
    slots = tuple(Slot(k) for k in range(len(nodes)))
    if count == 1:
        shape = instruction.element_shapes[0]
        assert isinstance(shape, ArrayShape)
        arguments: tuple[Any, ...] = (*slots, combine) if combine is not None else slots
        result = lowering.call("scatter", nodes, shape.dimensions, shape.element_type, arguments=arguments, **numbers)
        return result if instruction.shape is shape else (result,)
    arguments = (slots[:count], slots[count], slots[count + 1 :], combine)
    return lowering.call_many("scatter", nodes, instruction.element_shapes, arguments=arguments, **numbers)
