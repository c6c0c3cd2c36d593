"""The kinds of parameters that operations have."""

from __future__ import annotations

from typing import Any

from ..operation import Parameter


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _are_ints(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(_is_int(item) for item in value)


def _are_pairs(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(_are_ints(item) and len(item) == 2 for item in value)


INT = Parameter("an int", _is_int)
INTS = Parameter("ints", _are_ints)
INT_OR_INTS = Parameter("an int or several", lambda value: _is_int(value) or _are_ints(value))
PAIRS = Parameter("pairs of ints", _are_pairs)
FLAG = Parameter("True or False", lambda value: isinstance(value, bool))
WORD = Parameter("a word", lambda value: isinstance(value, str))
AXIS = Parameter("an axis", lambda value: _is_int(value) and value >= 0)
AXES = Parameter(
    "axes", lambda value: _are_ints(value) and len(set(value)) == len(value) and min(value, default=0) >= 0
)
INDEX = Parameter("the items of an index", lambda value: isinstance(value, tuple))
ANY = Parameter("anything", lambda value: True)
