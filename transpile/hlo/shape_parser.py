"""The parser of shapes and layouts in HLO text: ``(f32[8,<=128]{1,0:T(8,128)S(1)}, token[])``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from .element_types import ELEMENT_TYPES, LACKING, missing_dtype_message
from .lexer import SPACE, WORD, Cursor, quote
from .shapes import UNBOUNDED, ArrayShape, BufferShape, Layout, OpaqueShape, Shape, TokenShape, TupleShape
from .source import SourceText

# An array or tuple shape in its usual form.
SHAPE_TEXT = r'(?:[a-z]\w*+\[[^\]]*+\](?:\{[^{}\s]*+\})?+|\((?:[^()"]++|\([^()]*+\))*+\))'
_USUAL_SHAPE = re.compile(SHAPE_TEXT + r"(?!\s*[{/])", re.ASCII)  # a layout may follow after a space
_TYPE = re.compile(r"[a-z][a-z0-9]*(?=\s*\[)", re.ASCII)
_BUFFER = re.compile(r"b\s*\(")
_SCALAR_TYPES: dict[str, Shape] = {"token": TokenShape(), "opaque": OpaqueShape()}
_LAYOUT = re.compile(SPACE.pattern + r"\{\s*(?:\d|:)")  # unlike a body in braces
_LEVEL = re.compile(r"[DCSHL](?:\+?~|~?\+)?")
_LAYOUT_PART = re.compile(r"padded_dimensions|padding_value|SC|[TLDESPM#*]")
_PADDING_VALUE = re.compile(r"[A-Z_]+")
TYPE_NAMES = frozenset(ELEMENT_TYPES) | LACKING | {"token", "opaque"}


def shape_of_text(text: str) -> Shape:
    """Return the shape in ``text``. Raises ``HloSyntaxError``."""
    cursor = Cursor(SourceText(text))
    shape = parse_shape(cursor)
    if not cursor.at_end():
        cursor.unexpected("the end of the shape")
    return shape


def layout_of_text(text: str) -> Layout:
    """Return the layout in ``text``. Raises ``HloSyntaxError``."""
    cursor = Cursor(SourceText(text))
    layout = parse_layout(cursor)
    if not cursor.at_end():
        cursor.unexpected("the end of the layout")
    return layout


def looks_like_shape(cursor: Cursor) -> bool:
    """Return whether a shape comes next (and not a name or an opcode)."""
    start = cursor.skip()
    text = cursor.text
    return text.startswith("(", start) or bool(_TYPE.match(text, start) or _BUFFER.match(text, start))


def parse_shape(cursor: Cursor) -> Shape:
    """Parse the next shape. Raises ``HloSyntaxError``."""
    match = _USUAL_SHAPE.match(cursor.text, cursor.skip())
    shape: Shape | None = cursor.shapes.get(match.group()) if match is not None else None
    if match is not None and shape is not None:
        cursor.position = match.end()
        return shape
    shape = _parse_shape(cursor)
    if match is not None and cursor.position == match.end():
        cursor.shapes[match.group()] = shape
    return shape


def _parse_shape(cursor: Cursor) -> Shape:
    start = cursor.skip()
    if cursor.accept("("):
        return _tuple(cursor, start)
    if cursor.match(_BUFFER):
        cursor.enter(start)
        element = parse_shape(cursor)
        cursor.leave()
        if not isinstance(element, ArrayShape):
            raise cursor.error("XP106", "a buffer holds an array", start)
        cursor.expect(")")
        return BufferShape(element)
    name = cursor.expect_match(_TYPE, "a shape")
    cursor.expect("[")
    if name in _SCALAR_TYPES:
        cursor.expect("]")
        return _SCALAR_TYPES[name]
    element_type = ELEMENT_TYPES.get(name)
    if element_type is None:
        known = ", ".join(ELEMENT_TYPES)
        problem = missing_dtype_message(name) or f"unknown element type {quote(name)}"
        raise cursor.error("XP106", problem, start, start + len(name), f"known types: {known}")
    dimensions, dynamic = _dimensions(cursor)
    if math.prod(size for size in dimensions if size > 0) * element_type.bits >= 1 << 63:
        raise cursor.error("XP106", "this shape has more elements than any machine can address", start)
    layout = parse_layout(cursor, len(dimensions)) if _LAYOUT.match(cursor.text, cursor.position) else None
    return ArrayShape(element_type, dimensions, dynamic if any(dynamic) else (), layout)


def _tuple(cursor: Cursor, start: int) -> TupleShape:
    cursor.enter(start)
    elements: list[Shape] = []
    if not cursor.accept(")"):
        elements.append(parse_shape(cursor))
        while cursor.accept(","):
            elements.append(parse_shape(cursor))
        cursor.expect(")", "to close the tuple shape")
    cursor.leave()
    return TupleShape(tuple(elements))


def _dimensions(cursor: Cursor) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    sizes: list[int] = []
    dynamic: list[bool] = []
    if not cursor.accept("]"):
        while True:
            if cursor.accept("?"):
                sizes.append(UNBOUNDED)
                dynamic.append(True)
            else:
                dynamic.append(cursor.accept("<="))
                sizes.append(_natural(cursor, "a dimension size"))
            if not cursor.accept(","):
                break
        cursor.expect("]", "after the dimension sizes")
    return tuple(sizes), tuple(dynamic)


def _natural(cursor: Cursor, what: str) -> int:
    start = cursor.skip()
    value = cursor.integer(what)
    if value < 0:
        raise cursor.error("XP106", f"{what} cannot be negative", start)
    return value


def parse_layout(cursor: Cursor, rank: int | None = None) -> Layout:
    """Parse the next layout, ``{1,0:T(8,128)}``, for an array of ``rank`` dimensions, or of any rank."""
    start = cursor.skip()
    cursor.expect("{")
    order: list[int] = []
    if not cursor.looking_at(":") and not cursor.looking_at("}"):
        order = _naturals(cursor, "a dimension number")
    rank = len(order) if rank is None else rank
    parts: dict[str, Any] = {}
    if cursor.accept(":"):
        while (part := cursor.match(_LAYOUT_PART)) is not None:
            field, read = _LAYOUT_PARTS[part.group()]
            if field in parts:
                raise cursor.error("XP106", f"{quote(part.group())} is given twice", part.start(), part.end())
            cursor.expect("(")
            parts[field] = read(cursor)
    cursor.expect("}", "to close the layout")
    if sorted(order) != list(range(rank)):
        message = f"the layout orders dimensions {{{','.join(map(str, order))}}}, but the array has {rank}"
        raise cursor.error("XP106", message, start, hint="name each dimension once, the fastest-varying first")
    if len(parts.get("padded_dimensions", order)) != rank:
        raise cursor.error("XP106", f"padded_dimensions needs {rank} sizes, one for each dimension", start)
    return Layout(tuple(order), **parts)


def _naturals(cursor: Cursor, what: str) -> list[int]:
    values = [_natural(cursor, what)]
    while cursor.accept(","):
        values.append(_natural(cursor, what))
    return values


def _number(cursor: Cursor) -> int:
    value = _natural(cursor, "a number")
    cursor.expect(")")
    return value


def _word(cursor: Cursor) -> str:
    value = cursor.expect_match(WORD, "a type name")
    cursor.expect(")")
    return value


def _sizes(cursor: Cursor) -> tuple[int, ...]:
    values = _naturals(cursor, "a size")
    cursor.expect(")")
    return tuple(values)


def _tiles(cursor: Cursor) -> tuple[tuple[int | None, ...], ...]:
    tiles: list[tuple[int | None, ...]] = []
    while True:
        tile: list[int | None] = []
        while not tile or cursor.accept(","):
            tile.append(None if cursor.accept("*") else _natural(cursor, "a tile size"))
        cursor.expect(")", "after the tile sizes")
        tiles.append(tuple(tile))
        if not cursor.accept("("):
            return tuple(tiles)


def _levels(cursor: Cursor) -> tuple[str, ...]:
    levels = [cursor.expect_match(_LEVEL, "a dimension level type")]
    while cursor.accept(","):
        levels.append(cursor.expect_match(_LEVEL, "a dimension level type"))
    cursor.expect(")")
    return tuple(levels)


def _split_configs(cursor: Cursor) -> tuple[tuple[int, tuple[int, ...]], ...]:
    configs = []
    while True:
        dimension = _natural(cursor, "a dimension number")
        cursor.expect(":")
        configs.append((dimension, tuple(_naturals(cursor, "a split index"))))
        cursor.expect(")")
        if not cursor.accept("("):
            return tuple(configs)


def _physical_shape(cursor: Cursor) -> Shape:
    start = cursor.skip()
    cursor.enter(start)
    shape = parse_shape(cursor)
    cursor.leave()
    cursor.expect(")")
    return shape


def _padding_value(cursor: Cursor) -> str:
    value = cursor.expect_match(_PADDING_VALUE, "a padding value")
    cursor.expect(")")
    return value


_LAYOUT_PARTS: dict[str, tuple[str, Callable[[Cursor], Any]]] = {
    "T": ("tiles", _tiles),
    "L": ("tail_padding_alignment_in_elements", _number),
    "D": ("dim_level_types", _levels),
    "#": ("index_primitive_type", _word),
    "*": ("pointer_primitive_type", _word),
    "E": ("element_size_in_bits", _number),
    "S": ("memory_space", _number),
    "SC": ("split_configs", _split_configs),
    "P": ("physical_shape", _physical_shape),
    "M": ("dynamic_shape_metadata_prefix_bytes", _number),
    # Fields of the older layout message, which HLO text never had, under their proto names.
    "padded_dimensions": ("padded_dimensions", _sizes),
    "padding_value": ("padding_value", _padding_value),
}
