"""The rewriter of HLO that carries element types without a dtype in int8 or uint8.

Narrow floats are carried as their bits, narrow integers as their values. Operations that only move elements move the
carriers. Operations that compute get wide operands, float32 or int8 and uint8, and their result is narrowed: rounded
once, or wrapped. Sums are in the wide type, as in XLA.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ...hlo.carriers import carried_literal, carrier_type, half_type, narrowing, wide_type, widened, widening
from ...hlo.element_types import ElementType
from ...hlo.ir import Computation, Instruction, with_called, with_instructions
from ...hlo.opcodes import OPCODES
from ...hlo.shapes import ArrayShape, Shape, TupleShape
from ..to_array import is_placement
from ..to_array.reducers import simple_reducer

Originals = dict[Instruction, tuple[Instruction, ...]]
Special = Callable[["StorageRewriter", Instruction, tuple[Instruction, ...]], Instruction]

# Operations that compute with the values of elements, besides the element-wise ones; all others move elements.
_COMPUTING = frozenset(
    "batch-norm-training batch-norm-inference batch-norm-grad cholesky convolution custom-call dot fft iota ragged-dot "
    "rng rng-bit-generator scaled-dot topk triangular-solve".split()
)
# Operations with a function of elements; if that is a single operation, it works on wide elements.
_COMBINING = frozenset("reduce reduce-window scatter select-and-scatter sort".split())
_CHOOSING = frozenset("parameter constant compare select and or maximum minimum tuple".split())
_IN_RANGE = frozenset("and or xor maximum minimum clamp remainder sort topk".split())  # integers need no wrapping


def has_type(shape: Shape, lacks: frozenset[str]) -> bool:
    """Return whether any array in a shape has one of these element types."""
    if isinstance(shape, TupleShape):
        return any(has_type(element, lacks) for element in shape.elements)
    return isinstance(shape, ArrayShape) and shape.element_type.name in lacks


class StorageRewriter:
    """Rewrites computations instruction by instruction; ``special`` has the rules of operations that need their own."""

    def __init__(
        self, lacks: frozenset[str], hooks: Mapping[str, str], originals: Originals, special: Mapping[str, Special]
    ) -> None:
        self.lacks, self.hooks, self.special = lacks, hooks, special
        self.given = originals
        self.originals: Originals = {}
        self.carried: dict[Computation, Computation] = {}
        self.wide: dict[Computation, Computation] = {}  # computations on wide elements
        self.values: dict[Instruction, Instruction] = {}  # the carriers of old instructions
        self.decoded: dict[Instruction, Instruction] = {}  # the wide values of carriers
        self.instructions: list[Instruction] = []  # of the new computation
        self.source: Instruction | None = None

    # -- shapes

    def is_narrow(self, shape: Shape) -> bool:
        return has_type(shape, self.lacks)

    def mapped(self, shape: Shape, choose: Callable[[ElementType], ElementType]) -> Shape:
        """Return a shape with its narrow element types replaced."""
        if isinstance(shape, TupleShape):
            return TupleShape(tuple(self.mapped(element, choose) for element in shape.elements))
        if not isinstance(shape, ArrayShape) or shape.element_type.name not in self.lacks:
            return shape
        layout = None if shape.layout is None else replace(shape.layout, element_size_in_bits=0)
        return replace(shape, element_type=choose(shape.element_type), layout=layout)

    # -- computations

    def computation(
        self, computation: Computation, rewrite: Callable[[Instruction, tuple[Instruction, ...]], Instruction]
    ) -> Computation:
        outer = self.values, self.decoded, self.instructions, self.source
        self.values, self.decoded, self.instructions = {}, {}, []
        for instruction in computation.instructions:
            self.source = instruction
            self.values[instruction] = rewrite(instruction, tuple(self.values[each] for each in instruction.operands))
        made = replace(computation, instructions=tuple(self.instructions), root=self.values[computation.root])
        self.values, self.decoded, self.instructions, self.source = outer
        self.carried[computation] = made
        return made

    def wide_computation(self, computation: Computation) -> Computation:
        """Return the same function of wide elements, under another name."""
        if computation not in self.wide:
            carried = self.carried[computation]
            made = self.computation(computation, self.widened)
            self.carried[computation] = carried
            self.wide[computation] = replace(made, name=f"{computation.name}.wide")
        return self.wide[computation]

    def widened(self, instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        shape = self.mapped(instruction.shape, wide_type)
        if instruction.opcode == "convert" and operands[0].shape == shape:
            return operands[0]
        attributes = {name: with_instructions(value, self.values) for name, value in instruction.attributes.items()}
        if instruction.opcode == "constant" and self.is_narrow(instruction.shape):
            attributes["literal"] = widened(attributes["literal"])
        return self.add(instruction.replace(shape=shape, operands=operands, attributes=attributes))

    # -- instructions

    def add(self, instruction: Instruction) -> Instruction:
        self.instructions.append(instruction)
        if self.source is not None:
            self.originals[instruction] = self.given.get(self.source, (self.source,))
        return instruction

    def new(self, opcode: str, shape: Shape, *operands: Instruction, **attributes: Any) -> Instruction:
        """Add an instruction with the name and origin of the one that is being rewritten."""
        assert self.source is not None
        made = self.source.replace(opcode=opcode, shape=shape, operands=operands, attributes=attributes)
        return self.add(made.replace(name=f"{self.source.name}.{len(self.instructions)}"))

    def instruction(self, instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        """Return the replacement of an instruction, on carriers."""
        attributes = {
            name: with_called(with_instructions(value, self.values), self.carried.__getitem__)
            for name, value in instruction.attributes.items()
        }
        shapes = [instruction.shape, *(operand.shape for operand in instruction.operands)]
        if not any(map(self.is_narrow, shapes)):
            return self.add(instruction.replace(operands=operands, attributes=attributes))
        special = self.special.get(instruction.opcode)
        if special is not None:
            return special(self, instruction, operands)
        opcode = instruction.opcode
        if opcode in _COMBINING and all(map(_is_simple, instruction.called)):
            attributes = {
                name: self.wide_computation(value) if isinstance(value, Computation) else value
                for name, value in instruction.attributes.items()
            }
            return self.computed(instruction, operands, attributes)
        computes = opcode in _COMPUTING or (OPCODES[opcode].is_elementwise and opcode != "select")
        if opcode == "custom-call":
            target = instruction["custom_call_target"]
            computes = target not in self.hooks and not is_placement(target)
        if computes:
            return self.computed(instruction, operands, attributes)
        if opcode == "constant":
            attributes["literal"] = carried_literal(attributes["literal"], self.lacks)
        shape = self.mapped(instruction.shape, carrier_type)
        return self.add(instruction.replace(shape=shape, operands=operands, attributes=attributes))

    def computed(
        self, instruction: Instruction, operands: tuple[Instruction, ...], attributes: Mapping[str, Any]
    ) -> Instruction:
        """Return the operation on wide operands, with narrowed results."""
        choose = half_type if instruction.opcode == "reduce-precision" else wide_type
        pairs = zip(operands, instruction.operands, strict=True)
        wide = tuple(self.wider(operand, given, choose) for operand, given in pairs)
        shape = self.mapped(instruction.shape, choose)
        made = self.add(instruction.replace(shape=shape, operands=wide, attributes=attributes))
        if isinstance(instruction.shape, TupleShape):
            return self.narrowed_tuple(made, instruction)
        return self.narrower(made, instruction.array_shape, instruction.opcode in _IN_RANGE)

    def narrowed_tuple(self, made: Instruction, instruction: Instruction) -> Instruction:
        """Return a tuple with each element narrowed."""
        parts = []
        for index, (wide, given) in enumerate(zip(made.element_shapes, instruction.element_shapes, strict=True)):
            part = self.new("get-tuple-element", wide, made, index=index)
            if isinstance(given, ArrayShape):
                part = self.narrower(part, given, instruction.opcode in _IN_RANGE)
            parts.append(part)
        return self.new("tuple", TupleShape(tuple(part.shape for part in parts)), *parts)

    def wider(
        self, carrier: Instruction, given: Instruction, choose: Callable[[ElementType], ElementType] = wide_type
    ) -> Instruction:
        """Return the wide values of an operand; ``given`` is the original operand."""
        shape = given.shape
        if not isinstance(shape, ArrayShape) or not self.is_narrow(shape) or shape.element_type.is_integral:
            return carrier
        if carrier not in self.decoded:
            self.decoded[carrier] = self.decode(carrier, given)
        wide = self.decoded[carrier]
        wanted = replace(wide.array_shape, element_type=choose(shape.element_type))
        return wide if wanted == wide.array_shape else self.new("convert", wanted, wide)

    def decode(self, carrier: Instruction, given: Instruction) -> Instruction:
        shape = self.mapped(given.shape, wide_type)
        if given.opcode == "constant":
            return self.new("constant", shape, literal=widened(given["literal"]))
        if given.opcode == "broadcast":  # the fewer elements the better
            inner = self.wider(carrier.operands[0], given.operands[0])
            return self.new("broadcast", shape, inner, dimensions=given["dimensions"])
        return self.call(widening(given.array_shape.element_type), shape, carrier)

    def narrower(self, wide: Instruction, given: ArrayShape, in_range: bool = False) -> Instruction:
        """Return the carrier of wide values: floats of any type are rounded, int8 and uint8 wrapped."""
        if given.element_type.name not in self.lacks or (in_range and given.element_type.is_integral):
            return wide
        return self.call(narrowing(given.element_type), self.mapped(given, carrier_type), wide)

    def call(self, function: str, shape: Shape, operand: Instruction) -> Instruction:
        """Return a call of a function of the target's prelude."""
        return self.new("custom-call", shape, operand, custom_call_target=f"xla2py.{function}")


def _is_simple(computation: Computation) -> bool:
    """Return whether a computation is one operation, or a selection of elements, and so is the same on wide
    elements.
    """
    if any(instruction.called for instruction in computation.instructions):
        return False
    return simple_reducer(computation) is not None or (
        computation.root.opcode != "parameter" and all(i.opcode in _CHOOSING for i in computation.instructions)
    )
