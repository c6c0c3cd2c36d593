"""The notation for arguments of a function: ``f32[B,64], (int32[], {'w': bfloat16[8]})``.

Element types have HLO's names, NumPy's or JAX's short ones; sizes are numbers, or names of free sizes. A type without
brackets is a number. Tuples, lists and dicts nest. Any other word is an object of the function's module that has the
types, or a call that returns one: ``params``, ``Cell.initial_state(B, 64)``. ``weights`` is the pytree of the arrays
of a checkpoint.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..dataclass import dataclass
from ..hlo.element_types import ELEMENT_TYPES, ElementType
from ..hlo.lexer import INTEGER, Cursor, quote
from ..hlo.shape_parser import parse_layout
from ..hlo.source import SourceText
from .jax import WIDE

_NAMES: dict[str, ElementType] = {
    **{element_type.dtype.name: element_type for element_type in ELEMENT_TYPES.values()},
    **{f"i{bits}": ELEMENT_TYPES[f"s{bits}"] for bits in (8, 16, 32, 64)},
    **ELEMENT_TYPES,
}
_WORD = re.compile(r"[A-Za-z]\w*", re.ASCII)
_WAY = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_KEY = re.compile(r"""'[^'\\\n]*'|"[^"\\\n]*\"""")

Sizes = Mapping[str, int]  # numbers by the names of free sizes
Arguments = tuple[Any, ...]  # of :class:`Argument`, :class:`Named`, ``WEIGHTS``, and tuples, lists and dicts of such
WEIGHTS = "weights"


@dataclass(frozen=True, slots=True)
class Argument:
    """An array of some element type."""

    element_type: ElementType
    sizes: tuple[int | str, ...]

    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        """Return the shape for these values of the free sizes."""
        return tuple(sizes[size] if isinstance(size, str) else size for size in self.sizes)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the free sizes."""
        return tuple(size for size in self.sizes if isinstance(size, str))

    @property
    def is_wide(self) -> bool:
        """Whether JAX has the element type only with 64 bits enabled."""
        return self.element_type.dtype in WIDE


@dataclass(frozen=True, slots=True)
class Named:
    """An object of the function's module, or what it returns when it is called with these sizes."""

    way: str
    sizes: tuple[int | str, ...] | None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the free sizes."""
        return tuple(size for size in self.sizes or () if isinstance(size, str))


def shown_sizes(sizes: Sizes) -> str:
    """Return sizes for people: ``B = 3, T = 5``."""
    return ", ".join(f"{name} = {number}" for name, number in sizes.items())


def parse_arguments(text: str, start: int, end: int) -> Arguments:
    """Return the arguments in ``text`` from ``start`` to ``end``.

    Raises ``HloSyntaxError`` with a place in the whole text: XP102 and XP103 for unexpected text, XP106 for an unknown
    element type.
    """
    cursor = Cursor(SourceText(text, text), start)
    found = tuple(_listed(cursor, end))
    if cursor.skip() != end:
        raise cursor.error("XP102", "a comma or the end of the arguments is expected", cursor.position, end)
    return found


def leaves(arguments: Arguments) -> Iterator[Any]:
    """Yield the leaves of the arguments, in order: :class:`Argument`, :class:`Named` or ``WEIGHTS``."""
    for each in arguments:
        if isinstance(each, tuple | list | dict):
            yield from leaves(tuple(each.values() if isinstance(each, dict) else each))
        else:
            yield each


def filled(argument: Any, fill: Callable[[Any], Any]) -> Any:
    """Return an argument with ``fill(each)`` in place of each leaf (:func:`leaves`)."""
    if isinstance(argument, dict):
        return {key: filled(each, fill) for key, each in argument.items()}
    if isinstance(argument, tuple | list):
        return type(argument)(filled(each, fill) for each in argument)
    return fill(argument)


def _listed(cursor: Cursor, end: int | None = None, close: str = ")") -> Iterator[Any]:
    if cursor.skip() == end or cursor.looking_at(close):
        return
    yield _argument(cursor)
    while cursor.accept(","):
        if cursor.looking_at(close):
            return
        yield _argument(cursor)


def _argument(cursor: Cursor) -> Any:
    start = cursor.skip()
    found = next((each for each in _CONTAINERS if cursor.accept(each)), None)
    if found is None:
        return _leaf(cursor)
    close, name, parsed = _CONTAINERS[found]
    cursor.enter(start)
    parts = parsed(cursor)
    cursor.expect(close, f"to close the {name}")
    cursor.leave()
    return parts


def _dict(cursor: Cursor) -> dict[str, Any]:
    found: dict[str, Any] = {}
    while not cursor.looking_at("}"):
        start = cursor.skip()
        key = cursor.expect_match(_KEY, "a key in quotes")[1:-1]
        if key in found:
            raise cursor.error("XP102", f"the key {quote(key)} stands twice", start, cursor.position)
        cursor.expect(":", "behind a key")
        found[key] = _argument(cursor)
        if not cursor.accept(","):
            break
    return found


_CONTAINERS: dict[str, tuple[str, str, Callable[[Cursor], Any]]] = {
    "(": (")", "tuple", lambda cursor: tuple(_listed(cursor))),
    "[": ("]", "list", lambda cursor: list(_listed(cursor, close="]"))),
    "{": ("}", "dict", _dict),
}


def _leaf(cursor: Cursor) -> Any:
    start = cursor.skip()
    name = cursor.expect_match(_WAY, "an element type")
    if name == WEIGHTS:
        return WEIGHTS
    element_type = _NAMES.get(name)
    if element_type is None and not cursor.looking_at("["):
        return Named(name, _sizes(cursor, ")") if cursor.accept("(") else None)
    if element_type is None:
        hint = f"known types: {', '.join(ELEMENT_TYPES)}; or NumPy's and JAX's names: float32, int32, i32, bool, .."
        raise cursor.error("XP106", f"unknown element type {quote(name)}", start, start + len(name), hint)
    if not cursor.accept("["):
        return Argument(element_type, ())
    sizes = _sizes(cursor, "]")
    if cursor.looking_at("{"):
        parse_layout(cursor, len(sizes))
    return Argument(element_type, sizes)


def _sizes(cursor: Cursor, close: str) -> tuple[int | str, ...]:
    sizes = [] if cursor.looking_at(close) else [_size(cursor)]
    while cursor.accept(","):
        sizes.append(_size(cursor))
    cursor.expect(close)
    return tuple(sizes)


def _size(cursor: Cursor) -> int | str:
    number = None if cursor.looking_at("-") else cursor.match(INTEGER)
    if number is not None:
        return int(number.group())
    return cursor.expect_match(_WORD, "a size, or the name of one")
