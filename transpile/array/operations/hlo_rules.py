"""Shapes by HLO's rules, for functions of the prelude that compute an HLO operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...hlo.shape_inference import infer_shape
from ...hlo.shapes import ArrayShape
from ...hlo.source import HloVerificationError
from ..operation import Operand, Shape


def sizes_of(opcode: str, shapes: Sequence[ArrayShape], attributes: Mapping[str, Any]) -> Shape:
    """Return the dimensions of the result of an HLO operation on operands of these shapes.

    Raises ValueError if the operands do not fit the operation.
    """
    try:
        result = infer_shape(opcode, shapes, attributes)
    except HloVerificationError as error:
        raise ValueError(error.diagnostics[0].message) from None
    assert isinstance(result, ArrayShape)
    return result.dimensions


def array_shape(operand: Operand) -> ArrayShape:
    """Return the HLO shape of an operand."""
    assert operand.element_type is not None
    return ArrayShape(operand.element_type, operand.shape)
