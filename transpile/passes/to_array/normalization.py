"""Batch normalisation, by the prelude's functions of the same names."""

from __future__ import annotations

from typing import Any

from ...array.value import Value
from ...hlo.ir import Instruction
from .lowering import FunctionLowering, Lowered, lowers


def _keywords(instruction: Instruction, rank: int) -> dict[str, Any]:
    axis = instruction["feature_index"]
    return {"epsilon": instruction["epsilon"]} | ({"axis": axis} if axis not in (-1, rank - 1) else {})


@lowers("batch-norm-training", "batch-norm-grad")
def batch_norm(lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Lowered:
    nodes = tuple(lowering.plain(value) for value in operands)
    function = instruction.opcode.replace("-", "_")
    keywords = _keywords(instruction, nodes[0].ndim)
    return lowering.call_many(function, nodes, instruction.element_shapes, **keywords)


@lowers("batch-norm-inference")
def batch_norm_inference(lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Value:
    shape = instruction.array_shape
    nodes = tuple(lowering.plain(value) for value in operands)
    keywords = _keywords(instruction, shape.rank)
    return lowering.call("batch_norm_inference", nodes, shape.dimensions, shape.element_type, **keywords)
