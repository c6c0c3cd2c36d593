"""Shapes by HLO's rules, for functions of the prelude that do what an operation of HLO does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...hlo.shape_inference import infer_shape
from ...hlo.shapes import ArrayShape
from ...hlo.source import HloVerificationError
from ..operation import Operand, Shape


def sizes_of(opcode: str, shapes: Sequence[ArrayShape], attributes: Mapping[str, Any]) -> Shape:
    """Return the sizes of the array that an operation of HLO gives for operands of these shapes.

    Raises ValueError where the operands do not fit it.
    """
    try:
        result = infer_shape(opcode, shapes, attributes)
    except HloVerificationError as error:
        raise ValueError(error.diagnostics[0].message) from None
    assert isinstance(result, ArrayShape)
    return result.dimensions


def array_shape(operand: Operand) -> ArrayShape:
    """Return the shape of an operand in HLO's terms."""
    assert operand.element_type is not None
    return ArrayShape(operand.element_type, operand.shape)
