"""The allowances of a program's results: none, the last digits of a function, or the rounding of the longest sum."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import ml_dtypes

from ...hlo.attributes import ConvolutionDimensionNumbers, WindowDimension
from ...hlo.ir import HloModule, Instruction
from ...hlo.shapes import ArrayShape, leaves
from ..inputs.dependence import computed_by
from .comparison import Budget

FEWEST_TERMS = 16  # a chain of element-wise operations may cancel like a short sum


def budget_for(module: HloModule) -> Budget:
    """Return the default allowance of a program: by dtype, and by the number of terms of its longest sum."""
    return Budget(terms=max(FEWEST_TERMS, longest_sum(module.instructions())))


def budgets_for(module: HloModule) -> list[Budget]:
    """Return the allowance of each array of the result, in order, from the instructions that it depends on.

    Moves, selections and conversions are exact, and so is one correctly rounded operation on exact operands; one
    elementary function of exact operands has its entry in :data:`ULPS`; all others have the allowance of their longest
    sum.
    """
    paths = [path for path, shape in leaves(module.entry.root.shape) if isinstance(shape, ArrayShape)]
    return [_leaf_budget(computed_by(module, path)) for path in paths]


def _leaf_budget(instructions: Sequence[Instruction]) -> Budget:
    rounding = [i for i in instructions if _is_inexact(i)]
    if not rounding:
        return EXACT
    (first, *others) = rounding
    repeats = any(i.called for i in instructions if i.opcode not in _CALLED_ONCE)
    if not others and not repeats and isinstance(first.shape, ArrayShape) and first.shape.element_type.is_floating:
        if first.opcode in CORRECTLY_ROUNDED and not _divides_by_constant(first):
            return EXACT
        if first.opcode in ULPS and first.shape.element_type.name in _PRECISE:
            eps = float(ml_dtypes.finfo(first.shape.element_type.dtype).eps)
            return Budget(relative=ULPS[first.opcode] * eps, absolute=4 * eps)
    return Budget(terms=max(FEWEST_TERMS, longest_sum(instructions)))


EXACT = Budget(relative=0.0, absolute=0.0)
CORRECTLY_ROUNDED = frozenset(("add", "subtract", "multiply", "divide", "sqrt", "remainder"))
_EXACT_OPCODES = frozenset(
    (
        *("abs", "add-dependency", "bitcast", "bitcast-convert", "broadcast", "call", "ceil", "clamp", "compare"),
        *(
            "concatenate",
            "conditional",
            "constant",
            "convert",
            "copy",
            "dynamic-slice",
            "dynamic-update-slice",
            "floor",
        ),
        *("fusion", "gather", "get-tuple-element", "iota", "is-finite", "maximum", "minimum", "negate", "opt-barrier"),
        *("pad", "parameter", "reduce-precision", "reshape", "reverse", "round-nearest-afz", "round-nearest-even"),
        *("real", "imag", "complex", "rng-bit-generator", "select", "sign", "slice", "sort", "transpose", "tuple"),
        *("while", "map", "reduce", "reduce-window", "scatter", "select-and-scatter"),  # their computations count
    )
)
_CALLED_ONCE = frozenset(("call", "fusion", "conditional", "sort", "map"))
_PRECISE = frozenset(("f32", "f64"))

# Units in the last place by which the elementary functions of two correct libraries may differ.
ULPS: dict[str, int] = {
    **dict.fromkeys(("exponential", "exp2", "log", "log2", "rsqrt"), 8),
    **dict.fromkeys(("exponential-minus-one", "log-plus-one", "cbrt", "logistic", "sine", "cosine"), 16),
    **dict.fromkeys(("tanh", "tan", "atan2", "erf"), 32),
}


def _is_inexact(instruction: Instruction) -> bool:
    if instruction.opcode in _EXACT_OPCODES and not (instruction.opcode == "abs" and _is_complex(instruction)):
        return False
    return any(_is_float(i) for i in (instruction, *instruction.operands))


def _is_complex(instruction: Instruction) -> bool:
    return instruction.operands[0].array_shape.element_type.is_complex


def _is_float(instruction: Instruction) -> bool:
    shapes = [leaf for _, leaf in leaves(instruction.shape) if isinstance(leaf, ArrayShape)]
    return any(shape.element_type.is_floating or shape.element_type.is_complex for shape in shapes)


def _divides_by_constant(instruction: Instruction) -> bool:
    """Return whether a node divides by a constant: XLA then multiplies by the reciprocal."""
    if instruction.opcode != "divide":
        return False
    divisor = instruction.operands[1]
    while divisor.opcode in ("broadcast", "reshape", "copy", "convert"):
        divisor = divisor.operands[0]
    return divisor.opcode == "constant"


def longest_sum(instructions: Iterable[Instruction]) -> int:
    """Return the largest number of terms that one of the instructions adds; 1 if none adds."""
    return max((_TERMS[i.opcode](i) for i in instructions if i.opcode in _TERMS and _rounds(i)), default=1)


def _rounds(instruction: Instruction) -> bool:
    """Return whether the function that combines elements does arithmetic: a maximum, for example, is exact."""
    combiners = [called for called in instruction.called if called is not instruction.attributes.get("select")]
    return not combiners or any(i.opcode in _ARITHMETIC for called in combiners for i in called.instructions)


_ARITHMETIC = {"add", "subtract", "multiply", "divide"}


def _sizes(instruction: Instruction, operand: int, dimensions: tuple[int, ...]) -> int:
    shape = instruction.operands[operand].array_shape
    return max(1, math.prod(shape.dimensions[dimension] for dimension in dimensions))


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
    """Return the number of updates, which may all meet in one element."""
    indices = instruction.operands[len(instruction.operands) // 2].array_shape
    return max(1, indices.size)


def _fft(instruction: Instruction) -> int:
    lengths: tuple[int, ...] = instruction["fft_length"]
    return math.prod(max(1, length) for length in lengths)


def _last_dimension(instruction: Instruction) -> int:
    """Return the number of terms of matrix factorisations and solves, which add along rows."""
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
    "reduce": lambda instruction: _sizes(instruction, 0, instruction["dimensions"]),
    "reduce-window": _window,
    "scaled-dot": _dot,
    "scatter": _scatter,
    "select-and-scatter": _window,
    "triangular-solve": _last_dimension,
}
