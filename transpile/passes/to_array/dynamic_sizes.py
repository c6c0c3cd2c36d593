"""Lowers get-dimension-size, set-dimension-size and dynamic-reshape."""

from __future__ import annotations

from dataclasses import replace

from ...array.node import Slot, literal_value
from ...array.value import Value
from ...hlo.element_types import S32
from ...hlo.ir import Instruction
from .elementwise import converted
from .lowering import FunctionLowering, lowers


@lowers("get-dimension-size")
def get_dimension_size(lowering: FunctionLowering, instruction: Instruction, operand: Value) -> Value:
    (dimension,) = instruction["dimensions"]
    sizes = dict(operand.sizes)
    if dimension in sizes:
        return converted(lowering, Value.of(sizes[dimension]), S32)
    return Value.of(lowering.graph.literal(operand.shape[dimension], S32))


@lowers("set-dimension-size")
def set_dimension_size(lowering: FunctionLowering, instruction: Instruction, operand: Value, size: Value) -> Value:
    (dimension,) = instruction["dimensions"]
    sizes = {d: node for d, node in operand.sizes if d != dimension}
    node = lowering.strong(size.node)
    if not node.is_literal or int(literal_value(node)) != operand.shape[dimension]:
        sizes[dimension] = node
    return replace(operand, sizes=tuple(sizes.items()))


@lowers("dynamic-reshape")
def dynamic_reshape(lowering: FunctionLowering, instruction: Instruction, operand: Value, *new_sizes: Value) -> Value:
    shape = instruction.array_shape
    old = dict(operand.sizes)
    nodes = (lowering.plain(operand), *old.values(), *(lowering.plain(size) for size in new_sizes))
    old_slots = {d: Slot(1 + k) for k, d in enumerate(old)}
    new_slots = tuple(Slot(1 + len(old) + k) for k in range(len(new_sizes)))
    arguments = (Slot(0), tuple(old_slots.get(d) for d in range(len(operand.shape))), new_slots, shape.dimensions)
    result = lowering.call("dynamic_reshape", nodes, arguments=arguments)
    dynamic = shape.dynamic or (False,) * shape.rank
    sizes = tuple((d, new_sizes[d].node) for d, is_dynamic in enumerate(dynamic) if is_dynamic)
    return replace(result, sizes=sizes)
