"""Reads the rows of ``rows.toml``: one for each operation of the array dialect, by topic.

``operands`` are their names, the last stands for any number of operands if it begins with ``*``; ``names`` are the
default names of the results, ``after`` those from names of operands, ``traits`` the flags of an ``Operation`` that are
set (without ``is_``), ``parameters`` have words of :mod:`.parameters`, with ``?`` if they are optional. The rules have
the names of functions: of the module of the topic, or of :mod:`.inference`, :mod:`.axes`, :mod:`..intervals` and
:mod:`..magnitudes`; ``type`` may also be an element type, or ``given`` by the code that makes a node. ``exact`` gives
the interval of the results of Python's integers.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from ...hlo.element_types import ELEMENT_TYPES
from .. import intervals, magnitudes
from ..operation import Operation, Parameter
from . import axes, inference, parameters

# The modules with the rules of each column, beside the topic's.
_RULES: dict[str, tuple[ModuleType, ...]] = {
    "shape": (inference,),
    "type": (inference,),
    "results": (),
    "interval": (inference, intervals),
    "magnitude": (magnitudes,),
    "python_int": (),
    "exact": (intervals,),
    "axes": (axes,),
    "rounds": (),
}
_COLUMNS = {"type": "element_type", "names": "default_names", "after": "names_after"}


def rows_of(topic: ModuleType, **shared: Any) -> dict[str, Operation]:
    """Return the rows of the topic of a module; ``shared`` are columns of all of them that do not give their own."""
    rows = _tables()[topic.__name__.rpartition(".")[2]]
    return {name: Operation(name, **shared | _columns(row, topic)) for name, row in rows.items()}


@cache
def _tables() -> dict[str, dict[str, dict[str, Any]]]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def _columns(row: dict[str, Any], topic: ModuleType) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for column, value in row.items():
        if column == "traits":
            found |= flags(value.split())
        elif column == "parameters":
            found[column] = {name: _parameter(word) for name, word in value.items()}
        elif column in _RULES:
            found[_COLUMNS.get(column, column)] = _rule(column, value, topic)
        elif column in ("operands", "names"):
            found[_COLUMNS.get(column, column)] = tuple(value.split())
        else:
            found[_COLUMNS.get(column, column)] = tuple(value) if column == "after" else value
    return found


def flags(words: Iterable[str]) -> dict[str, Any]:
    """Return the flags of an ``Operation`` that words without ``is_`` set."""
    return {word if word in Operation.__dataclass_fields__ else f"is_{word}": True for word in words}


def _rule(column: str, word: str, topic: ModuleType) -> Any:
    if word == "given":
        return None
    if column == "type" and word in ELEMENT_TYPES:
        return lambda operands, parameters: ELEMENT_TYPES[word]
    modules = _RULES[column] if column in ("magnitude", "exact") else (topic, *_RULES[column])
    return next(getattr(module, word) for module in modules if hasattr(module, word))


def _parameter(word: str) -> Parameter:
    kind: Parameter = getattr(parameters, word.rstrip("?").upper())
    return kind.optional if word.endswith("?") else kind
