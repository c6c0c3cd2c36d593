"""Lowers operations that move elements: most only edit an axis map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from ...array.node import Constant, Node, Slot
from ...array.value import FULL, Value, getitem, materialise, without_dimensions
from ...hlo.attributes import PaddingDimension, SliceDimension
from ...hlo.bitcasts import bitcast_as_reshape_transpose
from ...hlo.element_types import S32, S64, ElementType, from_dtype
from ...hlo.ir import Instruction
from ...hlo.literal_values import has_odd_nan
from ...hlo.shapes import ArrayShape
from ...hlo.source import Diagnostic, UnsupportedError
from .elementwise import converted
from .lowering import FunctionLowering, Lowered, lowers
from .pieces import joined

_COMPARED_AT_ONCE = 65536  # elements; the first chunk of a large constant mostly decides


@lowers("constant")
def constant(lowering: FunctionLowering, instruction: Instruction) -> Lowered:
    return _constant(lowering, instruction["literal"], instruction.shape)


def _constant(lowering: FunctionLowering, literal: Any, shape: Any) -> Lowered:
    if isinstance(literal, tuple):
        return tuple(_constant(lowering, part, inner) for part, inner in zip(literal, shape.elements, strict=True))
    if literal is None:
        return None
    element_type = shape.element_type
    if has_odd_nan(literal) and not element_type.is_complex:
        # Python has one NaN of each sign; arrays with others are written as bits.
        bits = literal.view(f"u{literal.itemsize}")
        words = _constant(lowering, bits, ArrayShape(from_dtype(bits.dtype), shape.dimensions))
        return lowering.elementwise("view", element_type, words, shape=shape.dimensions)
    if literal.ndim == 0:
        if element_type.is_floating and float(literal) in lowering.module.module.free_numbers:
            number = lowering.graph.integer(int(literal))
            return Value.of(lowering.graph.add("scalar", (number,), element_type=element_type))
        return Value.of(lowering.graph.literal(literal, element_type))
    raw = np.ascontiguousarray(literal)
    if not raw.size:
        return Value.repeated(lowering.graph.literal(0, element_type), raw.shape)
    if _is_splat(raw):
        return Value.repeated(lowering.graph.literal(raw.flat[0], element_type), raw.shape)
    interval = (int(raw.min()), int(raw.max())) if element_type.is_integral and element_type.bits >= 8 else None
    found = Constant.of(raw)
    if found in lowering.stored:
        return lowering.stored[found]
    return Value.of(lowering.graph.add("array", (), element_type=element_type, interval=interval, constant=found))


def _is_splat(array: np.ndarray) -> bool:
    elements = array.reshape(-1).view(np.uint8).reshape(array.size, -1)
    parts = (elements[i : i + _COMPARED_AT_ONCE] for i in range(0, array.size, _COMPARED_AT_ONCE))
    return all((part == elements[0]).all() for part in parts)


@lowers("iota")
def iota(lowering: FunctionLowering, instruction: Instruction) -> Value:
    shape = instruction.array_shape
    dimension = instruction["iota_dimension"]
    size = shape.dimensions[dimension]
    node = arange(lowering, size, shape.element_type)
    axes = tuple(0 if d == dimension else None for d in range(shape.rank))
    return Value(node, axes, shape.dimensions)


def arange(lowering: FunctionLowering, size: int, element_type: ElementType) -> Node:
    """Return ``0, 1, .., size - 1``; floats are converted integers, as in HLO."""
    plain = (element_type.is_integral and element_type.bits >= 8) or element_type.name in ("f32", "f64")
    positions = lowering.graph.reached((0, max(size - 1, 0)))
    fit = element_type.is_integral and positions[1].bit_length() < element_type.bits
    interval = positions if fit else None
    if plain and (interval or not element_type.is_integral) and size < 2**24:
        return lowering.graph.add("arange", (), element_type=element_type, interval=interval, stop=size)
    counted = S32 if size <= 2**31 else S64
    node = lowering.graph.add("arange", (), element_type=counted, interval=(0, max(size - 1, 0)), stop=size)
    return converted(lowering, Value.of(node), element_type).node


@lowers("broadcast")
def broadcast(lowering: FunctionLowering, instruction: Instruction, operand: Value) -> Value:
    shape = instruction.array_shape.dimensions
    axes: list[int | None] = [None] * len(shape)
    for d, dimension in enumerate(instruction["dimensions"]):
        axes[dimension] = operand.axes[d]
    return Value(operand.node, tuple(axes), shape)


@lowers("transpose")
def transpose(lowering: FunctionLowering, instruction: Instruction, operand: Value) -> Value:
    order = instruction["dimensions"]
    return Value(operand.node, tuple(operand.axes[d] for d in order), tuple(operand.shape[d] for d in order))


@lowers("reshape")
def reshape(lowering: FunctionLowering, instruction: Instruction, operand: Value) -> Value:
    return reshaped(lowering, operand, instruction.array_shape.dimensions)


def reshaped(lowering: FunctionLowering, operand: Value, shape: tuple[int, ...]) -> Value:
    """Return a reshape. Unit dimensions are only changed in the map; anything else is ``np.reshape``."""
    if operand.shape == shape:
        return operand
    if operand.node.ndim == 0:
        return Value.repeated(operand.node, shape)
    kept = [d for d, size in enumerate(operand.shape) if size != 1]
    wanted = [d for d, size in enumerate(shape) if size != 1]
    if [operand.shape[d] for d in kept] == [shape[d] for d in wanted]:
        places = dict(zip(kept, wanted, strict=True)) | _units_that_stay(operand, kept, shape, wanted)
        gone = [d for d in range(len(operand.shape)) if d not in places]
        core = without_dimensions(lowering.graph, operand, gone)
        axes: list[int | None] = [None] * len(shape)
        for position, d in enumerate(sorted(places)):
            axes[places[d]] = core.axes[position]
        return Value(core.node, tuple(axes), shape)
    node = materialise(lowering.graph, operand)
    if node.opcode == "reshape":
        node = node.operands[0]
        if node.shape == shape:
            return Value.of(node)
    return Value.of(lowering.graph.add("reshape", (node,), shape=shape))


def _units_that_stay(operand: Value, kept: list[int], shape: tuple[int, ...], wanted: list[int]) -> dict[int, int]:
    """Return the new unit dimension of each unit dimension in the node, if it is between the same larger dimensions.

    A dimension that is indexed away would only return as an axis later. Tables are written without unit dimensions.
    """
    if operand.node.opcode == "array":
        return {}
    stay: dict[int, int] = {}
    gaps = zip(pairwise([-1, *kept, len(operand.shape)]), pairwise([-1, *wanted, len(shape)]), strict=True)
    for (before, after), (new_before, new_after) in gaps:
        units = [d for d in range(before + 1, after) if operand.axes[d] is not None]
        free = list(range(new_before + 1, new_after))
        count = min(len(units), len(free))
        # New dimensions before all others come before a batch of one, others after it.
        stay |= dict(zip(units[:count], free[len(free) - count :] if before < 0 else free[:count], strict=True))
    return stay


@lowers("reverse")
def reverse(lowering: FunctionLowering, instruction: Instruction, operand: Value) -> Value:
    reversed_axes = {operand.axes[d] for d in instruction["dimensions"]}
    index = [(None, None, -1) if axis in reversed_axes else FULL for axis in range(operand.node.ndim)]
    return Value(getitem(lowering.graph, operand.node, index), operand.axes, operand.shape)


@lowers("shuffle")
def shuffle(lowering: FunctionLowering, instruction: Instruction, operand: Value) -> Value:
    """Lower a rotation: element ``shift`` of a dimension comes first."""
    node = operand.node
    for dimension, shift in zip(instruction["dimensions"], instruction["shifts"], strict=True):
        axis, size = operand.axes[dimension], operand.shape[dimension]
        if axis is not None and size and shift % size:
            along = min(-shift % size, -(shift % size), key=abs)
            node = lowering.graph.add("roll", (node,), shift=along, axis=axis)
    return Value(node, operand.axes, operand.shape)


@lowers("slice")
def slice_(lowering: FunctionLowering, instruction: Instruction, operand: Value) -> Value:
    return sliced(lowering, operand, instruction["slice"])


def sliced(lowering: FunctionLowering, operand: Value, dimensions: tuple[SliceDimension, ...]) -> Value:
    """Return a static slice; a dimension with one remaining element leaves the node."""
    index: list[Any] = [FULL] * operand.node.ndim
    dropped: set[int] = set()
    shape = []
    for d, part in enumerate(dimensions):
        size = len(range(part.start, part.limit, part.stride))
        shape.append(size)
        axis = operand.axes[d]
        if axis is None or (size == operand.shape[d]):
            continue
        if size == 1:
            index[axis] = part.start
            dropped.add(axis)
        else:
            stop = part.limit if part.limit < operand.shape[d] else None
            index[axis] = (part.start or None, stop, part.stride if part.stride != 1 else None)
    node = getitem(lowering.graph, operand.node, index)
    renumber = {axis: k for k, axis in enumerate(a for a in range(operand.node.ndim) if a not in dropped)}
    axes = tuple(renumber.get(axis) if axis is not None else None for axis in operand.axes)
    return Value(node, axes, tuple(shape))


@lowers("concatenate")
def concatenate(lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Value:
    (dimension,) = instruction["dimensions"]
    operands = tuple(value for value in operands if value.shape[dimension]) or operands[:1]
    if len(operands) == 1:
        return operands[0]
    whole = joined(lowering.graph, operands, dimension)
    if whole is not None:
        return whole
    if all(value.axes[dimension] is None and value.shape[dimension] == 1 for value in operands):
        parts = [without_dimensions(lowering.graph, value, [dimension]) for value in operands]
        nodes = tuple(lowering.plain(part) for part in parts)
        node = lowering.graph.add("stack", nodes, axis=dimension)
        return Value.of(node)
    nodes = tuple(lowering.plain(value) for value in operands)
    return Value.of(lowering.graph.add("concatenate", nodes, axis=dimension))


@lowers("pad")
def pad(lowering: FunctionLowering, instruction: Instruction, operand: Value, filling: Value) -> Value:
    sizes = instruction.operands[0].array_shape.dimensions
    given: tuple[PaddingDimension, ...] = instruction["padding"]
    has_free_sizes = bool(lowering.module.module.free_sizes)  # then one element here may be more elsewhere
    pairs = zip(given, sizes, strict=True)
    padding = tuple(part if n > 1 or has_free_sizes else replace(part, interior=0) for part, n in pairs)
    if all(part == PaddingDimension(0, 0) for part in padding):
        return operand
    if all(part.interior == 0 for part in padding):
        return _edge_pad(lowering, operand, filling, padding)
    node = lowering.plain(operand)
    value = lowering.plain(filling)
    return lowering.call(
        "pad",
        (node, value),
        arguments=(Slot(0), Slot(1), tuple((part.low, part.high) for part in padding)),
        interior=tuple(part.interior for part in padding),
    )


def _edge_pad(
    lowering: FunctionLowering, operand: Value, filling: Value, padding: tuple[PaddingDimension, ...]
) -> Value:
    """Return ``np.pad`` after negative padding is cropped."""
    cut = []
    for size, part in zip(operand.shape, padding, strict=True):
        start, stop = max(-part.low, 0), size - max(-part.high, 0)
        if stop < start:  # the crops overlap: the padding of the other side fills the rest
            return lowering.call(
                "pad",
                (lowering.plain(operand), lowering.plain(filling)),
                arguments=(Slot(0), Slot(1), tuple((p.low, p.high) for p in padding)),
            )
        cut.append(SliceDimension(start, stop))
    cropped = sliced(lowering, operand, tuple(cut))
    widths = tuple((max(part.low, 0), max(part.high, 0)) for part in padding)
    if not any(low or high for low, high in widths):
        return cropped
    node = lowering.plain(cropped)
    fill = filling.node if filling.node.is_literal else lowering.plain(filling)
    return Value.of(lowering.graph.add("pad", (node, fill), widths=widths))


@lowers("copy", "opt-barrier", "domain", "all-reduce-done")
def same(lowering: FunctionLowering, instruction: Instruction, operand: Lowered) -> Lowered:
    return operand


@lowers("copy-start")
def copy_start(lowering: FunctionLowering, instruction: Instruction, operand: Lowered) -> Lowered:
    """Lower to (destination, source, context), of which only the data matters."""
    return operand, operand, None


@lowers("copy-done")
def copy_done(lowering: FunctionLowering, instruction: Instruction, operand: Lowered) -> Lowered:
    return operand[0]


@lowers("bitcast")
def bitcast(lowering: FunctionLowering, instruction: Instruction, operand: Value) -> Value:
    """Lower to a transpose, a reshape, or both: the physical buffer with another shape."""
    source, result = instruction.operands[0].array_shape, instruction.array_shape
    steps = bitcast_as_reshape_transpose(source, result)
    if steps is None:
        return _through_buffer(lowering, instruction, operand)
    turned = _permuted(operand, steps.permutation_in)
    value = _permuted(reshaped(lowering, turned, steps.dimensions), steps.permutation_out)
    if result.element_type is source.element_type:
        return value
    return lowering.elementwise("view", result.element_type, value, shape=value.shape)


def _permuted(value: Value, order: Sequence[int]) -> Value:
    return Value(value.node, tuple(value.axes[d] for d in order), tuple(value.shape[d] for d in order))


def _through_buffer(lowering: FunctionLowering, instruction: Instruction, operand: Value) -> Value:
    """Return elements of another width: flattened in physical order, reinterpreted, and laid out again. Raises
    UnsupportedError XP303 for tiles or padding.
    """
    source, result = instruction.operands[0].array_shape, instruction.array_shape
    if not all(is_simple_layout(shape) for shape in (source, result)):
        raise UnsupportedError(
            Diagnostic("XP303", f"this bitcast mixes tiles or padding: {source} to {result}", instruction.span)
        )
    order = source.layout_or_default.minor_to_major[::-1]
    flat = lowering.plain(reshaped(lowering, _permuted(operand, order), (source.size,)))
    count = source.size * source.element_type.bits // result.element_type.bits
    wider: dict[str, Any] = {"size": count} if count != source.size else {}
    viewed = lowering.graph.add("view", (flat,), element_type=result.element_type, **wider)
    major = result.layout_or_default.minor_to_major[::-1]
    arranged = reshaped(lowering, Value.of(viewed), tuple(result.dimensions[d] for d in major))
    return _permuted(arranged, [major.index(d) for d in range(result.rank)])


def is_simple_layout(shape: ArrayShape) -> bool:
    """Return whether a layout is only an order of dimensions: no tiles, no padding, whole bytes."""
    layout = shape.layout_or_default
    return not layout.tiles and not layout.padded_dimensions and shape.element_type.bits >= 8


@lowers("add-dependency")
def add_dependency(lowering: FunctionLowering, instruction: Instruction, operand: Lowered, token: Lowered) -> Lowered:
    return operand


@lowers("after-all")
def after_all(lowering: FunctionLowering, instruction: Instruction, *operands: Lowered) -> Lowered:
    return None


@lowers("tuple")
def tuple_(lowering: FunctionLowering, instruction: Instruction, *operands: Lowered) -> Lowered:
    return tuple(operands)


@lowers("get-tuple-element")
def get_tuple_element(lowering: FunctionLowering, instruction: Instruction, operand: Lowered) -> Lowered:
    return operand[instruction["index"]]
