"""Wraps the entry of a module so that its parameters and results have types that MLIR's Python bindings support.

The bindings read no complex, narrow or 4-bit results, and abort the process on some of them. So complex numbers become
two arrays, 4-bit integers become bytes, and narrow floats become the integers of their bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...hlo.carriers import Array
from ...hlo.element_types import ELEMENT_TYPES, ElementType
from ...hlo.ir import Computation, HloModule, Instruction
from ...hlo.shapes import ArrayShape, Shape, TupleShape, leaves, without_layouts


def with_plain_interface(module: HloModule) -> HloModule:
    """Return the module with a new entry of plain parameters and a flat tuple of plain results."""
    entry = module.entry
    builder = _Builder()
    arguments = [builder.from_plain(parameter.shape) for parameter in entry.parameters]
    result = builder.add("call", without_layouts(entry.root.shape), arguments, to_apply=entry)
    plain = [part for leaf in builder.take_apart(result) for part in builder.to_plain(leaf)]
    root = builder.add("tuple", TupleShape(tuple(part.shape for part in plain)), plain)
    wrapper = Computation("plain", tuple(builder.instructions), root)
    return HloModule(module.name, (*module.computations, wrapper), wrapper, module.header)


def to_plain(array: Array, element_type: ElementType) -> list[Array]:
    """Return an input in the form that the wrapped entry takes."""
    if element_type.is_complex:
        return [np.ascontiguousarray(array.real), np.ascontiguousarray(array.imag)]
    carrier = _carrier(element_type)
    if carrier is element_type:
        return [array]
    return [array.astype(carrier.dtype) if element_type.is_integral else array.view(carrier.dtype)]


def from_plain(arrays: Sequence[Array], element_types: Sequence[ElementType]) -> list[Array]:
    """Return the results of the original entry, whose leaves have these types, from those of the wrapped entry."""
    rest = iter(arrays)
    results = []
    for element_type in element_types:
        array = next(rest)
        if element_type.is_complex:
            array = (array + 1j * np.zeros_like(array)).astype(element_type.dtype)
            array.imag = next(rest)
        elif _carrier(element_type) is not element_type:
            array = array.astype(element_type.dtype) if element_type.is_integral else array.view(element_type.dtype)
        results.append(array)
    return results


def leaf_types(shape: Shape) -> list[ElementType]:
    """Return the element types of the arrays of a shape, in order."""
    return [leaf.element_type for _, leaf in leaves(shape) if isinstance(leaf, ArrayShape)]


def _carrier(element_type: ElementType) -> ElementType:
    """Return the type whose arrays carry an element type; for a complex type, the type of its parts."""
    if not element_type.is_extension:
        return element_type.real
    if element_type.is_integral:
        return ELEMENT_TYPES[f"{element_type.name[0]}8"]
    return ELEMENT_TYPES[f"u{8 * element_type.dtype.itemsize}"]


class _Builder:
    def __init__(self) -> None:
        self.instructions: list[Instruction] = []
        self._parameters = 0

    def add(self, opcode: str, shape: Shape, operands: Sequence[Instruction] = (), **attributes: Any) -> Instruction:
        name = f"{opcode}.{len(self.instructions)}"
        self.instructions.append(Instruction(name, opcode, shape, tuple(operands), attributes))
        return self.instructions[-1]

    def take_apart(self, value: Instruction) -> Iterator[Instruction]:
        """Yield the arrays of a value, in order."""
        if not isinstance(value.shape, TupleShape):
            yield value
            return
        for index, shape in enumerate(value.shape.elements):
            yield from self.take_apart(self.add("get-tuple-element", shape, [value], index=index))

    def from_plain(self, shape: Shape) -> Instruction:
        """Add parameters for a value of any shape, and return the value made from them."""
        if isinstance(shape, TupleShape):
            parts = [self.from_plain(element) for element in shape.elements]
            return self.add("tuple", without_layouts(shape), parts)
        assert isinstance(shape, ArrayShape)
        shape = shape.without_layout()
        element_type = shape.element_type
        carrier = _carrier(element_type)
        plain = [self._parameter(carrier, shape) for _ in range(2 if element_type.is_complex else 1)]
        if element_type.is_complex:
            return self.add("complex", shape, plain)
        return self._recast(plain[0], carrier, element_type, shape)

    def to_plain(self, value: Instruction) -> list[Instruction]:
        shape = value.array_shape
        element_type = shape.element_type
        carrier = _carrier(element_type)
        if element_type.is_complex:
            part = ArrayShape(carrier, shape.dimensions)
            return [self.add("real", part, [value]), self.add("imag", part, [value])]
        return [self._recast(value, element_type, carrier, shape)]

    def _parameter(self, element_type: ElementType, shape: ArrayShape) -> Instruction:
        number = self._parameters
        self._parameters += 1
        return self.add("parameter", ArrayShape(element_type, shape.dimensions), parameter_number=number)

    def _recast(self, value: Instruction, source: ElementType, target: ElementType, shape: ArrayShape) -> Instruction:
        """Return a value converted between a type and its carrier. A 4-bit float is converted by way of a 4-bit
        integer.
        """
        if source is target:
            return value
        integers, floats = (target, source) if target.is_integral else (source, target)
        steps = [target]
        if floats.is_floating and floats.bits < integers.bits:
            nibble = ELEMENT_TYPES[f"u{floats.bits}"]
            steps = [nibble, target]
        for step in steps:
            current = value.array_shape.element_type
            opcode = "convert" if current.is_integral and step.is_integral else "bitcast-convert"
            value = self.add(opcode, ArrayShape(step, shape.dimensions), [value])
        return value
