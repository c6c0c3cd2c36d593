"""Operations of CHLO that repeat their operands until these have the shape of the result."""

from __future__ import annotations

from dataclasses import replace

from .program import Operation, Value
from .rows import AttributeValueError, numbers
from .translation import Translator
from .writer import Writer, array_of

_OWN = "add and atan2 compare complex divide maximum minimum multiply or power remainder select shift_left "
_OWN += "shift_right_arithmetic shift_right_logical subtract xor"
BROADCASTS: dict[str, str] = {  # the operation of arrays of one shape
    **{f"chlo.broadcast_{name}": f"stablehlo.{name}" for name in _OWN.split()},
    **{f"chlo.broadcast_{name}": f"chlo.{name}" for name in ("next_after", "polygamma", "zeta")},
}


def broadcasting(translator: Translator, writer: Writer, operation: Operation) -> None:
    """Repeat the operands, and translate the operation of equal shapes."""
    name = BROADCASTS[operation.name]
    operands = [_repeated(translator, writer, operation, value) for value in operation.operands]
    attributes = {key: value for key, value in operation.attributes.items() if key != "broadcast_dimensions"}
    plain = replace(operation, name=name, operands=operands, attributes=attributes)
    translator.rules.get(name, translator.rules["*"])(translator, writer, plain)


def _repeated(translator: Translator, writer: Writer, operation: Operation, value: Value) -> Value:
    shape, given = translator.array(operation.results[0], operation.span), translator.array(value, operation.span)
    if given.dimensions == shape.dimensions:
        return value
    last = tuple(range(shape.rank - given.rank, shape.rank))
    try:
        dimensions = numbers("broadcast_dimensions", default=last)(operation.attributes)
    except AttributeValueError as error:
        raise translator.error("XP123", f"{operation.name}: {error}", operation.span) from None
    dimensions = dimensions if given.rank < shape.rank else last
    sizes = [shape.dimensions[d] if 0 <= d < shape.rank else -1 for d in dimensions]
    fits = len(sizes) == given.rank and len(set(dimensions)) == given.rank
    if not fits or any(own not in (1, size) for own, size in zip(given.dimensions, sizes, strict=True)):
        message = f"{given.without_layout()} cannot become {shape.without_layout()} along {list(dimensions)}"
        raise translator.error("XP123", message, operation.span)
    wide = array_of(given.element_type, shape.dimensions)
    made = Value(wide, value.name, value.location)
    writer.values[made] = writer.broadcast(writer.values[value], wide, dimensions)
    return made
