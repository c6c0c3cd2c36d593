"""Lowers dynamic slices and updates: to Python indexing if it is provably equal, else to the prelude."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...array import intervals
from ...array.affine import Affine, affine
from ...array.intervals import type_interval
from ...array.node import Node, Slot, literal_value
from ...array.rewriting import prelude_call
from ...array.value import FULL, Value, materialise, without_dimensions
from ...hlo.attributes import SliceDimension
from ...hlo.ir import Instruction
from ..shapes.ranges import row_of
from .counters import from_affine
from .dynamic import inside
from .elementwise import converted
from .lowering import FunctionLowering, lowers
from .structure import sliced


def _start_values(lowering: FunctionLowering, operands: tuple[Value, ...], rank: int) -> list[Value]:
    """Return a scalar for each dimension; the older form with one vector of starts is split."""
    if len(operands) == 1 and operands[0].shape == (rank,) and rank:
        node = lowering.plain(operands[0])
        return [Value.of(lowering.graph.add("getitem", (node,), index=(k,))) for k in range(rank)]
    return list(operands)


def is_within(start: Node, limit: int) -> bool:
    """Return whether the start is proved to lie in [0, limit], so that no clamp is needed."""
    return start.interval is not None and start.interval[0] >= 0 and start.interval[1] <= limit


def fits(lowering: FunctionLowering, start: Node, limit: int) -> bool:
    """Return whether the start needs no clamp: it is within [0, limit], or indices are trusted and nothing contradicts
    it.
    """
    if is_within(start, limit) or not lowering.module.options.support.features.indices_are_trusted:
        return is_within(start, limit)
    ends = type_interval(start.type) if start.element_type is not None else None
    (low, high), (least, greatest) = start.interval or (0, limit), ends or (0, limit)
    return low in (least, max(low, 0)) and high in (greatest, min(high, limit))


def is_start(lowering: FunctionLowering, start: Node) -> bool:
    """Return whether a slice may start there: at a Python int or, if starts are free, at an integer of at least 32
    bits.
    """
    return start.is_python_int or (lowering.module.options.support.features.starts_are_free and start.type.bits >= 32)


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
        return indexed(lowering, operand, positions, shape)
    node = materialise(lowering.graph, operand)
    chosen = tuple(scalars.get(d) or lowering.graph.integer(0) for d in range(len(sizes)))
    texts = tuple(Slot(1 + d) for d in range(len(sizes)))
    statics = tuple(sizes)
    return _call_with_starts(lowering, "dynamic_slice", (node, *chosen), (Slot(0), texts, statics))


def _positions(
    lowering: FunctionLowering, starts: dict[int, Node], sizes: Sequence[int], shape: Sequence[int]
) -> dict[int, Node] | None:
    """Return the indices, in bounds, or None if they would not be short expressions.

    Constants and single elements are clamped; longer slices must start where no clamp is needed.
    """
    found: dict[int, Node] = {}
    for d, start in starts.items():
        limit = shape[d] - sizes[d]
        if start.is_literal:
            found[d] = lowering.graph.integer(min(max(int(literal_value(start)), 0), limit))
        elif sizes[d] == 1:
            found[d] = clamped(lowering, start, shape[d])
        elif is_start(lowering, start) and fits(lowering, start, limit):
            found[d] = start
        else:
            return None
    return found


def _call_with_starts(
    lowering: FunctionLowering, function: str, nodes: tuple[Node, ...], arguments: tuple[Any, ...]
) -> Value:
    """Return a call whose starts may be Python ints, since the prelude clamps any integer."""
    node = prelude_call(lowering.graph, function, nodes, arguments)
    return Value.of(node)


def indexed(lowering: FunctionLowering, operand: Value, starts: dict[int, Node], shape: tuple[int, ...]) -> Value:
    """Return ``x[i]`` or ``x[i : i + size]`` for starts in bounds; dimensions of a single element leave the node."""
    graph = lowering.graph
    counted = _counted(lowering, operand, starts)
    if counted is not None:
        return Value(from_affine(graph, *counted, operand.node.type), (None,), shape)
    place = _place_of_device(lowering, operand, starts)
    if place is not None:
        return Value(place, (None,), shape)
    source, offsets = _without_slices(operand.node, starts, operand.axes)
    index: list[Any] = [FULL] * operand.node.ndim
    nodes: list[Node] = [source]
    dropped = set()
    for d, start in starts.items():
        axis = operand.axes[d]
        if axis is None:
            continue
        terms, constant = affine(start)
        nodes.append(
            from_affine(graph, terms, constant + offsets[axis], start.element_type) if offsets[axis] else untyped(start)
        )
        slot = Slot(len(nodes) - 1)
        if shape[d] == 1:
            index[axis] = slot
            dropped.add(axis)
        else:
            index[axis] = (slot, shape[d])
    if len(nodes) == 1:  # the value is the same at all positions
        return Value(operand.node, operand.axes, shape)
    kept = [axis for axis in range(operand.node.ndim) if axis not in dropped]
    node = lowering.graph.add("getitem", tuple(nodes), interval=operand.node.interval, index=tuple(index))
    axes = tuple(kept.index(axis) if axis is not None and axis not in dropped else None for axis in operand.axes)
    return Value(node, axes, shape)


def _counted(lowering: FunctionLowering, operand: Value, starts: dict[int, Node]) -> Affine | None:
    """Return ``t`` for ``np.arange(n)[t]``, and ``t * 2 + 1`` for ``(np.arange(n) * 2 + 1)[t]``, as an affine sum; or
    None.
    """
    is_fixed = lowering.module.options.support.features.sizes_are_fixed
    row = _row(operand.node, is_fixed=is_fixed) if operand.axes == (0,) else None
    if row is None or not starts[0].is_python_int or starts[0].interval is None:
        return None
    factor, offset = row
    ends = [factor * end + offset for end in starts[0].interval]
    terms, constant = affine(starts[0])
    scaled = {node: coefficient * factor for node, coefficient in terms.items() if factor}
    is_held = intervals.fits((min(ends), max(ends)), operand.node.type)
    return (scaled, constant * factor + offset) if is_held else None


def _place_of_device(lowering: FunctionLowering, operand: Value, starts: dict[int, Node]) -> Node | None:
    """Return ``device // 2 % 2 * 2`` for ``np.array([0, 0, 2, 2, 0, 0, 2, 2])[device]``, the position of a device along
    an axis of the mesh, or the start of its part of an array; or None.
    """
    is_table = operand.axes == (0,) and operand.node.opcode == "array" and operand.node.type.is_integral
    if not is_table or starts[0].opcode not in ("partition-id", "replica-id"):
        return None
    numbers = [int(number) for number in operand.node.parameters["constant"].array]
    start, numbers = numbers[0], [number - numbers[0] for number in numbers]
    run = next((k for k, number in enumerate(numbers) if number), len(numbers))
    step = numbers[run] if run < len(numbers) else 0
    count = next((k // run for k in range(run, len(numbers), run) if not numbers[k]), len(numbers))
    if [k // run % count * step for k in range(len(numbers))] != numbers:
        return None

    def worked_out(opcode: str, value: Value, number: int, neutral: int) -> Value:
        literal = lowering.graph.literal(number, value.node.type)
        node = lowering.graph.add(opcode, (value.node, literal)) if number != neutral else value.node
        return Value(node, (), ())

    place = worked_out("divide", Value(starts[0], (), ()), run, 1)
    place = worked_out("remainder", place, count, len(numbers))
    place = converted(lowering, place, operand.node.type)
    return worked_out("add", worked_out("multiply", place, step, 1), start, 0).node


def _row(node: Node, *, is_fixed: bool) -> tuple[int, int] | None:
    """Return the factor and the offset of integers that are affine in their positions; None for others.

    If sizes are not fixed, numbers may follow from them, and only those that scale and shift positions are looked at.
    """
    if node.opcode == "arange":
        return 1, 0
    rows = [operand for operand in node.operands if operand.opcode == "arange"]
    numbers = [int(literal_value(operand)) for operand in node.operands if operand.is_literal and node.type.is_integral]
    if len(rows) == len(numbers) == 1 and node.opcode in ("add", "multiply"):
        return (1, numbers[0]) if node.opcode == "add" else (numbers[0], 0)
    row = row_of(node) if is_fixed and node.type.is_integral else None
    return (row.step, row.start) if row else None


def _without_slices(node: Node, starts: dict[int, Node], axes: Sequence[int | None]) -> tuple[Node, list[int]]:
    """Return the array that was sliced, and the starts of the slices along each axis: ``x[1:][t]`` is ``x[t + 1]``."""
    none = [0] * node.ndim
    if node.opcode != "getitem" or len(node.operands) != 1 or node.operands[0].ndim != node.ndim:
        return node, none
    counted = {axes[d] for d, start in starts.items() if start.is_python_int and start.element_type is not None}
    offsets = []
    for axis, item in enumerate(node.parameters["index"]):
        if item != FULL and (axis not in counted or not isinstance(item, tuple) or item[2] not in (None, 1)):
            return node, none
        offsets.append((item[0] or 0) if isinstance(item, tuple) else 0)
    return (node.operands[0], offsets) if min(offsets) >= 0 else (node, none)


@lowers("dynamic-update-slice")
def dynamic_update_slice(
    lowering: FunctionLowering, instruction: Instruction, operand: Value, update: Value, *indices: Value
) -> Value:
    """Lower an update. The result has the operand's sizes, or those of an update that is as large. Elements beyond the
    sizes of a smaller update do not change.
    """
    whole = {d: size for d, size in update.sizes if update.shape[d] == operand.shape[d]}
    plain, written = replace(operand, sizes=()), replace(update, sizes=())
    partial = [(d, size) for d, size in update.sizes if d not in whole]
    if partial:
        slices = {"dynamic_slice_sizes": update.shape}
        before = dynamic_slice(lowering, instruction.replace(attributes=slices), plain, *indices)
        for d, size in partial:
            within = inside(lowering, update.shape, d, size)
            written = lowering.elementwise("select", update.node.type, within, written, before, shape=update.shape)
    result = _updated_slice(lowering, plain, written, indices)
    return replace(result, sizes=tuple({**dict(operand.sizes), **whole}.items()))


def _updated_slice(lowering: FunctionLowering, operand: Value, update: Value, indices: tuple[Value, ...]) -> Value:
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
        return updated(lowering, node, update, positions)
    chosen = tuple(scalars.get(d) or lowering.graph.integer(0) for d in range(len(operand.shape)))
    slots = tuple(Slot(2 + d) for d in range(len(operand.shape)))
    arguments = (Slot(0), Slot(1), slots)
    return _call_with_starts(lowering, "dynamic_update_slice", (node, lowering.plain(update), *chosen), arguments)


def untyped(node: Node) -> Node:
    """Return a counter as an index, without HLO's conversions to other integer types."""
    while node.opcode == "retype":
        (node,) = node.operands
    return node


def updated(lowering: FunctionLowering, node: Node, update: Value, starts: dict[int, Node]) -> Value:
    """Return ``x[i] = update`` on a copy of ``x``; loops update in place if ``x`` has no other users."""
    single = [d for d in starts if update.shape[d] == 1]
    value = without_dimensions(lowering.graph, update, single)
    written = value.node if value.node.is_literal else lowering.strong(materialise(lowering.graph, value))
    index: list[Any] = [FULL] * node.ndim
    nodes = [node, written]
    for d, start in starts.items():
        nodes.append(untyped(start))
        slot = Slot(len(nodes) - 1)
        index[d] = slot if update.shape[d] == 1 else (slot, update.shape[d])
    made = lowering.graph.add("setitem", tuple(nodes), index=tuple(index))
    return Value.of(made)


def clamped(lowering: FunctionLowering, index: Node, size: int) -> Node:
    """Return an index clamped to [0, size); the index itself if it is proved to be there."""
    if fits(lowering, index, size - 1):
        return index
    largest = type_interval(index.type)
    assert largest is not None
    low, high = (lowering.graph.literal(bound, index.type) for bound in (0, min(size - 1, largest[1])))
    return lowering.node("clamp", (low, index, high), index.type)
