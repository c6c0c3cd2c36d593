"""How far the results of a program may differ: by its longest sum."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..hlo.attributes import ConvolutionDimensionNumbers, WindowDimension
from ..hlo.ir import HloModule, Instruction
from ..hlo.shapes import ArrayShape
from .comparison import Budget

FEWEST_TERMS = 16  # element-wise operations in a row cancel as a short sum does


def budget_for(module: HloModule) -> Budget:
    """The default allowance for a program: by dtype, and by the number of terms of its longest sum."""
    return Budget(terms=max(FEWEST_TERMS, longest_sum(module)))


def longest_sum(module: HloModule) -> int:
    """The largest number of terms that one instruction of a module adds up; 1 where nothing is added up."""
    return max((_TERMS[i.opcode](i) for i in module.instructions() if i.opcode in _TERMS and _rounds(i)), default=1)


def _rounds(instruction: Instruction) -> bool:
    """Whether the function that combines elements does arithmetic: a maximum of many is exact."""
    combiners = [called for called in instruction.called if called is not instruction.attributes.get("select")]
    return not combiners or any(i.opcode in _ARITHMETIC for called in combiners for i in called.instructions)


_ARITHMETIC = {"add", "subtract", "multiply", "divide"}


def _sizes(instruction: Instruction, operand: int, dimensions: tuple[int, ...]) -> int:
    shape = instruction.operands[operand].array_shape
    return max(1, math.prod(shape.dimensions[dimension] for dimension in dimensions))


def _reduce(instruction: Instruction) -> int:
    return _sizes(instruction, 0, instruction["dimensions"])


def _dot(instruction: Instruction) -> int:
    return _sizes(instruction, 0, instruction["lhs_contracting_dims"])


def _convolution(instruction: Instruction) -> int:
    kernel = instruction.operands[1].array_shape
    numbers: ConvolutionDimensionNumbers = instruction["dim_labels"]
    features = kernel.dimensions[numbers.kernel_output_feature]
    return max(1, kernel.size // max(1, features))


def _window(instruction: Instruction) -> int:
    window: tuple[WindowDimension, ...] = instruction["window"]
    return math.prod(max(1, dimension.size) for dimension in window)


def _scatter(instruction: Instruction) -> int:
    """All updates may meet in one element."""
    indices = instruction.operands[len(instruction.operands) // 2].array_shape
    return max(1, indices.size)


def _fft(instruction: Instruction) -> int:
    lengths: tuple[int, ...] = instruction["fft_length"]
    return math.prod(max(1, length) for length in lengths)


def _last_dimension(instruction: Instruction) -> int:
    """Matrix factorisations and solves add up along rows."""
    shape = instruction.operands[0].shape
    return max(1, *shape.dimensions[-2:]) if isinstance(shape, ArrayShape) and shape.rank > 1 else 1


def _normalisation(instruction: Instruction) -> int:
    shape = instruction.operands[0].array_shape
    feature: int = instruction["feature_index"]
    return max(1, shape.size // max(1, shape.dimensions[feature]))


_TERMS: dict[str, Callable[[Instruction], int]] = {
    "batch-norm-grad": _normalisation,
    "batch-norm-training": _normalisation,
    "cholesky": _last_dimension,
    "convolution": _convolution,
    "custom-call": lambda instruction: _last_dimension(instruction) if instruction.operands else 1,
    "dot": _dot,
    "fft": _fft,
    "ragged-dot": _dot,
    "reduce": _reduce,
    "reduce-window": _window,
    "scaled-dot": _dot,
    "scatter": _scatter,
    "select-and-scatter": _window,
    "triangular-solve": _last_dimension,
}
