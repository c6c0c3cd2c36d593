"""The configuration of a custom call: the fields that a row of the table declares, read from its text.

The text of ``backend_config`` is JSON (XLA's own calls), a dictionary of typed attributes (calls through XLA's foreign
function interface), either of them in a quoted string or inside the JSON of a backend, or plain text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any

from ...dataclass import dataclass
from ..attributes import Raw
from ..lexer import quote, unescape

REQUIRED = object()
TEXT = ""  # the name of the whole text, if it is neither JSON nor a dictionary

_TYPED_ATTRIBUTES = (("custom_call_backend_config", "attributes"), ("custom_call_config", "attributes"))
_ENTRY = re.compile(
    r"\s*(?P<name>[A-Za-z_][\w.\-]*+)\s*"
    r'(?:=\s*(?P<value>"(?:[^"\\]|\\[\s\S])*+"|\w+<[^<>]*+>|[-+.\w]++)\s*(?::\s*(?P<type>\w++)\s*)?)?(?:,|\Z)'
)
_LONGEST_NUMBER = 40  # characters of one number


class ConfigError(ValueError):
    """A fault of a custom call, as the end of a sentence that begins with its target."""


class Kind(Enum):
    """The form of a field's value in the text."""

    LETTER = "letter"  # str of one character, written as its code
    FLAG = "flag"  # bool
    INTEGER = "integer"  # int
    NUMBER = "number"  # float
    INTEGERS = "integers"  # tuple[int, ...]
    WORD = "word"  # str
    ANY = "any"  # anything: it does not affect the result


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its form, its default, and its valid values (any if empty)."""

    kind: Kind
    default: Any = REQUIRED
    choices: tuple[Any, ...] = ()

    def read(self, name: str, given: Mapping[str, Any]) -> Any:
        """Return the value of the field ``name``. Raises ConfigError if it is missing or invalid."""
        if name not in given or given[name] is None:
            if self.default is REQUIRED:
                raise ConfigError(f"needs {_shown(name)}{self._one_of()}")
            return self.default
        value = _READERS[self.kind](given[name])
        if value is None or (self.choices and value not in self.choices):
            wanted = self._one_of() or f", {_ARTICLES[self.kind]}"
            raise ConfigError(f"cannot take {quote(str(given[name]))} for {_shown(name)}{wanted}")
        return value

    def _one_of(self) -> str:
        return f", one of {', '.join(map(str, self.choices))}" if self.choices else ""


def letter(choices: str) -> Field:
    """Return a required field for one character of ``choices``."""
    return Field(Kind.LETTER, choices=tuple(choices))


def flag(default: Any = REQUIRED) -> Field:
    return Field(Kind.FLAG, default)


def integer(default: Any = REQUIRED) -> Field:
    return Field(Kind.INTEGER, default)


def number(default: float) -> Field:
    return Field(Kind.NUMBER, default)


def integers() -> Field:
    """Return a field for whole numbers; empty by default."""
    return Field(Kind.INTEGERS, ())


def word(default: Any, *choices: str) -> Field:
    return Field(Kind.WORD, default, choices)


ANYTHING = Field(Kind.ANY, None)


def read_fields(raw: Raw | None, fields: Mapping[str, Field], envelopes: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the values of ``fields`` in a ``backend_config``. Raises ConfigError.

    A field of a nested JSON object is named ``outer.inner``. ``envelopes`` names the objects of a backend's JSON that
    may hold the fields. Attributes of a foreign function are its arguments, so unknown ones are an error.
    """
    given, is_closed = _entries(raw, envelopes)
    unknown = [name for name in given if name not in fields]
    if is_closed and unknown:
        known = f", known: {', '.join(fields)}" if fields else ""
        raise ConfigError(f"has no attribute {quote(unknown[0])}{known}")
    return {name: field.read(name, given) for name, field in fields.items()}


def _entries(raw: Raw | None, envelopes: tuple[str, ...]) -> tuple[dict[str, Any], bool]:
    """Return the values by name, and whether they are the dictionary of a foreign function."""
    text = raw.text.strip() if raw is not None else ""
    if text.startswith('"'):
        text = unescape(text[1:-1]).strip()
    if not text:
        return {}, False
    if not text.startswith("{"):
        return {TEXT: text}, False
    value = _json(text)
    if value is None:
        return dict(_typed_attributes(text)), True
    for outer, inner in _TYPED_ATTRIBUTES:
        held = value.get(outer)
        if isinstance(held, dict) and isinstance(held.get(inner), str):
            return dict(_typed_attributes(held[inner])), True
    for name in envelopes:
        if name in value:
            value = value[name]
            if not isinstance(value, dict):
                raise ConfigError(f"needs an object for {_shown(name)}")
    return dict(_flattened(value)), False


def _json(text: str) -> dict[str, Any] | None:
    """Return the JSON object in a text; None if the text is not one."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _flattened(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the fields of an object and of the objects in it, one level deep."""
    for name, inner in value.items():
        if isinstance(inner, dict) and not prefix:
            yield from _flattened(inner, f"{name}.")
        else:
            yield prefix + name, inner


def _typed_attributes(text: str) -> Iterator[tuple[str, Any]]:
    """Yield names and values of ``{uplo = 76 : ui8, left = true, mode}``; a name alone is a flag that is set."""
    text = text.strip()
    if not text.startswith("{") or not text.endswith("}"):
        raise ConfigError("has a configuration that is not a dictionary of attributes")
    body, at = text[1:-1].strip(), 0
    while at < len(body):
        match = _ENTRY.match(body, at)
        if match is None:
            raise ConfigError(f"has a configuration that cannot be read from {quote(body[at:])} on")
        value = match["value"]
        yield match["name"], True if value is None else _attribute_value(value)
        at = match.end()


def _attribute_value(text: str) -> Any:
    if text.startswith('"'):
        return unescape(text[1:-1])
    if text in ("true", "false"):
        return text == "true"
    if text.startswith("array<"):
        return [part.strip() for part in text[6:-1].partition(":")[2].split(",") if part.strip()]
    return text


# -- values; None for a value of another kind


def _read_letter(value: Any) -> str | None:
    if isinstance(value, str) and len(value) == 1 and not value.isdigit():
        return value
    code = _read_integer(value)
    return chr(code) if code is not None and 0 < code < 128 else None


def _read_integer(value: Any) -> int | None:
    """Return an integer, which protos write as a string if it has 64 bits; None for anything else."""
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,18}", value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None


def _read_number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value) if not isinstance(value, str) or len(value) <= _LONGEST_NUMBER else math.nan
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _read_integers(value: Any) -> tuple[int, ...] | None:
    found = [_read_integer(part) for part in value] if isinstance(value, list) else [None]
    return tuple(part for part in found if part is not None) if None not in found else None


_READERS: dict[Kind, Callable[[Any], Any]] = {
    Kind.LETTER: _read_letter,
    Kind.FLAG: lambda value: value if isinstance(value, bool) else None,
    Kind.INTEGER: _read_integer,
    Kind.NUMBER: _read_number,
    Kind.INTEGERS: _read_integers,
    Kind.WORD: lambda value: value if isinstance(value, str) else None,
    Kind.ANY: lambda value: value,
}
_ARTICLES = {
    Kind.LETTER: "a letter",
    Kind.FLAG: "true or false",
    Kind.INTEGER: "a whole number",
    Kind.NUMBER: "a finite number",
    Kind.INTEGERS: "a list of whole numbers",
    Kind.WORD: "a word",
}


def _shown(name: str) -> str:
    return quote(name) if name else "its configuration"
