"""Operations on carriers that are more than the same operation on wide elements: conversions, and bit operations on
integers narrower than a byte.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...hlo.carriers import carrier_type, wide_type
from ...hlo.element_types import ELEMENT_TYPES, S8, U8, ElementType
from ...hlo.ir import Computation, Instruction
from ...hlo.shapes import ArrayShape
from ...hlo.source import Diagnostic, UnsupportedError
from .rewriting import Special, StorageRewriter


def typed(shape: ArrayShape, element_type: ElementType) -> ArrayShape:
    """Return a shape with another element type."""
    return replace(shape.without_layout(), element_type=element_type)


def _convert(work: StorageRewriter, instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """Return a conversion. Floats are converted to narrow floats in one step, and to narrow integers by way of int8
    with saturation.
    """
    shape = instruction.array_shape
    source, result = instruction.operands[0].array_shape.element_type, shape.element_type
    value = work.wider(operands[0], instruction.operands[0])
    if not work.is_narrow(shape):
        return work.add(instruction.replace(operands=(value,)))
    middle = wide_type(result)
    if (result.is_integral or not source.is_floating) and value.array_shape.element_type is not middle:
        value = work.new("convert", typed(shape, middle), value)
    if result.is_integral and source.real.is_floating:
        return _saturated(work, value, result)
    return work.narrower(value, shape)


def _stochastic_convert(
    work: StorageRewriter, instruction: Instruction, operands: tuple[Instruction, ...]
) -> Instruction:
    shape = instruction.array_shape
    wide = tuple(map(work.wider, operands, instruction.operands))
    made = work.add(instruction.replace(shape=work.mapped(shape, wide_type), operands=wide))
    return _saturated(work, made, shape.element_type) if work.is_narrow(shape) else made


def _saturated(work: StorageRewriter, value: Instruction, element_type: ElementType) -> Instruction:
    low, high = _limits(element_type)
    bounds = [constant(work, value.array_shape, bound) for bound in (low, high)]
    return work.new("clamp", value.shape, bounds[0], value, bounds[1])


def _limits(element_type: ElementType) -> tuple[int, int]:
    bits = element_type.bits
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if element_type.is_signed else (0, 2**bits - 1)


def constant(work: StorageRewriter, shape: ArrayShape, value: int) -> Instruction:
    """Return an array of one number."""
    scalar = ArrayShape(shape.element_type, ())
    made = work.new("constant", scalar, literal=np.array(value, shape.element_type.dtype))
    return work.new("broadcast", shape, made, dimensions=()) if shape.dimensions else made


def _masked(work: StorageRewriter, carrier: Instruction, element_type: ElementType) -> Instruction:
    """Return the bits of a narrow integer or float as uint8."""
    shape = typed(carrier.array_shape, U8)
    value = work.new("bitcast-convert", shape, carrier) if carrier.array_shape.element_type is not U8 else carrier
    if element_type.is_signed and element_type.bits < 8:
        value = work.new("and", shape, value, constant(work, shape, 2**element_type.bits - 1))
    return value


def _of_bits(work: StorageRewriter, value: Instruction, given: ArrayShape) -> Instruction:
    """Return the carrier for low bits in uint8."""
    carrier = carrier_type(given.element_type)
    if carrier is S8:
        value = work.new("bitcast-convert", typed(value.array_shape, S8), value)
    return work.narrower(value, given) if given.element_type.is_integral else value


def _by_bits(opcode: str) -> Special:
    """Return the rule that applies an operation to the bits as unsigned numbers."""

    def rule(work: StorageRewriter, instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        element_type = instruction.array_shape.element_type
        values = tuple(_masked(work, operand, element_type) for operand in operands)
        shape = typed(instruction.array_shape, U8)
        made = work.new(opcode, shape, *values)
        if opcode == "count-leading-zeros":
            made = work.new("subtract", shape, made, constant(work, shape, 8 - element_type.bits))
        return _of_bits(work, made, instruction.array_shape)

    return rule


def _shift_right_arithmetic(
    work: StorageRewriter, instruction: Instruction, operands: tuple[Instruction, ...]
) -> Instruction:
    """Return an arithmetic shift, which also repeats the highest bit of unsigned numbers."""
    given = instruction.array_shape
    signed = ELEMENT_TYPES[f"s{given.element_type.bits}"]
    shape, amount = typed(given, S8), operands[1]
    value = operands[0]
    if given.element_type.is_unsigned:
        value, amount = (work.new("bitcast-convert", shape, operand) for operand in operands)
        value = work.narrower(value, typed(given, signed))
    made = work.new("shift-right-arithmetic", shape, value, amount)
    if given.element_type.is_signed:
        return made
    return work.narrower(work.new("bitcast-convert", typed(given, U8), made), given)


def _mulhi(work: StorageRewriter, instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """Return the high half of a product of 4-bit numbers, whose whole product fits a byte."""
    shape = operands[0].array_shape
    product = work.new("multiply", shape, *operands)
    shift = "shift-right-arithmetic" if shape.element_type is S8 else "shift-right-logical"
    amount = constant(work, shape, instruction.array_shape.element_type.bits)
    return work.narrower(work.new(shift, shape, product, amount), instruction.array_shape)


def _bitcast_convert(work: StorageRewriter, instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """Return a bitcast by way of bytes, in which narrow elements are stored with the low bits first."""
    (operand,) = operands
    given, result = instruction.operands[0].array_shape, instruction.array_shape
    old, new = given.element_type.bits, result.element_type.bits
    if min(old, new) >= 8 and old != new:
        return work.add(instruction.replace(shape=work.mapped(result, carrier_type), operands=operands))
    octet = min(8, max(old, new))  # bits of the unit that is split into pieces or packed from them
    if old > 8:
        operand = work.new("bitcast-convert", ArrayShape(U8, (*given.dimensions, old // 8)), operand)
    else:
        operand = _masked(work, operand, given.element_type)
    if old < new:
        operand = _packed(work, operand, old, octet)
    elif new < old:
        operand = _unpacked(work, operand, new, octet, result)
    if new > 8:
        return work.add(instruction.replace(operands=(operand,)))
    return _of_bits(work, operand, result)


def _packed(work: StorageRewriter, pieces: Instruction, bits: int, octet: int) -> Instruction:
    """Return numbers of up to eight bits, packed from pieces of a few bits along the last axis."""
    *batch, count = pieces.array_shape.dimensions
    parts = octet // bits
    shape = ArrayShape(U8, (*batch, count // parts, parts))
    shifted = work.new("shift-left", shape, work.new("reshape", shape, pieces), _offsets(work, shape, bits))
    zero = work.new("constant", ArrayShape(U8, ()), literal=np.zeros((), np.uint8))
    total = ArrayShape(U8, shape.dimensions[:-1])
    made = work.new("reduce", total, shifted, zero, dimensions=(len(batch) + 1,), to_apply=_sum())
    return work.new("reshape", ArrayShape(U8, tuple(batch)), made) if count == parts else made


def _unpacked(work: StorageRewriter, whole: Instruction, bits: int, octet: int, result: ArrayShape) -> Instruction:
    """Return numbers of up to eight bits as pieces along a new last axis."""
    dimensions = whole.array_shape.dimensions
    shape = ArrayShape(U8, (*dimensions, octet // bits))
    each = work.new("broadcast", shape, whole, dimensions=tuple(range(len(dimensions))))
    pieces = work.new("shift-right-logical", shape, each, _offsets(work, shape, bits))
    pieces = work.new("and", shape, pieces, constant(work, shape, 2**bits - 1))
    return work.new("reshape", typed(result, U8), pieces)


def _offsets(work: StorageRewriter, shape: ArrayShape, bits: int) -> Instruction:
    """Return the bit offsets of the pieces along the last axis."""
    places = work.new("iota", shape, iota_dimension=shape.rank - 1)
    return work.new("multiply", shape, places, constant(work, shape, bits))


def _sum() -> Computation:
    scalar = ArrayShape(U8, ())
    a, b = (Instruction(name, "parameter", scalar, attributes={"parameter_number": k}) for k, name in enumerate("ab"))
    total = Instruction("total", "add", scalar, (a, b))
    return Computation("sum", (a, b, total), total)


def _bitcast(work: StorageRewriter, instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """Return a bitcast. Elements of whole bytes are unchanged; narrower numbers are reinterpreted in place."""
    given, result = instruction.operands[0].array_shape, instruction.array_shape
    old, new = given.element_type, result.element_type
    if old.bits != new.bits and min(old.bits, new.bits) < 8:
        raise UnsupportedError(
            Diagnostic("XP303", f"this bitcast mixes tiles or padding: {given} to {result}", instruction.span)
        )
    if old is not new and old.bits == new.bits:
        operands = (_of_bits(work, _masked(work, operands[0], old), replace(given, element_type=new)),)
    return work.add(instruction.replace(shape=work.mapped(result, carrier_type), operands=operands))


SPECIAL: dict[str, Special] = {
    "bitcast": _bitcast,
    "bitcast-convert": _bitcast_convert,
    "convert": _convert,
    "count-leading-zeros": _by_bits("count-leading-zeros"),
    "mulhi": _mulhi,
    "popcnt": _by_bits("popcnt"),
    "shift-right-arithmetic": _shift_right_arithmetic,
    "shift-right-logical": _by_bits("shift-right-logical"),
    "stochastic-convert": _stochastic_convert,
}
