"""Attributes of MLIR, from text to Python's own values."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ..hlo.lexer import Cursor, quote
from ..hlo.shapes import ArrayShape, Shape
from ..hlo.source import SourceText
from .balanced import balanced
from .dense import DenseError, dense, from_bytes
from .program import Symbol, Unread
from .strings import string, unquoted
from .types import parse_type

NAME = re.compile(r'[A-Za-z_][\w$.]*+|"(?:[^"\\]++|\\[\s\S])*+"', re.ASCII)
_NUMBER = re.compile(r"-?(?:0x[0-9A-Fa-f]++|\d++(?:\.\d*+)?(?:[eE][-+]?\d++)?)", re.ASCII)
_STRING = re.compile(r'"((?:[^"\\]++|\\[\s\S])*+)"')
SYMBOL = re.compile(r'@([\w$.\-]++|"(?:[^"\\]++|\\[\s\S])*+")(?:::@[\w$.\-]++)*+', re.ASCII)
_DIALECT = re.compile(r"#([A-Za-z_][\w$]*+)((?:\.[\w$]++)*+)", re.ASCII)
_NUMBERED = re.compile(r"#[\w$.\-]++", re.ASCII)
_WORD_IN_ANGLES = re.compile(r"<\s*(?:\w+\s+)?([\w$]+)\s*>", re.ASCII)
_STRUCT = re.compile(r"<\s*\w+\s*=", re.ASCII)
_DENSE_STRING = re.compile(r'\s*"(?:[^"\\]++|\\[\s\S])*+"\s*')
_DENSE_RESOURCE = re.compile(r'\s*([\w$.\-]++|"[^"]*")\s*', re.ASCII)
_KEPT = frozenset(("composite_attributes",))
_OWN_DIALECTS = frozenset(("stablehlo", "chlo", "mhlo", "vhlo"))
_CONVOLUTION = re.compile(r"\s*\[([^\]]*)\]\s*x\s*\[([^\]]*)\]\s*->\s*\[([^\]]*)\]\s*")


class AttributeReader:
    """Reads attributes where a cursor is."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor

    def alias(self, name: str) -> Any:
        """What a name such as ``#map`` stands for."""
        return Unread(f"#{name}")

    def resource(self, name: str) -> bytes | None:
        """The bytes of a resource; None where there is none."""
        return None

    def read(self, *, has_type: bool = True) -> Any:
        """The attribute that comes next. Where it ``has_type``, a colon behind a number is its own."""
        cursor = self.cursor
        start = cursor.skip()
        first = cursor.text[start : start + 1]
        reader = _READERS.get(first)
        if reader is not None:
            return reader(self)
        return self._number(has_type) if first.isdecimal() or first == "-" else self._word(start)

    def dictionary(self) -> dict[str, Any]:
        """``{key = value, flag}``."""
        cursor = self.cursor
        start = cursor.skip()
        cursor.expect("{")
        return self._entries(start, "}")

    def properties(self) -> dict[str, Any]:
        """``<{key = value}>``."""
        start = self.cursor.skip()
        self.cursor.expect("<{")
        found = self._entries(start, "}")
        self.cursor.expect(">", "behind the properties")
        return found

    def _entries(self, start: int, closing: str) -> dict[str, Any]:
        cursor = self.cursor
        cursor.enter(start)
        entries: dict[str, Any] = {}
        while not cursor.accept(closing):
            if entries:
                cursor.expect(",", "between attributes")
            key = cursor.expect_match(NAME, "the name of an attribute").strip('"')
            entries[key] = self._value(key) if cursor.accept("=") else True
        cursor.leave()
        return entries

    def _value(self, key: str) -> Any:
        """The value of an entry; what a custom call is given stays as it is written, with the types of its numbers."""
        start = self.cursor.skip()
        value = self.read()
        is_kept = isinstance(value, dict) and (key in _KEPT or key.endswith("backend_config"))
        return Unread(self.cursor.text[start : self.cursor.position]) if is_kept else value

    def _list(self) -> tuple[Any, ...]:
        cursor = self.cursor
        start = cursor.skip()
        cursor.expect("[")
        cursor.enter(start)
        items: list[Any] = []
        while not cursor.accept("]"):
            if items:
                cursor.expect(",", "between items")
            items.append(self.read())
        cursor.leave()
        return tuple(items)

    def _string(self) -> str:
        return string(self.cursor)

    def _symbol(self) -> Symbol:
        return Symbol(symbol_name(self.cursor.expect_match(SYMBOL, "a symbol")))

    def _number(self, has_type: bool) -> Any:
        cursor = self.cursor
        start = cursor.skip()
        text = cursor.expect_match(_NUMBER, "a number")
        type_ = parse_type(cursor) if has_type and cursor.accept(":") else None
        if len(text) > 400:
            raise cursor.error("XP123", "the number has too many digits", start, cursor.position)
        if text.startswith(("0x", "-0x")) and isinstance(type_, ArrayShape) and type_.element_type.is_floating:
            try:
                return float(dense(text, type_))
            except DenseError as error:
                raise cursor.error("XP123", str(error), start) from None
        whole = text.startswith(("0x", "-0x")) or text.lstrip("-").isdecimal()
        return int(text, 0 if "x" in text else 10) if whole else float(text)

    def _word(self, start: int) -> Any:
        cursor = self.cursor
        word = cursor.match(NAME)
        if word is None:
            cursor.unexpected("an attribute")
        reader = _WORDS.get(word.group())
        if reader is not None:
            return reader(self, start)
        cursor.position = start
        found = parse_type(cursor)
        return found.text if isinstance(found, Unread) else found  # a word of an enumeration

    def _dense(self, start: int) -> Any:
        """``<..> : type`` behind the word ``dense``."""
        cursor = self.cursor
        cursor.expect("<", "behind `dense`")
        inside = cursor.position
        string = _DENSE_STRING.match(cursor.text, inside)
        end = string.end() if string is not None else cursor.text.find(">", inside)
        if end < 0 or not cursor.text.startswith(">", end):
            if string is not None and cursor.text.startswith(",", end):  # several strings
                cursor.position = inside - 1
                return self._unread(start)
            raise cursor.error("XP103", "this literal is never closed: the text ends before", start, inside)
        cursor.position = end + 1
        shape = self._literal_type()
        text = cursor.text[inside:end]
        if not isinstance(shape, ArrayShape) or (string is not None and not text.strip().startswith('"0x')):
            return Unread(cursor.text[start : cursor.position])
        try:
            return dense(text, shape)
        except DenseError as error:
            raise cursor.error("XP131", str(error), inside, end) from None

    def _literal_type(self) -> Any:
        self.cursor.expect(":", "before the type of the literal")
        return parse_type(self.cursor)

    def _dense_resource(self, start: int) -> Any:
        cursor = self.cursor
        cursor.expect("<", "behind `dense_resource`")
        name = cursor.expect_match(_DENSE_RESOURCE, "the name of a resource").strip().strip('"')
        cursor.expect(">")
        shape = self._literal_type()
        raw = self.resource(name)
        if raw is None:
            raise cursor.error("XP130", f"the text does not have the resource {quote(name)}", start)
        if not isinstance(shape, ArrayShape):
            return Unread(name)
        try:
            return from_bytes(raw, shape)
        except DenseError as error:
            raise cursor.error("XP131", str(error), start) from None

    def _array(self, start: int) -> tuple[Any, ...]:
        """``<i64: 1, 2>`` behind the word ``array``."""
        cursor = self.cursor
        cursor.expect("<", "behind `array`")
        parse_type(cursor)
        items: list[Any] = []
        if cursor.accept(":"):
            items.append(self.read())
            while cursor.accept(","):
                items.append(self.read())
        cursor.expect(">", "to close the array")
        return tuple(items)

    def _unread(self, start: int) -> Unread:
        cursor = self.cursor
        if cursor.text[cursor.skip() : cursor.position + 1] in ("<", "[", "("):
            balanced(cursor)
        if cursor.accept(":"):
            parse_type(cursor)
        return Unread(cursor.text[start : cursor.position])

    def _hash(self) -> Any:
        """``#alias``, ``#stablehlo<precision DEFAULT>``, ``#stablehlo.gather<..>``, or what another dialect says."""
        cursor = self.cursor
        start = cursor.skip()
        found = cursor.match(_DIALECT)
        follows = cursor.text[cursor.position : cursor.position + 1]
        if found is None or (not found[2] and follows != "<"):
            cursor.position = start
            return self.alias(cursor.expect_match(_NUMBERED, "an attribute")[1:])
        if follows != "<":
            return Unread(found.group())
        if found[1] not in _OWN_DIALECTS:
            balanced(cursor)
            return Unread(cursor.text[start : cursor.position])
        return self.in_angles()

    def in_angles(self) -> Any:
        """``<DEFAULT>``, ``<precision DEFAULT>``, ``<key = value>``, or the labels of a convolution."""
        cursor = self.cursor
        start = cursor.skip()
        word = _WORD_IN_ANGLES.match(cursor.text, start)
        if word is not None:
            cursor.position = word.end()
            return word[1]
        if _STRUCT.match(cursor.text, start):
            cursor.expect("<")
            return self._entries(start, ">")
        return convolution_labels(balanced(cursor)[1:-1])


def attribute_of(text: str) -> Any:
    """The attribute that a text of its own is. Raises ``HloSyntaxError``."""
    return AttributeReader(Cursor(SourceText(text))).read()


def convolution_labels(text: str) -> Any:
    """``[b, f, 0]x[o, i, 0]->[b, f, 0]`` as HLO writes it, ``bf0_oi0->bf0``; any other text unread."""
    found = _CONVOLUTION.fullmatch(text)
    if found is None:
        return Unread(text)
    left, kernel, result = ("".join(part.replace(",", " ").split()) for part in found.groups())
    return f"{left}_{kernel}->{result}"


def symbol_name(text: str) -> str:
    """``@"a b"`` as the name that it is."""
    name = text[1:]
    found = _STRING.match(name)
    return unquoted(found[1]) if found is not None else name


_READERS: dict[str, Callable[[AttributeReader], Any]] = {  # by the first character
    '"': AttributeReader._string,
    "[": AttributeReader._list,
    "{": AttributeReader.dictionary,
    "@": AttributeReader._symbol,
    "#": AttributeReader._hash,
    "<": AttributeReader.in_angles,
    "!": lambda reader: parse_type(reader.cursor),
    "(": lambda reader: parse_type(reader.cursor),
}
_WORDS: dict[str, Callable[[AttributeReader, int], Any]] = {
    "true": lambda reader, start: True,
    "false": lambda reader, start: False,
    "unit": lambda reader, start: True,
    "dense": AttributeReader._dense,
    "dense_resource": AttributeReader._dense_resource,
    "array": AttributeReader._array,
    **dict.fromkeys(
        ("affine_map", "affine_set", "sparse", "strided", "opaque", "loc", "distinct"), AttributeReader._unread
    ),
}


def integers(value: Any) -> tuple[int, ...] | None:
    """The integers that an attribute lists, in any of MLIR's forms; None where it lists none."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
        return tuple(map(int, value.ravel().tolist()))
    if isinstance(value, tuple) and all(isinstance(part, int) and type(part) is not bool for part in value):
        return value
    return None


__all__ = ["NAME", "SYMBOL", "AttributeReader", "Shape", "convolution_labels", "integers", "symbol_name"]
