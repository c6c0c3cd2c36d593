"""Rules of element-wise operations: those of HLO, and the few that only array libraries have."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil as ceil, floor as floor

from ...hlo.element_types import ElementType
from .. import intervals
from ..intervals import of_either, of_operands
from ..operation import Operand, Parameters
from .inference import common_type

nearest = round
total, difference = of_operands(intervals.total), of_operands(intervals.difference)
product, quotient, rest = map(of_operands, (intervals.product, intervals.quotient, intervals.rest))
shifted, clamped = of_operands(intervals.shifted), of_operands(intervals.clamped)
larger, smaller, both = map(of_either, (intervals.larger, intervals.smaller, intervals.both))


def type_of_choices(operands: Sequence[Operand], parameters: Parameters) -> ElementType | None:
    return common_type(operands[1:], parameters)


def are_chosen_ints(operands: Sequence[Operand]) -> bool:
    return all(operand.is_python_int for operand in operands[1:])


def are_counts(operands: Sequence[Operand]) -> bool:
    """Return whether the operands are Python ints, or Python ints and literals: then so is the result."""
    is_int = any(operand.is_python_int for operand in operands)
    return is_int and all(operand.is_python_int or operand.opcode == "literal" for operand in operands)
