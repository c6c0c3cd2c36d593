"""How MLIR's own dialect and VHLO, StableHLO's portable form, encode attributes and types.

A row is a function of the decoder; the codes never change once they are given, so one table is for all versions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..dataclass import dataclass
from ..hlo.element_types import ELEMENT_TYPES
from ..hlo.shapes import TOKEN, UNBOUNDED, ArrayShape, Shape, TupleShape
from .bytecode import Decoder
from .dense import DenseError, from_bytes
from .program import UNKNOWN, FunctionType, Location, Symbol, Typed, Unread
from .shardy_encodings import ATTRIBUTES as SHARDY_ATTRIBUTES
from .types import array_shape, element_type_of

_ANY = -(1 << 63)  # the size of an axis that is left open

Read = Callable[[Decoder], Any]


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most that axes of open sizes have; ``_ANY`` for those that have no bound."""

    sizes: tuple[int, ...]


def decode(decoder: Decoder, dialect: str, is_type: bool) -> Any:
    """The value of an encoded attribute or type. Raises ``UsageError`` (XP431) for a code that nobody knows."""
    code = decoder.stream.number()
    read = _ROWS.get((dialect, is_type), {}).get(code)
    if read is None:
        if dialect in ("builtin", "vhlo"):
            what = "type" if is_type else "attribute"
            raise decoder.stream.error(f"the dialect {dialect} has no {what} of the code {code}")
        return Unread(f"{'!' if is_type else '#'}{dialect}")
    return read(decoder)


# -- numbers


def _whole(decoder: Decoder, bits: int) -> int:
    """The bits of a number of known width, as one without a sign."""
    if bits <= 8:
        return decoder.stream.byte()
    if bits <= 64:
        return decoder.stream.signed() & ((1 << bits) - 1)
    words = [decoder.stream.signed() & ((1 << 64) - 1) for _ in range(decoder.stream.count())]
    return sum(word << 64 * k for k, word in enumerate(words))


def _integer(decoder: Decoder) -> Any:
    type_ = decoder.type()
    if type_ is None:
        return None
    bits, is_signed = _width(type_)
    value = _whole(decoder, bits)
    if isinstance(type_, ArrayShape) and type_.element_type.name == "pred":
        return bool(value & 1)
    value = value - (1 << bits) if is_signed and value >> (bits - 1) else value
    return Typed.of(value, f"{'i' if is_signed else 'ui'}{bits}")


def _width(type_: Any) -> tuple[int, bool]:
    if not isinstance(type_, ArrayShape):
        return 64, True
    own = type_.element_type
    return (1, False) if own.name == "pred" else (own.bits, own.is_signed)


def _float(decoder: Decoder) -> Any:
    type_ = decoder.type()
    if not isinstance(type_, ArrayShape):
        return None
    dtype = type_.element_type.dtype
    raw = _whole(decoder, dtype.itemsize * 8).to_bytes(dtype.itemsize, "little")
    return float(np.frombuffer(raw, dtype)[0])


def _elements(decoder: Decoder) -> Any:
    type_ = decoder.type()
    raw = decoder.stream.bytes(decoder.stream.number())
    if not isinstance(type_, ArrayShape):
        return None
    try:
        return from_bytes(raw, type_)
    except DenseError as error:
        raise decoder.stream.error(str(error)) from None


def _dense_array(decoder: Decoder) -> Any:
    type_ = decoder.type()
    count = decoder.stream.number()
    raw = decoder.stream.bytes(decoder.stream.number())
    if not isinstance(type_, ArrayShape):
        return None
    try:
        return tuple(from_bytes(raw, array_shape(type_.element_type, (count,))).tolist())
    except DenseError as error:
        raise decoder.stream.error(str(error)) from None


# -- words and lists


def _word(*words: str) -> Read:
    def read(decoder: Decoder) -> str:
        code = decoder.stream.number()
        if code >= len(words):
            raise decoder.stream.error(f"there is no word {code} of {', '.join(words)}")
        return words[code]

    return read


def _dictionary(decoder: Decoder) -> dict[str, Any]:
    pairs = decoder.listed(lambda: (decoder.attribute(), decoder.attribute()))
    return {str(key): value for key, value in pairs}


def _alias(decoder: Decoder) -> dict[str, Any]:
    return {
        "output_tuple_indices": decoder.signed_numbers(),
        "operand_index": decoder.stream.signed(),
        "operand_tuple_indices": decoder.signed_numbers(),
    }


def _symbol(decoder: Decoder) -> Symbol:
    return Symbol(str(decoder.attribute()))


def _nested_symbol(decoder: Decoder) -> Symbol:
    root = decoder.attribute()
    decoder.listed(decoder.attribute)
    return Symbol(str(root))


# -- locations


def _location(decoder: Decoder) -> Location:
    found = decoder.attribute()
    return found if isinstance(found, Location) else UNKNOWN


def _file_place(decoder: Decoder) -> Location:
    name = str(decoder.attribute())
    line, column = decoder.stream.number(), decoder.stream.number()
    return Location("file", name, (line, column, line, column))


def _file_range(decoder: Decoder) -> Location:
    """A file, and as many numbers as are needed: line; column; last column; last line before that."""
    name = str(decoder.attribute())
    numbers = decoder.listed(decoder.stream.number)
    line, column = (*numbers, 0, 0)[:2]
    last_line, last_column = line, column
    if len(numbers) == 3:
        last_column = numbers[2]
    elif len(numbers) > 3:
        last_line, last_column = numbers[2], numbers[3]
    return Location("file", name, (line, column, last_line, last_column))


def _call_site(decoder: Decoder) -> Location:
    callee = _location(decoder)
    return Location("callsite", parts=(callee, _location(decoder)))


def _fused(decoder: Decoder) -> Location:
    return Location("fused", parts=decoder.listed(lambda: _location(decoder)))


def _fused_with_metadata(decoder: Decoder) -> Location:
    found = _fused(decoder)
    decoder.attribute()
    return found


def _named(decoder: Decoder) -> Location:
    name = str(decoder.attribute())
    return Location("name", name, parts=(_location(decoder),))


# -- types


def _scalar(name: str) -> Read:
    return lambda decoder: _element(name)


def _element(name: str) -> Any:
    element_type = element_type_of(name) or ELEMENT_TYPES.get(name)
    return ArrayShape(element_type, ()) if element_type is not None else Unread(name)


def _integer_type(decoder: Decoder) -> Any:
    """A width above two bits: 1 is a signed type, 2 one without a sign."""
    value = decoder.stream.number()
    width, sign = value >> 2, value & 3
    return _element(f"{'u' if sign == 2 else ''}i{width}")


def _complex(decoder: Decoder) -> Any:
    part = decoder.type()
    name = part.element_type.name if isinstance(part, ArrayShape) else ""
    return _element({"f32": "c64", "f64": "c128"}.get(name, f"complex<{name}>"))


def _function(decoder: Decoder) -> FunctionType:
    inputs = decoder.listed(decoder.type)
    return FunctionType(inputs, decoder.listed(decoder.type))


def _ranked(decoder: Decoder) -> Any:
    sizes = decoder.signed_numbers()
    return _tensor(sizes, decoder.type(), None)


def _ranked_with_encoding(decoder: Decoder) -> Any:
    encoding = decoder.attribute()
    sizes = decoder.signed_numbers()
    return _tensor(sizes, decoder.type(), encoding)


def _tensor(sizes: Sequence[int], element: Any, encoding: Any) -> Any:
    if not isinstance(element, ArrayShape) or element.rank:
        return element if isinstance(element, Unread) else None
    if any(size < 0 and size != _ANY for size in sizes):
        return Unread("tensor of a size below 0")
    bounds = encoding.sizes if isinstance(encoding, Bounds) and len(encoding.sizes) == len(sizes) else None
    if bounds is None:
        return array_shape(element.element_type, tuple(UNBOUNDED if size == _ANY else size for size in sizes))
    dynamic = tuple(size == _ANY and bound != _ANY for size, bound in zip(sizes, bounds, strict=True))
    own = [
        bound if is_free else UNBOUNDED if size == _ANY else size
        for size, bound, is_free in zip(sizes, bounds, dynamic, strict=True)
    ]
    return array_shape(element.element_type, tuple(own), dynamic)


def _tuple(decoder: Decoder) -> Any:
    parts = decoder.listed(decoder.type)
    return TupleShape(parts) if all(isinstance(part, Shape) for part in parts) else None


def _quantized(decoder: Decoder) -> Unread:
    return Unread("!quant.uniform")


_BUILTIN_ATTRIBUTES: dict[int, Read] = {
    0: lambda decoder: decoder.listed(decoder.attribute),
    1: _dictionary,
    2: Decoder.string,
    3: lambda decoder: (decoder.string(), decoder.type())[0],
    4: _symbol,
    5: _nested_symbol,
    6: Decoder.type,
    7: lambda decoder: True,
    8: _integer,
    9: _float,
    10: _call_site,
    11: _file_place,
    12: _fused,
    13: _fused_with_metadata,
    14: _named,
    15: lambda decoder: UNKNOWN,
    17: _dense_array,
    18: _elements,
    22: _file_range,
}
_BUILTIN_TYPES: dict[int, Read] = {
    0: _integer_type,
    1: _scalar("index"),
    2: _function,
    3: _scalar("bf16"),
    4: _scalar("f16"),
    5: _scalar("f32"),
    6: _scalar("f64"),
    9: _complex,
    13: _ranked,
    14: _ranked_with_encoding,
    15: _tuple,
    18: lambda decoder: Unread("tensor<*>"),
}


def _accuracy(decoder: Decoder) -> dict[str, Any]:
    atol, rtol = (float(np.frombuffer(_whole(decoder, 64).to_bytes(8, "little"))[0]) for _ in range(2))
    return {"atol": atol, "rtol": rtol, "ulps": decoder.stream.signed(), "mode": decoder.attribute()}


_DIRECTIONS = ("EQ", "NE", "GE", "GT", "LE", "LT")
_VHLO_ATTRIBUTES: dict[int, Read] = {
    1: lambda decoder: decoder.listed(decoder.attribute),
    2: lambda decoder: bool(decoder.stream.number()),
    3: _word(*_DIRECTIONS),
    4: _word("NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"),
    5: lambda decoder: decoder.stream.number(),
    6: _dictionary,
    7: _word("FFT", "IFFT", "RFFT", "IRFFT"),
    8: _float,
    9: _integer,
    10: _alias,
    11: _word("DEFAULT", "HIGH", "HIGHEST"),
    12: _word("DEFAULT", "THREE_FRY", "PHILOX"),
    13: _word("", "UNIFORM", "NORMAL"),
    14: Decoder.string,
    15: _elements,
    16: _word("TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"),
    17: Decoder.type,
    18: lambda decoder: Bounds(decoder.signed_numbers()),
    19: _word("DEFAULT", "HIGHEST", "TOLERANCE"),
    20: _accuracy,
}
_VHLO_SCALARS = {
    0: "i1",
    2: "bf16",
    3: "f16",
    4: "f32",
    5: "f64",
    6: "f8E4M3FN",
    7: "f8E5M2",
    9: "index",
    10: "i4",
    11: "i8",
    12: "i16",
    13: "i32",
    14: "i64",
    15: "ui4",
    16: "ui8",
    17: "ui16",
    18: "ui32",
    19: "ui64",
    27: "f8E4M3FNUZ",
    28: "f8E5M2FNUZ",
    29: "f8E4M3B11FNUZ",
    31: "i2",
    32: "ui2",
    34: "tf32",
    35: "f8E4M3",
    36: "f8E3M4",
    37: "f4E2M1FN",
    38: "f6E2M3FN",
    39: "f6E3M2FN",
    40: "f8E8M0FNU",
}
_VHLO_TYPES: dict[int, Read] = {
    **{code: _scalar(name) for code, name in _VHLO_SCALARS.items()},
    1: _complex,
    8: _function,
    20: _ranked,
    21: _ranked_with_encoding,
    22: lambda decoder: TOKEN,
    23: _tuple,
    24: _quantized,
    25: lambda decoder: Unread("tensor<*>"),
    26: lambda decoder: Unread("!shape.witness"),
    30: _quantized,
    33: lambda decoder: Unread("none"),
    41: lambda decoder: Unread("!vhlo.buffer"),
}
_ROWS: Mapping[tuple[str, bool], Mapping[int, Read]] = {
    ("builtin", False): _BUILTIN_ATTRIBUTES,
    ("builtin", True): _BUILTIN_TYPES,
    ("sdy", False): SHARDY_ATTRIBUTES,
    ("vhlo", False): _VHLO_ATTRIBUTES,
    ("vhlo", True): _VHLO_TYPES,
}
