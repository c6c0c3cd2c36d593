"""Lines that are alike: one that was read is a template for others of other names, or of other types, too."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..dataclass import dataclass
from ..hlo.lexer import STRING, Cursor
from ..hlo.source import HloSyntaxError, SourceText
from .program import Argument, FunctionType, Type
from .types import TENSOR, parse_type

VALUE = re.compile(r"%[\w$.\-]++(?:#\d++)?", re.ASCII)
LONGEST = 2000  # characters: longer lines hold literals that are not alike

_NAMES = re.compile(rf"({VALUE.pattern})", re.ASCII)
_FUNCTION = re.compile(r"(?:func\.func [^@]*+|[^@]*+(?<=[ .]call ))@([\w$.\-]++)(?!::)", re.ASCII)
_TYPES = re.compile(rf"({TENSOR.pattern})")


@dataclass(slots=True)
class Template:
    """What a line says apart from names: which of them are operands, and what the operation is."""

    name: str
    counts: tuple[int, ...]  # of results, by their names
    order: tuple[int, ...]  # of the names that are operands
    symbol: int | None  # of the names, that of a function
    attributes: dict[str, Any]
    types: tuple[Type, ...]
    arguments: Sequence[tuple[int, Argument]] | None = None  # of the names, where the line opens regions


class Templates:
    """The templates of a text, ``by_parts``: what stands between names. ``types`` are those that their texts are."""

    def __init__(self, types: dict[str, Any]) -> None:
        self.by_parts: dict[tuple[str, ...], Template] = {}
        self._by_kind: dict[tuple[str, ...], Template] = {}  # by what stands between names and types
        self._types = types

    def keep(self, line: str, names: Sequence[str], template: Template, count: int | None) -> None:
        """Keep a line as a template; for lines of other types, too, if it names none but its last ``count`` ones."""
        if '"' in line and any("%" in string for string in STRING.findall(line)):
            return
        parts = split(line)
        if parts[1::2] != names:
            return
        key = tuple(parts[::2])
        self.by_parts[key] = template
        parts, types = _TYPES.split("\0".join(key)), template.types
        shapes = [self._types.get(each) for each in parts[1::2]]
        is_last = len(shapes) >= len(types) and all(a is b for a, b in zip(types[::-1], shapes[::-1], strict=False))
        if is_last and len(shapes) == count and "!" not in line:
            self._by_kind[tuple(parts[::2])] = template

    def of_kind(self, key: tuple[str, ...]) -> Template | None:
        """The template of a line that differs from another one in types, too; None where there is none."""
        parts = _TYPES.split("\0".join(key))
        kind = self._by_kind.get(tuple(parts[::2]))
        if kind is None:
            return None
        try:
            types = tuple(map(self._type, parts[1::2][-len(kind.types) :] if kind.types else ()))
        except HloSyntaxError:
            return None  # the general way says where
        made = Template(kind.name, kind.counts, kind.order, kind.symbol, kind.attributes, types)
        self.by_parts[key] = made
        return made

    def _type(self, text: str) -> Type:
        if text not in self._types:
            self._types[text] = parse_type(Cursor(SourceText(text)))
        found: Type = self._types[text]
        return found


def split(line: str) -> list[str]:
    """What is alike in lines of one form, and between the parts the names in this one: of values, and of the function
    that is called or defined.
    """
    function = _FUNCTION.match(line) if "@" in line else None
    if function is None:
        return _NAMES.split(line)
    start, end = function.span(1)
    return [*_NAMES.split(line[:start]), line[start:end], *_NAMES.split(line[end:])]


def width(type_: Type) -> int:
    """How many types a type is made of."""
    return len(type_.inputs) + len(type_.results) if isinstance(type_, FunctionType) else 1
