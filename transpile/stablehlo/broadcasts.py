"""Operations of CHLO that repeat their operands until these have the shape of the result."""

from __future__ import annotations

from dataclasses import replace

from ..hlo.shapes import ArrayShape
from ..hlo.source import Diagnostic, HloSyntaxError, SourceText
from .program import Operation, Value
from .rows import AttributeValueError, numbers
from .writer import array_of

_OWN = "add and atan2 compare complex divide maximum minimum multiply or power remainder select shift_left "
_OWN += "shift_right_arithmetic shift_right_logical subtract xor"
BROADCASTS: dict[str, str] = {  # the operation of arrays of one shape
    **{f"chlo.broadcast_{name}": f"stablehlo.{name}" for name in _OWN.split()},
    **{f"chlo.broadcast_{name}": f"chlo.{name}" for name in ("next_after", "polygamma", "zeta")},
}


def broadcasting(operation: Operation, source: SourceText) -> list[Operation] | None:
    """The operands repeated, and the operation of equal shapes; None for another operation.

    Raises ``HloSyntaxError`` (XP123) where an operand does not become as large as the result.
    """
    name = BROADCASTS.get(operation.name)
    if name is None or not isinstance(shape := operation.results[0].type, ArrayShape):
        return None
    made: list[Operation] = []
    operands: list[Value] = []
    for value in operation.operands:
        if isinstance(value.type, ArrayShape) and value.type.dimensions != shape.dimensions:
            made.append(_repeated(operation, value, value.type, shape, source))
            value = made[-1].results[0]
        operands.append(value)
    attributes = {key: value for key, value in operation.attributes.items() if key != "broadcast_dimensions"}
    return [*made, replace(operation, name=name, operands=operands, attributes=attributes)]


def _repeated(
    operation: Operation, value: Value, given: ArrayShape, shape: ArrayShape, source: SourceText
) -> Operation:
    last = tuple(range(shape.rank - given.rank, shape.rank))
    try:
        dimensions = numbers("broadcast_dimensions", default=last)(operation.attributes)
    except AttributeValueError as error:
        message = f"{operation.name}: {error}"
        raise HloSyntaxError(Diagnostic("XP123", message, operation.span, source)) from None
    dimensions = dimensions if given.rank < shape.rank else last
    wide = Value(array_of(given.element_type, shape.dimensions))
    attributes = {"broadcast_dimensions": dimensions}
    return replace(
        operation, name="stablehlo.broadcast_in_dim", operands=[value], results=[wide], attributes=attributes
    )
