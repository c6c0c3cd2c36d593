"""Rules of operations along axes: reductions, running reductions, sorts and transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...hlo.element_types import C64, C128, F32, F64, ElementType
from ..operation import AxisMap, Interval, Operand, Parameters, Shape
from . import axes


def position(operands: Sequence[Operand], parameters: Parameters, result: ElementType) -> Interval:
    return 0, max(operands[0].shape[parameters["axis"]] - 1, 0)


def transformed_shape(shape: Shape, kind: str, lengths: Sequence[int]) -> Shape:
    """Return the shape of Fourier transforms of these lengths along the last axes."""
    last = lengths[-1]
    terms = last // 2 + 1 if last and kind.lower() == "rfft" else last
    return (*shape[: len(shape) - len(lengths)], *lengths[:-1], terms)


def transformed_type(own: ElementType | None, kind: str) -> ElementType | None:
    """Return the element type of a Fourier transform."""
    if kind.lower() == "irfft":
        return F64 if own is C128 else F32
    return C128 if own in (F64, C128) else C64


def transformed(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    return transformed_shape(operands[0].shape, parameters["kind"], parameters["lengths"])


def transformed_numbers(operands: Sequence[Operand], parameters: Parameters) -> ElementType | None:
    return transformed_type(operands[0].element_type, parameters["kind"])


def transformed_axes(node: Any) -> list[AxisMap]:
    return [axes.leading(node.operands[0].ndim, len(node.parameters["lengths"]))]
