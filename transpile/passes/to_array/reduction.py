"""Lowers reduce: standard reducers to NumPy's reductions, others to the prelude."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...array.node import Node, Slot, Ufunc, literal_value
from ...array.operations import OPERATIONS, REDUCTIONS, RUNNING
from ...array.value import FULL, Value, getitem, materialise, without_dimensions
from ...hlo.attributes import SliceDimension
from ...hlo.element_types import PRED, ElementType
from ...hlo.ir import Computation, Instruction
from ...hlo.shapes import TupleShape
from .elementwise import accumulated_type, apply, converted, is_sub_byte
from .lowering import FunctionLowering, Lowered, lowers
from .reducers import arg_reducer, canonical, simple_reducer
from .structure import reshaped, sliced

# The logical operations for arithmetic on booleans.
_LOGIC = {"add": "or", "maximum": "or", "multiply": "and", "minimum": "and"}
# The opcode of a scan whose outputs are its carries, by the text of its computation.
_RUNNING_STEPS = {f"tuple({opcode}(a, b), {opcode}(a, b))": opcode for opcode in RUNNING}


@lowers("reduce")
def reduce(lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Lowered:
    count = len(operands) // 2
    arrays, initials = operands[:count], operands[count:]
    dimensions = instruction["dimensions"]
    computation = instruction["to_apply"]
    if count == 1:
        opcode = simple_reducer(computation)
        reduction = reduction_name(opcode, arrays[0].node.type)
        if opcode is not None and reduction is not None:
            result = reduced(lowering, opcode, reduction, arrays[0], initials[0], dimensions)
            return (result,) if isinstance(instruction.shape, TupleShape) else result
    elif count == 2:
        result = _arg_reduce(lowering, instruction, arrays, initials)
        if result is not None:
            return result
    return general_reduce(lowering, instruction, computation, arrays, initials, dimensions)


def reduction_name(opcode: str | None, element_type: ElementType) -> str | None:
    """Return NumPy's name of the reduction by a binary operation, or None if there is none."""
    if opcode is None or (element_type.is_complex and opcode in ("maximum", "minimum")):
        return None
    if element_type is PRED:
        return REDUCTIONS.get(_LOGIC.get(opcode, opcode))
    if opcode in ("and", "or", "xor"):
        return "bitwise_reduce"
    return REDUCTIONS.get(opcode)


def identity(opcode: str, element_type: ElementType) -> np.ndarray | None:
    """Return the identity of an operation, or None if there is none that all libraries can represent."""
    dtype = element_type.dtype
    if opcode in ("add", "or", "xor"):
        return np.asarray(0, dtype)
    if opcode == "multiply":
        return np.asarray(1, dtype)
    if opcode == "and":
        return np.asarray(True) if element_type is PRED else np.asarray(0, dtype) - np.asarray(1, dtype)
    if element_type is PRED:
        return np.asarray(opcode == "minimum")
    if element_type.is_integral and element_type.bits >= 8:
        bounds = np.iinfo(dtype)
        return np.asarray(bounds.min if opcode == "maximum" else bounds.max, dtype)
    if element_type.is_floating and not element_type.is_extension:
        return np.asarray(-np.inf if opcode == "maximum" else np.inf, dtype)
    return np.asarray(-np.inf if opcode == "maximum" else np.inf, dtype) if element_type.name == "bf16" else None


def is_identity(node: Node, opcode: str) -> bool:
    if not node.is_literal:
        return False
    neutral = identity(opcode, node.type)
    value = literal_value(node)
    return neutral is not None and bool(value == neutral)


def reduced(
    lowering: FunctionLowering, opcode: str, reduction: str, array: Value, initial: Value, dimensions: Sequence[int]
) -> Value:
    """Return a standard reduction, combined once with the initial value."""
    element_type = array.node.type
    shape = tuple(size for d, size in enumerate(array.shape) if d not in dimensions)
    array = _whole(opcode, array, dimensions)
    start = Value.repeated(initial.node, shape)
    is_alone = all(array.shape[d] == 1 for d in dimensions) and not lowering.module.module.free_sizes
    if is_alone or not dimensions:
        result = reshaped(lowering, array, shape)  # XLA, too, adds no 0 to one element
    elif any(array.shape[d] == 0 for d in dimensions):
        return start
    else:
        result = _summed(lowering, opcode, reduction, array, dimensions, shape)
    if is_identity(initial.node, opcode):
        return result
    return apply(lowering, opcode, element_type, (start, result), shape, {})


def _whole(opcode: str, array: Value, dimensions: Sequence[int]) -> Value:
    """Return the source of a ``reduce_window`` that is the first of XLA's two steps for long axes; else the array."""
    node = array.node
    if node.opcode != "prelude" or node.parameters["function"] != "reduce_window" or not array.is_plain:
        return array
    _, _, combine, sizes = node.parameters["arguments"]
    keywords = node.parameters["keywords"]
    strides = keywords.get("strides", (1,) * node.ndim)
    split = [d for d, size in enumerate(sizes) if size != 1]
    dense = not {"base_dilation", "window_dilation"} & set(keywords)
    if combine != Ufunc(opcode) or strides != sizes or not dense or not set(split) <= set(dimensions):
        return array
    source = node.operands[0]
    padding = keywords.get("padding", ((0, 0),) * node.ndim)
    covered = all(
        low >= 0 and high >= 0 and (n + low + high) // size * size >= n + low
        for n, (low, high), size in zip(source.shape, padding, sizes, strict=True)
    )
    untouched = all(padding[d] == (0, 0) for d in range(node.ndim) if d not in split)
    return Value.of(source) if covered and untouched else array


def _summed(
    lowering: FunctionLowering,
    opcode: str,
    reduction: str,
    array: Value,
    dimensions: Sequence[int],
    shape: tuple[int, ...],
) -> Value:
    element_type = array.node.type
    widens = reduction in ("sum", "prod") or is_sub_byte(element_type)
    accumulator = accumulated_type(element_type) if widens else element_type
    folds = OPERATIONS[reduction].folds
    is_idempotent = bool(folds) and OPERATIONS[folds].is_idempotent
    if not is_idempotent and any(array.repeats(d) for d in dimensions):
        array = Value.of(materialise(lowering.graph, array))
    gone = sorted(axis for d in dimensions if (axis := array.axes[d]) is not None)
    kept = [axis for axis in range(array.node.ndim) if axis not in gone]
    axes = tuple(
        kept.index(axis) if axis is not None else None for d, axis in enumerate(array.axes) if d not in dimensions
    )
    if not gone:
        return Value(array.node, axes, shape)
    wide = converted(lowering, array, accumulator)
    source = materialise(lowering.graph, wide) if array.is_plain else wide.node  # a scalar, if all elements are equal
    if reduction in ("sum", "prod") and source.opcode == "convert" and accumulator.is_integral:
        (narrow,) = source.operands  # the sum's own dtype makes the conversion
        source = narrow if np.can_cast(narrow.type.dtype, accumulator.dtype) else source
    extra: dict[str, Any] = {"ufunc": opcode} if reduction == "bitwise_reduce" else {}
    node = lowering.graph.add(reduction, (source,), element_type=accumulator, axes=tuple(gone), **extra)
    return converted(lowering, Value(node, axes, shape), element_type)


def _arg_reduce(
    lowering: FunctionLowering, instruction: Instruction, arrays: Sequence[Value], initials: Sequence[Value]
) -> Lowered:
    """Return argmax or argmin for the two-operand reduce that means them, or None."""
    name = arg_reducer(instruction["to_apply"])
    dimensions = instruction["dimensions"]
    array, index = arrays
    if name is None or len(dimensions) != 1 or not array.shape[dimensions[0]]:
        return None
    (dimension,) = dimensions
    axis = array.axes[dimension]
    counts_from_zero = index.node.opcode == "arange" and index.axes[dimension] == 0
    worst = is_identity(initials[0].node, "maximum" if name == "argmax" else "minimum")
    zero = initials[1].node.is_literal and not literal_value(initials[1].node)
    if axis is None or not counts_from_zero or not worst or not zero:
        return None
    shape = tuple(size for d, size in enumerate(array.shape) if d != dimension)
    reduction = "max" if name == "argmax" else "min"
    best = _summed(lowering, reduction + "imum", reduction, array, dimensions, shape)
    place = lowering.graph.add(name, (_ordered(lowering, array).node,), element_type=index.node.type, axis=axis)
    return best, Value(place, best.axes, shape)


def _ordered(lowering: FunctionLowering, array: Value) -> Value:
    """Return numbers in the same order, in a type whose largest number every library finds."""
    kind = array.node.type
    return converted(lowering, array, accumulated_type(kind)) if kind.is_extension else array


def general_reduce(
    lowering: FunctionLowering,
    instruction: Instruction,
    computation: Computation,
    arrays: Sequence[Value],
    initials: Sequence[Value],
    dimensions: Sequence[int],
) -> Lowered:
    """Return the prelude's reduction, for any combiner and any number of operands."""
    combine = lowering.function_of(computation)
    nodes = tuple(lowering.plain(value) for value in (*arrays, *initials))
    count = len(arrays)
    slots = tuple(Slot(k) for k in range(2 * count))
    if isinstance(instruction.shape, TupleShape):
        arguments: tuple[Any, ...] = (slots[:count], slots[count:], combine, tuple(dimensions))
        return lowering.call_many("fold_axes", nodes, arguments=arguments)
    arguments = (*slots, combine, tuple(dimensions))
    return lowering.call("fold_axes", nodes, arguments=arguments)


@lowers("map")
def map_(lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Value:
    """Lower a map by its function of whole arrays."""
    shape = instruction.array_shape
    if simple_reducer(instruction["to_apply"]) is None and not operands:
        result = lowering.computation(instruction["to_apply"], [])
        return Value.repeated(result.node, shape.dimensions)
    function = lowering.function_of(instruction["to_apply"])
    nodes = tuple(lowering.plain(value) for value in operands)
    slots = tuple(Slot(k) for k in range(len(nodes)))
    return lowering.call("map_elements", nodes, arguments=(function, *slots))


def running(
    lowering: FunctionLowering, opcode: str, array: Value, initial: Value, dimension: int, is_backwards: bool
) -> Value | None:
    """Return a cumulative sum, product, maximum or minimum along a dimension; None if the library has none, or the
    initial value is not the identity.
    """
    element_type = array.node.type
    unordered = element_type.is_complex and opcode in ("maximum", "minimum")
    if opcode not in RUNNING or element_type is PRED or unordered or not is_identity(initial.node, opcode):
        return None
    if array.axes[dimension] is None:
        array = Value.of(lowering.plain(array))
    axis = array.axes[dimension]
    accumulator = accumulated_type(element_type) if opcode in ("add", "multiply") else element_type
    source = converted(lowering, array, accumulator).node
    flip = [(None, None, -1) if k == axis else FULL for k in range(source.ndim)]
    if is_backwards:
        source = getitem(lowering.graph, source, flip)
    node: Node = lowering.graph.add(RUNNING[opcode], (source,), element_type=accumulator, axis=axis)
    if is_backwards:
        node = getitem(lowering.graph, node, flip)
    return converted(lowering, Value(node, array.axes, array.shape), element_type)


@lowers("scan")
def scan(lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Lowered:
    """Lower a scan: inputs are sliced along a dimension, carries passed on; the results are stacked outputs, then last
    carries.
    """
    shapes = instruction.element_shapes
    carries = instruction.attributes.get("num_carries")
    count = len(operands) - (carries if carries is not None else len(shapes) // 2)
    opcode = _RUNNING_STEPS.get(canonical(instruction["to_apply"]))
    if opcode is not None and count == 1 and instruction.attributes.get("is_associative") == "true":
        found = _running_and_last(lowering, instruction, opcode, operands[0], operands[1])
        if found is not None:
            return found
    nodes = tuple(lowering.plain(value) for value in operands)
    slots = tuple(Slot(k) for k in range(len(nodes)))
    function = lowering.function_of(instruction["to_apply"])
    (axis,) = instruction["dimensions"] or (0,)
    keywords: dict[str, Any] = ({"axis": axis} if axis else {}) | (
        {"reverse": True} if instruction["is_reverse"] else {}
    )
    arguments = (function, slots[:count], slots[count:])
    return lowering.call_many("scan", nodes, arguments=arguments, **keywords)


def _running_and_last(
    lowering: FunctionLowering, instruction: Instruction, opcode: str, array: Value, initial: Value
) -> Lowered | None:
    """Return a cumulative combination and its last element, or None. Its order of combination is unspecified."""
    (dimension,), is_reverse = instruction["dimensions"] or (0,), bool(instruction["is_reverse"])
    size = array.shape[dimension]
    made = running(lowering, opcode, array, initial, dimension, is_reverse) if size else None
    if made is None:
        return None
    last = 0 if is_reverse else size - 1
    parts = [SliceDimension(0, length) for length in made.shape]
    parts[dimension] = SliceDimension(last, last + 1)
    return made, without_dimensions(lowering.graph, sliced(lowering, made, tuple(parts)), [dimension])
