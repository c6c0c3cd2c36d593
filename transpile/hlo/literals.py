"""The parser of HLO's literals, to NumPy arrays.

An array literal becomes an array of exactly its shape and dtype, a tuple literal a Python tuple. NumPy converts large
literals in the plainest form at once; any other literal is read value by value, which also finds the place of an error.
Allocations are bounded by the text, never by the shape.
"""

from __future__ import annotations

import math
import re
import warnings
from array import array
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from .element_types import ElementType, Kind
from .lexer import Cursor, quote
from .literal_values import (
    VALUE,
    WrongKindError,
    has_zero,
    integer_range,
    largest_magnitude,
    nan_bits,
    parse_value,
    scalar_array,
)
from .shape_parser import parse_shape
from .shapes import UNBOUNDED, ArrayShape, Shape, TokenShape, TupleShape

Literal = npt.NDArray[Any] | tuple[Any, ...] | None  # None: a token

DUMP_IN_FULL = (
    'give the Lowered or Compiled itself, or dump the module with its constants: lowered.as_text("hlo", '
    "debug_info=True) in JAX, HloPrintOptions.print_large_constants = True, or --xla_dump_large_constants"
)
_MAX_RANK = 64  # of a NumPy array
_MOST_FROM_ONE = 1 << 24  # elements of an array whose first element alone is in the text
_BULK_SIZE = 32  # conversion at once does not pay for fewer elements
_PLAIN = re.compile(r"[\w.+\-]++(?=\s*+[,)])", re.ASCII)
_LEFT_OUT = re.compile(r"\{\s*\.\.\.\s*\}")
_ELIDED = re.compile(r"(?:\{\s*)*+\.\.\.")
_VALUE_BYTES = b"0123456789+-.eE \t\r\ninf"  # the characters of plain numbers; ``nan`` is read by the exact reader
_ODD = re.compile(rb"(?<![eE])\+|(?<!\d)\.|\d{19}|[\d.f][ \t\r\n]*[{(]|[})][ \t\r\n]*[\d.\-i{(]")
_TO_SPACES = bytes.maketrans(b"{}()", b"    ")


def parse_literal(cursor: Cursor, shape: Shape) -> Literal:
    """Parse the next literal, which has this ``shape``.

    Raises ``HloSyntaxError``: XP130 left out, XP131 not of this shape, XP132 out of range, XP133 wrong type.
    """
    start = cursor.skip()
    if isinstance(shape, TupleShape):
        return _parse_tuple(cursor, shape)
    if isinstance(shape, TokenShape):
        return None
    if not isinstance(shape, ArrayShape) or UNBOUNDED in shape.dimensions:
        raise cursor.error("XP131", f"there are no literals of shape {shape}", start, start + 1)
    if shape.rank > _MAX_RANK:
        raise cursor.error("XP131", f"a literal has at most {_MAX_RANK} dimensions, not {shape.rank}", start, start + 1)
    if not shape.dimensions and (plain := _PLAIN.match(cursor.text, start)) is not None:
        scalar = scalar_array(plain.group(), shape.element_type)
        if scalar is not None:
            cursor.position = plain.end()
            return scalar
    alone = _first_alone(cursor, shape)
    if alone is not None:
        alone.flags.writeable = False
        return alone
    values = _parse_in_bulk(cursor, shape) if shape.size >= _BULK_SIZE else None
    if values is None:
        values = _ExactReader(cursor, shape).read()
    values.flags.writeable = False
    return values


def _first_alone(cursor: Cursor, shape: ArrayShape) -> npt.NDArray[Any] | None:
    """Parse a single number without braces as an array with this first element and zeros, as XLA reads it; return None
    for any other text. Raises ``HloSyntaxError`` (XP131) if the array has too many elements.
    """
    start = cursor.skip()
    plain = _PLAIN.match(cursor.text, start)
    if plain is None or not shape.dimensions or not shape.size:
        return None
    first = scalar_array(plain.group(), shape.element_type)
    if first is None:
        return None
    if shape.size > _MOST_FROM_ONE:
        message = f"one number for {shape.without_layout()} is more than {_MOST_FROM_ONE} elements"
        raise cursor.error(
            "XP131", message, start, plain.end(), "write constant(0) of the element type and broadcast it"
        )
    cursor.position = plain.end()
    values = np.zeros(shape.dimensions, shape.element_type.dtype)
    values.flat[0] = first[()]
    return values


def parse_shaped_literal(cursor: Cursor) -> Literal:
    """Parse the next literal with its shape, ``s32[2]{0} {1, 2}``; a tuple's elements each have their own."""
    start = cursor.skip()
    if not cursor.accept("("):
        return parse_literal(cursor, parse_shape(cursor))
    cursor.enter(start)
    values: list[Literal] = []
    while not cursor.accept(")"):
        if values:
            cursor.expect(",", "between the elements of the tuple literal")
        values.append(parse_shaped_literal(cursor))
    cursor.leave()
    return tuple(values)


def left_out(cursor: Cursor, shape: Shape, value: Literal) -> Literal:
    """Return ``value`` for a literal that is left out (``{...}``), else parse the next literal.

    Raises ``HloSyntaxError`` (XP131) if the value does not have the shape.
    """
    start = cursor.skip()
    match = _LEFT_OUT.match(cursor.text, start)
    if match is None:
        return parse_literal(cursor, shape)
    cursor.position = match.end()
    declared = (shape.element_type.dtype, shape.dimensions) if isinstance(shape, ArrayShape) else None
    if not isinstance(value, np.ndarray) or (value.dtype, value.shape) != declared:
        raise cursor.error("XP131", f"the value kept beside the text is not of shape {shape}", start, match.end())
    value.flags.writeable = False
    return value


def _parse_tuple(cursor: Cursor, shape: TupleShape) -> tuple[Any, ...]:
    start = cursor.skip()
    _refuse_elided(cursor)
    cursor.expect("(", "to open the tuple literal")
    values = []
    for index, element in enumerate(shape.elements):
        if index:
            cursor.expect(",", f"between the {len(shape.elements)} elements of the tuple literal")
        values.append(parse_literal(cursor, element))
    if not cursor.accept(")"):
        message = f"a tuple literal of shape {shape} has {len(shape.elements)} elements"
        raise cursor.error("XP131", message, start)
    return tuple(values)


def _refuse_elided(cursor: Cursor) -> None:
    start = cursor.skip()
    match = _ELIDED.match(cursor.text, start)
    if match:
        raise cursor.error("XP130", "the value of this constant was left out", start, match.end(), DUMP_IN_FULL)


# -- in bulk


def _parse_in_bulk(cursor: Cursor, shape: ArrayShape) -> npt.NDArray[Any] | None:
    """Parse a literal in the plainest form; return ``None`` if the exact reader is needed."""
    element_type, dimensions = shape.element_type, shape.dimensions
    start = cursor.skip()
    end = _nth_brace(cursor.text, start, sum(math.prod(dimensions[:level]) for level in range(shape.rank)))
    if end < 0 or end - start < shape.size:
        return None
    try:
        raw = cursor.text[start:end].encode("ascii")
    except UnicodeEncodeError:
        return None
    if b"/*" in raw:
        raw = _without_comments(raw)
    if raw.translate(None, _VALUE_BYTES) != _skeleton(dimensions, element_type.is_complex) or _ODD.search(raw):
        return None
    is_integral = element_type.is_integral or element_type.kind is Kind.PRED
    parts = 2 if element_type.is_complex else 1
    values = _numbers(raw.translate(_TO_SPACES), np.int64 if is_integral else np.float64)
    if values is None or values.size != shape.size * parts:
        return None
    if parts == 2:
        values = values.view(np.complex128)
    result = _convert(values, element_type)
    if result is None:
        return None
    cursor.position = end
    return result.reshape(dimensions)


def _without_comments(raw: bytes) -> bytes:
    first, *rest = raw.split(b"/*")  # a regular expression would search for each missing end again
    return first + b"".join(piece.partition(b"*/")[2] for piece in rest)


def _nth_brace(text: str, start: int, count: int) -> int:
    """Return the offset after the ``count``-th closing brace, -1 if there are fewer."""
    at = start - 1
    for _ in range(count):
        at = text.find("}", at + 1)
        if at < 0:
            return -1
    return at + 1


def _skeleton(dimensions: tuple[int, ...], is_complex: bool) -> bytes:
    """Return the punctuation of a literal without empty dimensions: ``{{,},{,}}`` for two rows of two numbers."""
    skeleton = b"(,)" if is_complex else b""
    for size in reversed(dimensions):
        skeleton = b"{" + (skeleton + b",") * (size - 1) + skeleton + b"}"
    return skeleton


def _numbers(raw: bytes, dtype: type[np.generic]) -> npt.NDArray[Any] | None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # older NumPy warns so that it stopped early
        try:
            values: npt.NDArray[Any] = np.fromstring(raw, dtype=dtype, sep=",")
        except (ValueError, DeprecationWarning):
            return None
    return values


def _convert(values: npt.NDArray[Any], element_type: ElementType) -> npt.NDArray[Any] | None:
    """Return integers (int64) or floats (float64, complex128) as ``element_type``; ``None`` if one is out of range."""
    if values.dtype.kind == "i":
        low, high = integer_range(element_type)
        return values.astype(element_type.dtype) if low <= values.min() and values.max() <= high else None
    part = element_type.real
    numbers = values.view(np.float64)  # a complex number is two
    if not has_zero(part) or (np.abs(numbers[np.isfinite(numbers)]) > largest_magnitude(part)).any():
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(element_type.dtype)


# -- exactly


class _ExactReader:
    """The reader of a literal value by value, with a place for every error."""

    def __init__(self, cursor: Cursor, shape: ArrayShape) -> None:
        self.cursor = cursor
        self.shape = shape
        self.element_type = shape.element_type
        self.is_integral = self.element_type.is_integral or self.element_type.kind is Kind.PRED
        code = ("Q" if self.element_type.is_unsigned else "q") if self.is_integral else "d"
        self.values: array[Any] = array(code)
        self.payloads: list[tuple[int, int]] = []  # (index into values, bits)

    def read(self) -> npt.NDArray[Any]:
        self._read_values()
        values = np.frombuffer(self.values, dtype=self.values.typecode) if self.values else np.empty(0)
        if self.element_type.is_complex:
            values = values.view(np.complex128)
        with np.errstate(all="ignore"):
            result = values.astype(self.element_type.dtype)
        if self.payloads:
            bits = result.view(f"u{self.element_type.real.bits // 8}")
            for index, pattern in self.payloads:
                bits[index] = pattern
        try:
            return result.reshape(self.shape.dimensions)
        except ValueError:  # NumPy counts (0, 2**62, 2**62) as too many elements
            raise self.cursor.error("XP131", f"NumPy holds no array of shape {self.shape}") from None

    def _read_values(self) -> None:
        cursor, rank = self.cursor, self.shape.rank
        counts: list[int] = []  # the number of complete elements of each open brace
        while True:
            if len(counts) == rank:
                self._read_element()
                if rank:
                    counts[-1] += 1
            else:
                _refuse_elided(cursor)
                if not cursor.accept("{"):
                    self._unexpected(f"`{{` to open dimension {len(counts)} of {self.shape.without_layout()}")
                counts.append(0)
                if not cursor.looking_at("}"):
                    continue
            while counts and not self._another_follows(counts):
                counts.pop()
                if counts:
                    counts[-1] += 1
            if not counts:
                return

    def _another_follows(self, counts: list[int]) -> bool:
        """Return whether the innermost open brace continues; if not, skip its ``}``. A trailing comma is allowed."""
        cursor = self.cursor
        dimension, found = len(counts) - 1, counts[-1]
        expected = self.shape.dimensions[dimension]
        goes_on = found > 0 and cursor.accept(",") and not cursor.looking_at("}")
        if not goes_on and not cursor.looking_at("}"):
            self._unexpected("`,` or `}`")
        if found > expected or (found == expected) == goes_on:
            message = f"dimension {dimension} of {self.shape.without_layout()} has {expected} elements"
            label = "here is one more" if goes_on else f"the literal has {found}"
            raise cursor.error("XP131", message, cursor.position, cursor.position + 1, label=label)
        if not goes_on:
            cursor.expect("}")
        return goes_on

    def _unexpected(self, expected: str) -> NoReturn:
        _refuse_elided(self.cursor)
        self.cursor.unexpected(expected)

    def _read_element(self) -> None:
        if not self.element_type.is_complex:
            self._read_number()
            return
        self.cursor.expect("(", "to open a complex number")
        self._read_number()
        self.cursor.expect(",", "between the parts of a complex number")
        self._read_number()
        self.cursor.expect(")", "to close the complex number")

    def _read_number(self) -> None:
        cursor = self.cursor
        match = cursor.match(VALUE)
        if match is None:
            self._unexpected(f"a {self.element_type} value")
        part = self.element_type.real
        try:
            value = parse_value(match, part)
        except WrongKindError:
            message = f"{quote(match.group())} is not a value of type {self.element_type}"
            raise cursor.error("XP133", message, match.start(), match.end()) from None
        if match["payload"]:
            bits = nan_bits(match, part)
            value = None if bits is None else value
            self.payloads.append((len(self.values), bits or 0))
        if value is None:
            message = f"{quote(match.group())} is out of range for {self.element_type}"
            raise cursor.error("XP132", message, match.start(), match.end(), label=self._range())
        self.values.append(value)

    def _range(self) -> str:
        if self.is_integral:
            low, high = integer_range(self.element_type)
            return f"{low} to {high}"
        return f"numbers up to {largest_magnitude(self.element_type.real):.6g}"
