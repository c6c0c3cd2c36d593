"""Types of MLIR as shapes: ``tensor<2x3xf32>``, ``!stablehlo.token``, ``tuple<..>``."""

from __future__ import annotations

import re

from ..hlo.element_types import ELEMENT_TYPES, LACKING, ElementType, missing_dtype_message
from ..hlo.lexer import Cursor, quote
from ..hlo.shapes import TOKEN, UNBOUNDED, ArrayShape, Layout, TupleShape
from .balanced import balanced
from .program import FunctionType, Type, Unread

TENSOR = re.compile(r'tensor<[^<>"]*+(?:<[^<>"]*+>[^<>"]*+)*+>')
_SHAPED = re.compile(
    r"((?:(?:\d+|\?)x)*+)([A-Za-z]\w*(?:<\w+>)?)"
    r"(?:\s*,\s*#(?:stablehlo|mhlo)\.(?:bounds|type_extensions<bounds =)<?([^>]*)>*)?",
    re.ASCII,
)
_OTHER = re.compile(r"!?[A-Za-z_][\w$.]*+", re.ASCII)
_TOKENS = frozenset(("!stablehlo.token", "!mhlo.token", "!vhlo.token_v1", "token"))
_NAMES = {
    "i1": "pred",
    **{f"i{bits}": f"s{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    **{f"si{bits}": f"s{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    **{f"ui{bits}": f"u{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    "complex<f32>": "c64",
    "complex<f64>": "c128",
    "index": "s64",
}
_LARGEST = 1 << 63


def element_type_of(name: str) -> ElementType | None:
    """The element type that MLIR calls so; None where there is none."""
    known = _NAMES.get(name, name.lower())
    return ELEMENT_TYPES.get(known) if name not in ELEMENT_TYPES or name == known else None


def array_shape(element_type: ElementType, sizes: tuple[int, ...], dynamic: tuple[bool, ...] = ()) -> ArrayShape:
    """An array in the layout that XLA gives it."""
    return ArrayShape(element_type, sizes, dynamic, Layout.default(len(sizes)) if sizes else None)


def parse_type(cursor: Cursor) -> Type:
    """The type that comes next. Raises ``HloSyntaxError``: XP106 for what is no type that a program of HLO has."""
    start = cursor.skip()
    tensor = TENSOR.match(cursor.text, start)
    if tensor is not None:
        cursor.position = tensor.end()
        known = cursor.shapes.get(tensor[0])
        if known is None:
            known = cursor.shapes[tensor[0]] = _tensor(cursor, tensor[0][len("tensor<") : -1], start)
        return known
    if cursor.accept("("):
        return _function_type(cursor, start)
    return _other(cursor, start)


def _tensor(cursor: Cursor, inside: str, start: int) -> Type:
    found = _SHAPED.fullmatch(inside.strip())
    element_type = element_type_of(found[2]) if found is not None else None
    if found is None or element_type is None:
        raise _no_shape(cursor, inside, found[2] if found is not None else "", start)
    bounds = [word.strip() for word in found[3].split(",")] if found[3] else []
    words = found[1].split("x")[:-1]
    sizes = [UNBOUNDED if word == "?" else int(word[:20]) for word in words]
    if any(size >= _LARGEST for size in sizes) or (bounds and len(bounds) != len(sizes)):
        raise _no_shape(cursor, inside, "", start)
    if not bounds:
        return array_shape(element_type, tuple(sizes))
    dynamic = tuple(bound.isdecimal() and size == UNBOUNDED for bound, size in zip(bounds, sizes, strict=True))
    own = (int(bound[:18]) if is_free else size for bound, size, is_free in zip(bounds, sizes, dynamic, strict=True))
    return array_shape(element_type, tuple(own), dynamic)


def _no_shape(cursor: Cursor, inside: str, element: str, start: int) -> Exception:
    message = f"{quote(f'tensor<{inside}>')} is no type of an array here"
    if "quant." in inside:
        message = f"the quantized type {quote(f'tensor<{inside}>')} is not read: the program is to be dequantized first"
    elif inside.startswith("*"):
        message = f"{quote(f'tensor<{inside}>')} has no rank"
    elif _NAMES.get(element, element) in LACKING:
        message = missing_dtype_message(_NAMES.get(element, element))
    elif element:
        message = f"there is no element type {quote(element)}"
    return cursor.error("XP106", message, start, cursor.position)


def _function_type(cursor: Cursor, start: int) -> FunctionType:
    """``(a, b) -> c`` behind its first parenthesis."""
    cursor.enter(start)
    inputs = _until(cursor, ")")
    cursor.expect("->", "between the types of operands and of results")
    results = _until(cursor, ")") if cursor.accept("(") else (parse_type(cursor),)
    cursor.leave()
    return FunctionType(inputs, results)


def parse_types(cursor: Cursor) -> tuple[Type, ...]:
    """One type, or several with commas between."""
    types = [parse_type(cursor)]
    while cursor.accept(","):
        types.append(parse_type(cursor))
    return tuple(types)


def _until(cursor: Cursor, closing: str) -> tuple[Type, ...]:
    if cursor.accept(closing):
        return ()
    types = parse_types(cursor)
    cursor.expect(closing, "to close the types")
    return types


def _other(cursor: Cursor, start: int) -> Type:
    word = cursor.expect_match(_OTHER, "a type")
    if word in _TOKENS:
        return TOKEN
    if word == "complex":
        word += balanced(cursor)
    if word == "tuple":
        return _tuple(cursor, start)
    element_type = element_type_of(word)
    if element_type is not None:
        return ArrayShape(element_type, ())
    if cursor.text.startswith("<", cursor.position):
        word += balanced(cursor)
    alias = cursor.shapes.get(word)
    return alias if alias is not None else Unread(word)


def _tuple(cursor: Cursor, start: int) -> TupleShape:
    cursor.enter(start)
    cursor.expect("<")
    elements = _until(cursor, ">")
    cursor.leave()
    return TupleShape(elements)  # type: ignore[arg-type]
