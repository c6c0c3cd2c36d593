"""The parts of XLA's hlo.proto and xla_data.proto that jaxlib has no reader for.

These are literals apart from a module, and snapshots: a module with the arguments of one run. Field numbers are those
of the two files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..dataclass import dataclass
from ..errors import Diagnostic, UsageError
from ..hlo.element_types import ELEMENT_TYPES, ElementType, Kind, missing_dtype_message
from .protobuf import encode, fields, malformed, messages, packed_varints

# HloProto, HloSnapshot, HloModuleProto, HloComputationProto, HloInstructionProto
MODULE_IN_HLO_PROTO = 1
HLO_IN_SNAPSHOT, ARGUMENTS_IN_SNAPSHOT = 1, 2
COMPUTATIONS = 3
_INSTRUCTIONS = 2
_NAME, _LITERAL = 1, 8
# LiteralProto and ShapeProto
_SHAPE, _TUPLE_LITERALS = 1, 10
_ELEMENT_TYPE, _DIMENSIONS, _TUPLE_SHAPES, _LAYOUT = 2, 3, 4, 5
_MINOR_TO_MAJOR = 1
_TUPLE, _TOKEN = 13, 17
LARGE = 4096  # bytes of a literal that is not converted through text


@dataclass(frozen=True, slots=True)
class _Storage:
    """The field of a LiteralProto that holds the values of an element type. Packed integers are varints, the rest
    little-endian.
    """

    field: int
    is_varint: bool = False


# by PrimitiveType's number: name of the element type, and storage of its values
_PRIMITIVE_TYPES: dict[int, tuple[str, _Storage]] = {
    1: ("pred", _Storage(2, True)),
    2: ("s8", _Storage(15)),
    3: ("s16", _Storage(17)),
    4: ("s32", _Storage(4, True)),
    5: ("s64", _Storage(5, True)),
    6: ("u8", _Storage(3)),
    7: ("u16", _Storage(16)),
    8: ("u32", _Storage(6, True)),
    9: ("u64", _Storage(7, True)),
    10: ("f16", _Storage(11)),
    11: ("f32", _Storage(8)),
    12: ("f64", _Storage(9)),
    15: ("c64", _Storage(12)),
    16: ("bf16", _Storage(13)),
    18: ("c128", _Storage(18)),
    19: ("f8e5m2", _Storage(19)),
    20: ("f8e4m3fn", _Storage(20)),
    21: ("s4", _Storage(21)),
    22: ("u4", _Storage(22)),
    23: ("f8e4m3b11fnuz", _Storage(23)),
    24: ("f8e5m2fnuz", _Storage(24)),
    25: ("f8e4m3fnuz", _Storage(25)),
    26: ("s2", _Storage(26)),
    27: ("u2", _Storage(27)),
    28: ("f8e4m3", _Storage(28)),
    29: ("f8e3m4", _Storage(29)),
    30: ("s1", _Storage(30)),
    31: ("u1", _Storage(31)),
    32: ("f4e2m1fn", _Storage(32)),
    33: ("f8e8m0fnu", _Storage(33)),
}


def without_large_literals(module: memoryview) -> tuple[bytes | memoryview, dict[str, memoryview]]:
    """Return a HloModuleProto without the values of large constants, and these as LiteralProtos by instruction name.

    Raises ``UsageError`` (XP720) if the bytes are not a module.
    """
    literals: dict[str, memoryview] = {}

    def computation(message: memoryview) -> bytes:
        return _with_each(message, _INSTRUCTIONS, instruction)

    def instruction(message: memoryview) -> bytes:
        (name,) = list(messages(message, _NAME))[-1:] or [memoryview(b"")]
        for literal in messages(message, _LITERAL):
            if len(literal) >= LARGE:
                literals[bytes(name).decode(errors="replace")] = literal
        return b"".join(f.raw for f in fields(message) if f.number != _LITERAL or len(f.raw) < LARGE)

    small = _with_each(module, COMPUTATIONS, computation) if len(module) >= LARGE else module
    return (small, literals) if literals else (module, literals)


def _with_each(message: memoryview, number: int, change: Callable[[memoryview], bytes]) -> bytes:
    """Return a message with ``change`` applied to all large fields of one number."""
    return b"".join(
        encode(number, change(field.value))
        if field.number == number and isinstance(field.value, memoryview) and len(field.value) >= LARGE
        else field.raw
        for field in fields(message)
    )


def read_literal(literal: memoryview) -> Any:
    """Return the array or the tuple in a LiteralProto; ``None`` for a token.

    Arrays of floats and of bytes are views of the message. Raises ``UsageError`` (XP720) for an invalid literal.
    """
    content = _by_number(literal)
    shape = _by_number(_message(content.get(_SHAPE, [])))
    number = next((value for value in shape.get(_ELEMENT_TYPE, []) if isinstance(value, int)), 0)
    if number == _TUPLE:
        return tuple(read_literal(_message([part])) for part in content.get(_TUPLE_LITERALS, []))
    if number == _TOKEN:
        return None
    if number not in _PRIMITIVE_TYPES:
        raise malformed(f"there are no literals of element type {number}")
    name, storage = _PRIMITIVE_TYPES[number]
    if missing_dtype_message(name):
        raise UsageError(Diagnostic("XP720", missing_dtype_message(name)))
    element_type = ELEMENT_TYPES[name]
    dimensions = _integers(shape.get(_DIMENSIONS, []))
    layout = _by_number(_message(shape.get(_LAYOUT, [])))
    order = _integers(layout.get(_MINOR_TO_MAJOR, [])) or list(reversed(range(len(dimensions))))
    values = _values(content.get(storage.field, []), storage, element_type)
    count = int(np.prod(dimensions, dtype=object)) if dimensions else 1
    if values.size != count or sorted(order) != list(range(len(dimensions))):
        raise malformed(f"{values.size} values for an array {name}{dimensions}")
    major_to_minor = order[::-1]
    return values.reshape([dimensions[d] for d in major_to_minor]).transpose(np.argsort(major_to_minor))


def _values(parts: list[int | memoryview], storage: _Storage, element_type: ElementType) -> np.ndarray:
    dtype = element_type.dtype
    payloads = [np.frombuffer(part, np.uint8) for part in parts if isinstance(part, memoryview)]
    octets = payloads[0] if len(payloads) == 1 else np.concatenate([np.empty(0, np.uint8), *payloads])
    if storage.is_varint:
        return packed_varints(octets.data).astype(dtype)
    if octets.size % dtype.itemsize:
        raise malformed(f"{octets.size} bytes hold no whole number of {element_type}")
    if element_type.bits < 8 and element_type.kind in (Kind.SIGNED, Kind.UNSIGNED):
        return octets.view(np.int8).astype(dtype)  # a byte each; ml_dtypes keeps the sign in it
    return octets.view(dtype.newbyteorder("<") if dtype.kind in "iufc" else dtype).astype(dtype, copy=False)


def snapshot_arguments(snapshot: memoryview) -> tuple[Any, ...]:
    """Return the arguments in a HloSnapshot, one for each parameter; empty if none were recorded."""
    return tuple(read_literal(literal) for literal in messages(snapshot, ARGUMENTS_IN_SNAPSHOT))


def _by_number(message: memoryview) -> Mapping[int, list[int | memoryview]]:
    found: dict[int, list[int | memoryview]] = {}
    for field in fields(message):
        found.setdefault(field.number, []).append(field.value)
    return found


def _message(values: list[int | memoryview]) -> memoryview:
    """Return the last message of a field, as the wire format specifies; an empty one if there is none."""
    value = values[-1] if values else memoryview(b"")
    if isinstance(value, int):
        raise malformed("a number stands where a message should")
    return value


def _integers(values: list[int | memoryview]) -> list[int]:
    """Return a repeated integer field, packed or not."""
    numbers: list[int] = []
    for value in values:
        numbers += [value] if isinstance(value, int) else [int(n) for n in packed_varints(value)]
    return numbers
