"""Lowers element-wise operations to one node each, with NumPy's broadcasting in place of HLO's."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array.intervals import fits, type_interval
from ...array.node import Node, Slot, literal_value
from ...array.value import Value
from ...hlo.element_types import ELEMENT_TYPES, F32, PRED, S8, S64, U8, ElementType
from ...hlo.ir import Instruction
from ...hlo.shapes import ArrayShape
from ..constants.folding import fold
from .lowering import FunctionLowering, lowers
from .variants import Site, prelude_function


def apply(
    lowering: FunctionLowering,
    opcode: str,
    element_type: ElementType,
    operands: tuple[Value, ...],
    shape: tuple[int, ...],
    parameters: dict[str, Any],
) -> Value:
    """Return an element-wise operation in the form that is right for its element types."""
    # The predicate of select and the bounds of clamp may be scalars.
    operands = tuple([v if v.shape == shape else Value.repeated(v.node, shape) for v in operands])
    types = tuple([value.node.element_type or element_type for value in operands])
    if opcode == "compare" and parameters.get("type") == "TOTALORDER" and types[0].is_floating:
        keys = tuple(_total_order_key(lowering, value) for value in operands)
        direction = {"direction": parameters["direction"]}
        return lowering.elementwise("compare", PRED, *keys, shape=shape, **direction)
    if opcode in _IN_BYTES and any(map(is_sub_byte, types)):
        return _in_bytes(lowering, opcode, element_type, operands, shape, parameters)
    if opcode == "convert" and not casts_directly(types[0], element_type):
        middle = F32 if types[0].is_floating or element_type.is_floating else S8
        return converted(lowering, converted(lowering, operands[0], middle), element_type)
    if opcode == "add":
        for value, other in (operands, operands[::-1]):
            negated = _negated(lowering, value)
            if negated is not None and not other.node.is_literal and not other.node.is_python_int:
                return lowering.elementwise("subtract", element_type, other, negated, shape=shape)
    if opcode == "clamp" and element_type.is_extension:  # np.clip widens extension types
        low, x, high = operands
        inner = lowering.elementwise("maximum", element_type, x, low, shape=shape)
        return lowering.elementwise("minimum", element_type, inner, high, shape=shape)
    if all(value.node.is_literal for value in operands):
        folded = fold(opcode, [literal_value(value.node) for value in operands], element_type, parameters)
        if folded is not None:
            return Value.repeated(lowering.graph.literal(folded, element_type), shape)
    form = prelude_function(opcode, Site(tuple([v.node for v in operands]), types, element_type, parameters))
    if form is None:
        return lowering.elementwise(opcode, element_type, *operands, shape=shape, **parameters)
    return lowering.elementwise("prelude", element_type, *operands, shape=shape, **form)


# Operations on integers narrower than a byte that are done in int8 or uint8, and wrapped to their width afterwards.
_IN_BYTES = frozenset("abs add and clamp maximum minimum multiply negate not or shift-left sign subtract xor".split())


def is_sub_byte(element_type: ElementType) -> bool:
    return element_type.bits < 8 and element_type.is_integral


def _in_bytes(
    lowering: FunctionLowering,
    opcode: str,
    element_type: ElementType,
    operands: tuple[Value, ...],
    shape: tuple[int, ...],
    parameters: dict[str, Any],
) -> Value:
    byte = S8 if element_type.is_signed else U8
    wide = tuple(converted(lowering, value, byte) for value in operands)
    return converted(lowering, apply(lowering, opcode, byte, wide, shape, parameters), element_type)


def casts_directly(source: ElementType, result: ElementType) -> bool:
    """Return whether ml_dtypes can cast between two types directly."""
    if is_sub_byte(source) or is_sub_byte(result):
        return not (source.is_extension and result.is_extension) or source is result
    narrow = source.is_extension and result.is_extension and min(source.bits, result.bits) <= 8
    return not (narrow and "f8e8m0fnu" in (source.name, result.name))


def _negated(lowering: FunctionLowering, value: Value) -> Value | None:
    """Return ``y`` for ``-y``, or ``c`` for a constant ``-c``, else None: ``x + -y`` becomes ``x - y``, which is equal
    in every bit.
    """
    if value.node.opcode == "negate" and not value.node.is_python_int:
        (operand,) = value.node.operands
        return Value(operand, value.axes, value.shape)
    constant = literal_of(value)
    if constant is None or constant.dtype.kind not in "if" or not constant < 0 or np.isinf(constant):
        return None
    if constant.dtype.kind == "i" and int(constant) == np.iinfo(constant.dtype).min:
        return None
    return Value(lowering.graph.literal(-constant, value.node.type), value.axes, value.shape)


def _total_order_key(lowering: FunctionLowering, value: Value) -> Value:
    bits = value.node.type.bits
    key = ELEMENT_TYPES[f"s{bits if bits >= 16 else 32}"]
    return lowering.elementwise("prelude", key, value, shape=value.shape, function="total_order_key")


@lowers("convert")
def convert(lowering: FunctionLowering, instruction: Instruction, operand: Value) -> Value:
    return converted(lowering, operand, instruction.array_shape.element_type)


def converted(lowering: FunctionLowering, value: Value, element_type: ElementType) -> Value:
    """Return a value converted to an element type, unless it has it already."""
    node = value.node
    source = node.element_type
    if source is element_type and not node.is_python_int:
        return value
    if node.is_python_int and element_type.is_integral and node.interval and fits(node.interval, element_type):
        typed = lowering.graph.add("retype", (node,), element_type=element_type)
        return Value(typed, value.axes, value.shape)
    if node.is_python_int and element_type.is_integral:  # only a NumPy number wraps
        number = lowering.graph.add("scalar", (node,), element_type=source or S64)
        return converted(lowering, Value(number, value.axes, value.shape), element_type)
    if node.is_python_int:
        scalar = lowering.graph.add("scalar", (node,), element_type=element_type)
        return Value(scalar, value.axes, value.shape)
    assert source is not None
    inner = _same_integers(lowering, node, element_type)
    if inner is not None:
        return converted(lowering, Value(inner, value.axes, value.shape), element_type)
    if node.is_literal:
        folded = fold("convert", [literal_value(node)], element_type, {})
        if folded is not None:
            return Value.repeated(lowering.graph.literal(folded, element_type), value.shape)
    if source.is_complex and not element_type.is_complex and element_type is not PRED:
        return converted(lowering, lowering.elementwise("real", source.real, value, shape=value.shape), element_type)
    if element_type is PRED:
        zero = Value.repeated(lowering.graph.literal(0, source), value.shape)
        return lowering.elementwise("compare", PRED, value, zero, shape=value.shape, direction="NE")
    return apply(lowering, "convert", element_type, (value,), value.shape, {})


def _same_integers(lowering: FunctionLowering, node: Node, element_type: ElementType) -> Node | None:
    """Return a node with the same integers that is closer to the wanted type, or None: positions in that type, or the
    source of a conversion whose type holds all values of the source.
    """
    if not all(each.is_integral and each.bits >= 32 for each in (node.type, element_type)):
        return None
    if node.opcode == "arange" and node.interval is not None and fits(node.interval, element_type):
        return lowering.graph.add("arange", (), element_type=element_type, interval=node.interval, **node.parameters)
    if node.opcode != "convert":
        return None
    (source,) = node.operands
    bounds = type_interval(source.type) or ((0, 1) if source.element_type is PRED else None)
    return source if bounds is not None and fits(bounds, node.type) else None


def literal_of(value: Value) -> np.ndarray | None:
    """Return the constant of a value, or None."""
    return literal_value(value.node) if value.node.is_literal else None


@lowers("bitcast-convert")
def bitcast_convert(lowering: FunctionLowering, instruction: Instruction, operand: Value) -> Value:
    shape = instruction.array_shape
    if operand.node.element_type is shape.element_type:
        return operand
    if operand.node.element_type is PRED:
        operand = converted(lowering, operand, U8)
    if shape.element_type is PRED:
        octets = instruction.replace(shape=ArrayShape(U8, shape.dimensions))
        return converted(lowering, bitcast_convert(lowering, octets, operand), PRED)
    if operand.node.element_type is shape.element_type:
        return operand
    source = operand.node.type
    if source.bits == shape.element_type.bits and source.bits >= 8:
        return lowering.elementwise("view", shape.element_type, operand, shape=shape.dimensions)
    node = lowering.plain(operand)
    packed = min(source.bits, shape.element_type.bits) < 8
    function = "bitcast_convert_packed" if packed else "bitcast_convert"
    return lowering.call(function, (node,), arguments=(Slot(0), shape.element_type))


def accumulated_type(element_type: ElementType) -> ElementType:
    """Return the type in which sums and dots of a type are computed."""
    if is_sub_byte(element_type):
        return S8 if element_type.is_signed else U8
    return F32 if element_type.is_low_precision else element_type
