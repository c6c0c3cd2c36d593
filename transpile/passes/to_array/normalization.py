"""Lowers batch normalisation to prelude functions of the same names, or to plain operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ...array.node import Node
from ...array.value import Value
from ...dataclass import dataclass
from ...hlo.element_types import ElementType
from ...hlo.ir import Instruction
from ...hlo.shapes import TupleShape
from .elementwise import accumulated_type, apply, converted
from .lowering import FunctionLowering, Lowered, lowers
from .reduction import reduced


def _keywords(instruction: Instruction, rank: int) -> dict[str, Any]:
    axis = instruction["feature_index"]
    return {"epsilon": instruction["epsilon"]} | ({"axis": axis} if axis not in (-1, rank - 1) else {})


@lowers("batch-norm-training", "batch-norm-inference", "batch-norm-grad")
def batch_norm(lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Lowered:
    """Lower to a prelude function, or to plain operations if the target does not support it."""
    if "normalizations" not in lowering.module.options.disabled:
        function, *results = _called(lowering, instruction, operands)
        if lowering.module.options.support(function):
            return tuple(results) if isinstance(instruction.shape, TupleShape) else results[0]
    return SPELLED[instruction.opcode](_Plain(lowering, instruction), *operands)


def _called(
    lowering: FunctionLowering, instruction: Instruction, operands: Sequence[Value]
) -> tuple[Node, *tuple[Value, ...]]:
    """Return the node of the call, and its results."""
    nodes = tuple(lowering.plain(value) for value in operands)
    function = instruction.opcode.replace("-", "_")
    keywords = _keywords(instruction, nodes[0].ndim)
    if isinstance(instruction.shape, TupleShape):
        results = lowering.call_many(function, nodes, **keywords)
        return results[0].node.operands[0], *results
    result = lowering.call(function, nodes, **keywords)
    return result.node, result


@dataclass(frozen=True, slots=True)
class _Plain:
    """Makes the operations of the prelude's functions, in the same order."""

    lowering: FunctionLowering
    instruction: Instruction

    def __call__(self, opcode: str, *operands: Value) -> Value:
        shape = operands[0].shape
        return apply(self.lowering, opcode, operands[0].node.type, operands, shape, {})

    def wide(self, value: Value) -> Value:
        """Return the value in the type of the computation."""
        return self.to(accumulated_type(value.node.type), value)

    def to(self, element_type: ElementType, value: Value) -> Value:
        return converted(self.lowering, value, element_type)

    def along(self, vector: Value, x: Value) -> Value:
        """Return a vector of features, broadcast like ``x``."""
        axes = [vector.axes[0] if d == self.instruction["feature_index"] else None for d in range(len(x.shape))]
        return self.to(x.node.type, Value(vector.node, tuple(axes), x.shape))

    def total(self, x: Value) -> Value:
        """Return the sum for each feature."""
        zero = Value.of(self.lowering.graph.literal(0, x.node.type))
        return reduced(self.lowering, "add", "sum", x, zero, self._others(x))

    def over_count(self, total: Value, x: Value) -> Value:
        """Return a sum divided by the number of elements of each feature."""
        count = self.lowering.graph.literal(prod(x.shape[d] for d in self._others(x)), total.node.type)
        return self("divide", total, Value.repeated(count, total.shape))

    def deviation(self, variance: Value) -> Value:
        epsilon = self.lowering.graph.literal(np.float32(self.instruction["epsilon"]), variance.node.type)
        return self("sqrt", self("add", variance, Value.repeated(epsilon, variance.shape)))

    def _others(self, x: Value) -> list[int]:
        return [d for d in range(len(x.shape)) if d != self.instruction["feature_index"]]


def _training(plain: _Plain, x: Value, scale: Value, offset: Value) -> Lowered:
    wide = plain.wide(x)
    mean = plain.over_count(plain.total(wide), x)
    difference = plain("subtract", wide, plain.along(mean, wide))
    variance = plain.over_count(plain.total(plain("multiply", difference, difference)), x)
    y = _inference(plain, x, scale, offset, mean, variance)
    return (y, *(plain.to(scale.node.type, statistic) for statistic in (mean, variance)))


def _inference(plain: _Plain, x: Value, scale: Value, offset: Value, mean: Value, variance: Value) -> Value:
    wide = plain.wide(x)
    deviation = plain.along(plain.deviation(plain.wide(variance)), wide)
    y = plain("divide", plain("subtract", wide, plain.along(mean, wide)), deviation)
    y = plain("add", plain("multiply", y, plain.along(scale, wide)), plain.along(offset, wide))
    return plain.to(x.node.type, y)


def _grad(plain: _Plain, x: Value, scale: Value, mean: Value, variance: Value, grad_output: Value) -> Lowered:
    grad = plain.wide(grad_output)
    deviation = plain.deviation(plain.wide(variance))
    centered = plain("subtract", plain.to(grad.node.type, x), plain.along(mean, grad))
    normalized = plain("divide", centered, plain.along(deviation, grad))
    grad_scale = plain.total(plain("multiply", grad, normalized))
    grad_offset = plain.total(grad)
    mean_grad, slope = (plain.along(plain.over_count(total, x), grad) for total in (grad_offset, grad_scale))
    grad_x = plain("subtract", plain("subtract", grad, mean_grad), plain("multiply", normalized, slope))
    factor = plain("divide", plain.to(deviation.node.type, scale), deviation)
    grad_x = plain("multiply", plain.along(factor, grad), grad_x)
    return plain.to(x.node.type, grad_x), *(plain.to(scale.node.type, total) for total in (grad_scale, grad_offset))


SPELLED: dict[str, Callable[..., Lowered]] = {
    "batch-norm-training": _training,
    "batch-norm-inference": _inference,
    "batch-norm-grad": _grad,
}
