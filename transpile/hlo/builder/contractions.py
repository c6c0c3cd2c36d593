"""Contractions of the builder: dot, convolution, and matrix and Fourier operations.

Source: operation-semantics seed, the sections of the same names.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack

import numpy as np

from ..attribute_parsers import PRECISIONS
from ..attributes import ConvolutionDimensionNumbers
from ..shape_inference import infer_shape
from ..shape_rules.common import Operation, refuse, require_rank, shape_text, with_type
from ..shapes import ArrayShape
from .arguments import (
    DotDimensionNumbers,
    FftType,
    Padding,
    RaggedDotDimensionNumbers,
    Transpose,
    WindowPadding,
    choice,
    expected,
    integer,
    integers,
    make_window,
)
from .core import BuilderCore, Type, as_array_shape, as_element_type
from .op import Operand, XlaOp

Ints = Sequence[int]


class ConvolutionOptions(TypedDict, total=False):
    """The options of all convolutions."""

    feature_group_count: int
    batch_group_count: int
    preferred_element_type: Type | None


class ContractionOperations(BuilderCore):
    """Contractions: ``preferred_element_type`` is the result's element type; ``precision`` is XLA's word for each
    operand.
    """

    def dot(
        self,
        lhs: Operand,
        rhs: Operand,
        *,
        precision: Sequence[str] | None = None,
        preferred_element_type: Type | None = None,
    ) -> XlaOp:
        """Contract the lhs' last and the rhs' first dimension of vectors or matrices."""
        left, right = self._operand(lhs), self._operand(rhs)
        for side, op in (("lhs", left), ("rhs", right)):
            if as_array_shape("dot", op.shape).rank not in (1, 2):
                refuse(
                    "XP214",
                    f"dot: the {side} has to be a vector or a matrix, not {shape_text(op.shape)}",
                    hint="use dot_general for batches",
                )
        numbers = DotDimensionNumbers((left.array_shape.rank - 1,), (0,))
        return self.dot_general(
            left, right, numbers, precision=precision, preferred_element_type=preferred_element_type
        )

    def dot_general(
        self,
        lhs: Operand,
        rhs: Operand,
        dimension_numbers: DotDimensionNumbers,
        *,
        precision: Sequence[str] | None = None,
        preferred_element_type: Type | None = None,
    ) -> XlaOp:
        """Contract the contracting dimensions; the result has batch, free lhs and free rhs dimensions."""
        attributes = _dot_attributes(dimension_numbers, precision)
        return self._product("dot", (self._operand(lhs), self._operand(rhs)), attributes, preferred_element_type)

    def ragged_dot(
        self,
        lhs: Operand,
        rhs: Operand,
        group_sizes: Operand,
        dimension_numbers: RaggedDotDimensionNumbers,
        *,
        precision: Sequence[str] | None = None,
        preferred_element_type: Type | None = None,
    ) -> XlaOp:
        """Contract once for each group of the ragged lhs dimension; ``group_sizes`` are integers."""
        expected("ragged-dot", RaggedDotDimensionNumbers, dimension_numbers)
        attributes = {
            **_dot_attributes(dimension_numbers.dot_dimension_numbers, precision),
            "lhs_ragged_dims": integers("ragged-dot", dimension_numbers.lhs_ragged_dimensions),
            "rhs_group_dims": integers("ragged-dot", dimension_numbers.rhs_group_dimensions),
        }
        operands = (self._operand(lhs), self._operand(rhs), self._operand(group_sizes))
        return self._product("ragged-dot", operands, attributes, preferred_element_type)

    def scaled_dot(
        self,
        lhs: Operand,
        rhs: Operand,
        lhs_scale: Operand,
        rhs_scale: Operand,
        dimension_numbers: DotDimensionNumbers,
        *,
        preferred_element_type: Type | None = None,
    ) -> XlaOp:
        """Contract arrays whose blocks are multiplied by scales; a scale has one element per block."""
        operands = tuple(self._operand(operand) for operand in (lhs, rhs, lhs_scale, rhs_scale))
        return self._product("scaled-dot", operands, _dot_attributes(dimension_numbers, None), preferred_element_type)

    # -- convolution

    def conv(
        self, lhs: Operand, rhs: Operand, window_strides: Ints, padding: Padding, **options: Unpack[ConvolutionOptions]
    ) -> XlaOp:
        """Convolve with SAME or VALID padding; see :meth:`conv_general_dilated`."""
        return self.conv_general_dilated(lhs, rhs, window_strides, padding, **options)

    def conv_with_general_padding(
        self,
        lhs: Operand,
        rhs: Operand,
        window_strides: Ints,
        padding: Sequence[tuple[int, int]],
        lhs_dilation: Ints | None = None,
        rhs_dilation: Ints | None = None,
        **options: Unpack[ConvolutionOptions],
    ) -> XlaOp:
        """Convolve with a ``(low, high)`` pair for each spatial dimension; see :meth:`conv_general_dilated`."""
        return self.conv_general_dilated(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, **options)

    def conv_with_general_dimensions(
        self,
        lhs: Operand,
        rhs: Operand,
        window_strides: Ints,
        padding: Padding,
        dimension_numbers: ConvolutionDimensionNumbers,
        **options: Unpack[ConvolutionOptions],
    ) -> XlaOp:
        """Convolve with SAME or VALID padding over dimensions in any order; see :meth:`conv_general_dilated`."""
        return self.conv_general_dilated(
            lhs, rhs, window_strides, padding, dimension_numbers=dimension_numbers, **options
        )

    def conv_general(
        self,
        lhs: Operand,
        rhs: Operand,
        window_strides: Ints,
        padding: Sequence[tuple[int, int]],
        dimension_numbers: ConvolutionDimensionNumbers,
        **options: Unpack[ConvolutionOptions],
    ) -> XlaOp:
        """Convolve with explicit padding and dimensions in any order; see :meth:`conv_general_dilated`."""
        return self.conv_general_dilated(
            lhs, rhs, window_strides, padding, dimension_numbers=dimension_numbers, **options
        )

    def conv_general_dilated(
        self,
        lhs: Operand,
        rhs: Operand,
        window_strides: Ints,
        padding: WindowPadding,
        lhs_dilation: Ints | None = None,
        rhs_dilation: Ints | None = None,
        dimension_numbers: ConvolutionDimensionNumbers | None = None,
        *,
        feature_group_count: int = 1,
        batch_group_count: int = 1,
        precision: Sequence[str] | None = None,
        preferred_element_type: Type | None = None,
        window_reversal: Sequence[bool] | None = None,
    ) -> XlaOp:
        """Convolve: slide the kernel ``rhs`` over the spatial dimensions of ``lhs``.

        By default the dimensions are batch, feature, spatial.. of lhs and result, and output feature, input feature,
        spatial.. of the kernel.
        """
        left, right = self._operand(lhs), self._operand(rhs)
        for side, shape in (("lhs", left.array_shape), ("rhs", right.array_shape)):
            require_rank(Operation("convolution", (), {}), shape, 2, f"the {side}")
        types = left.array_shape.element_type, right.array_shape.element_type
        if not any(np.can_cast(a.dtype, b.dtype) for a, b in (types, types[::-1])):
            refuse("XP212", f"convolution: neither of the element types {types[0]} and {types[1]} holds the other")
        numbers = dimension_numbers or default_convolution_numbers(left.array_shape.rank - 2)
        expected("convolution", ConvolutionDimensionNumbers, numbers)
        _require_numbers(numbers, left.array_shape, right.array_shape)
        window = make_window(
            "convolution",
            [left.array_shape.dimensions[d] for d in numbers.input_spatial],
            [right.array_shape.dimensions[d] for d in numbers.kernel_spatial],
            window_strides,
            padding,
            lhs_dilation,
            rhs_dilation,
            window_reversal,
        )
        groups = {"feature_group_count": feature_group_count, "batch_group_count": batch_group_count}
        attributes = {
            "window": window,
            "dim_labels": numbers,
            **{key: count for key, count in groups.items() if integer("convolution", count) != 1},
            "operand_precision": _precision("convolution", precision),
        }
        return self._product("convolution", (left, right), attributes, preferred_element_type)

    # -- transforms and factorisations

    def fft(self, operand: Operand, fft_type: FftType, fft_length: Ints) -> XlaOp:
        """Return the Fourier transform along the last 1 to 3 dimensions."""
        kind = choice("fft", FftType, fft_type)
        attributes = {"fft_type": kind.value, "fft_length": integers("fft", fft_length)}
        return self._instruction("fft", (self._operand(operand),), attributes)

    def cholesky(self, a: Operand, lower: bool) -> XlaOp:
        """Return the triangular factor of positive definite matrices; reads only its own triangle of ``a``."""
        return self._instruction("cholesky", (self._operand(a),), {"lower": lower})

    def triangular_solve(
        self,
        a: Operand,
        b: Operand,
        left_side: bool,
        lower: bool,
        unit_diagonal: bool = False,
        transpose_a: Transpose = Transpose.NO_TRANSPOSE,
    ) -> XlaOp:
        """Solve ``op(a) x = b`` (``left_side``) or ``x op(a) = b`` for a triangular ``a``."""
        attributes = {
            "left_side": left_side,
            "lower": lower,
            "unit_diagonal": unit_diagonal,
            "transpose_a": choice("triangular-solve", Transpose, transpose_a).value,
        }
        return self._instruction("triangular-solve", (self._operand(a), self._operand(b)), attributes)

    # -- helpers

    def _product(
        self, opcode: str, operands: Sequence[XlaOp], attributes: Mapping[str, Any], preferred: Type | None
    ) -> XlaOp:
        """Add a contraction with the preferred element type, if any."""
        if preferred is None:
            return self._instruction(opcode, operands, attributes)
        shape = infer_shape(opcode, [operand.shape for operand in operands], attributes)
        assert isinstance(shape, ArrayShape)
        return self._instruction(opcode, operands, attributes, with_type(shape, as_element_type(preferred)))


def _dot_attributes(numbers: DotDimensionNumbers, precision: Sequence[str] | None) -> dict[str, Any]:
    numbers = expected("dot", DotDimensionNumbers, numbers)
    return {
        "lhs_batch_dims": integers("dot", numbers.lhs_batch_dimensions) or None,
        "rhs_batch_dims": integers("dot", numbers.rhs_batch_dimensions) or None,
        "lhs_contracting_dims": integers("dot", numbers.lhs_contracting_dimensions),
        "rhs_contracting_dims": integers("dot", numbers.rhs_contracting_dimensions),
        "operand_precision": _precision("dot", precision),
    }


def _precision(name: str, words: Sequence[str] | None) -> tuple[str, ...] | None:
    for word in words or ():
        if word not in PRECISIONS:
            refuse("XP203", f"{name}: {word!r} is not a precision", hint=f"known: {', '.join(PRECISIONS)}")
    return tuple(words) if words else None


def default_convolution_numbers(spatial_dimensions: int) -> ConvolutionDimensionNumbers:
    """Return the numbers for batch, feature, spatial..; the kernel's output feature comes before its input feature."""
    spatial = tuple(range(2, 2 + spatial_dimensions))
    return convolution_numbers((0, 1, spatial), (1, 0, spatial), (0, 1, spatial))


_Part = tuple[int, int, Sequence[int]]


def convolution_numbers(lhs: _Part, kernel: _Part, result: _Part) -> ConvolutionDimensionNumbers:
    """Return dimension numbers from ``(batch, feature, spatial)`` of both images and ``(input feature, output feature,
    spatial)`` of the kernel.
    """
    labels = [_labels(*lhs, "bf"), _labels(*kernel, "io"), _labels(*result, "bf")]
    return ConvolutionDimensionNumbers(
        *(lhs[0], lhs[1], tuple(lhs[2])),
        *(kernel[0], kernel[1], tuple(kernel[2])),
        *(result[0], result[1], tuple(result[2])),
        text=f"{labels[0]}_{labels[1]}->{labels[2]}",
    )


def _labels(first: int, second: int, spatial: Sequence[int], letters: str) -> str:
    if len(spatial) > len(string.digits):
        refuse("XP214", f"convolution: HLO has labels for {len(string.digits)} spatial dimensions, not {len(spatial)}")
    named = {first: letters[0], second: letters[1]}
    named |= {dimension: string.digits[number] for number, dimension in enumerate(spatial)}
    return "".join(named.get(dimension, "?") for dimension in range(max(named) + 1))


def _require_numbers(numbers: ConvolutionDimensionNumbers, lhs: ArrayShape, rhs: ArrayShape) -> None:
    """Refuse (XP214, XP215) ranks and spatial numbers that do not fit the arrays; shape inference checks the rest."""
    for side, shape, dimensions in (("lhs", lhs, numbers.input_spatial), ("rhs", rhs, numbers.kernel_spatial)):
        rank = len(dimensions) + 2
        if shape.rank != rank:
            refuse("XP214", f"convolution: the {side} needs {rank} dimensions, but is {shape_text(shape)}")
        for dimension in dimensions:
            if not 0 <= dimension < shape.rank:
                refuse("XP215", f"convolution: there is no dimension {dimension} in {shape_text(shape)}")
