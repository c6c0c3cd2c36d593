"""Lowers random numbers: XLA's counter-based generators bit for bit, and a seeded generator for ``rng``."""

from __future__ import annotations

from ...array.node import PreludeName, Slot
from ...array.value import Value
from ...hlo.ir import Instruction
from ...hlo.shapes import ArrayShape
from .lowering import FunctionLowering, Lowered, lowers

# The default of XLA's CPU backend is Philox.
_GENERATORS = {"rng_three_fry": "threefry_bits", "rng_philox": "philox_bits", "rng_default": "philox_bits"}


@lowers("rng-bit-generator")
def rng_bit_generator(lowering: FunctionLowering, instruction: Instruction, state: Value) -> Lowered:
    shapes = instruction.element_shapes
    bits = shapes[-1]
    assert isinstance(bits, ArrayShape)
    arguments = (Slot(0), bits.dimensions, bits.element_type)
    results = lowering.call_many(_GENERATORS[instruction["algorithm"]], (lowering.plain(state),), arguments=arguments)
    return results if len(shapes) == 2 else results[1]


@lowers("rng")
def rng(lowering: FunctionLowering, instruction: Instruction, first: Value, second: Value, *_: Value) -> Value:
    shape = instruction.array_shape
    arguments = (Slot(0), Slot(1), shape.dimensions, shape.element_type, PreludeName("GENERATOR"))
    nodes = (lowering.plain(first), lowering.plain(second))
    return lowering.call_in_order(instruction["distribution"], nodes, arguments)


@lowers("rng-get-and-update-state")
def rng_get_and_update_state(lowering: FunctionLowering, instruction: Instruction) -> Value:
    arguments = (PreludeName("RNG_STATE"), instruction["delta"])
    return lowering.call_in_order("advance", (), arguments)
