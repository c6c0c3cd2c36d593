"""What is decided of a program before it is translated: its function, its platform, sizes, what is left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ..hlo.lexer import quote
from ..hlo.parser_state import did_you_mean
from ..hlo.shapes import ArrayShape
from ..hlo.source import Diagnostic, HloSyntaxError, SourceText
from .program import Location, Operation, Program, Unread

MAIN = "main"
_PLATFORM_INDEX = "_platform_index"
_GLOBAL_CONSTANT = "jax.global_constant"
_KNOWN = frozenset(("sdy", "mpmd", "stablehlo", "chlo", "mhlo", "vhlo"))
_DIALECT = re.compile(r"[#!]([A-Za-z_][\w$]*)", re.ASCII)


def functions_of(program: Program) -> dict[str, Operation]:
    """The functions of a program by name."""
    return {str(each.attributes.get("sym_name")): each for each in program.functions}


def main_function(program: Program, name: str | None, source: SourceText) -> Operation:
    """The function of a name, ``main``, or the only public one. Raises ``HloSyntaxError`` (XP116) where none is."""
    functions = functions_of(program)
    if name is not None and name not in functions:
        close = did_you_mean(name, functions) or f"it has {', '.join(functions) or 'none'}"
        raise HloSyntaxError(Diagnostic("XP116", f"the program has no function {quote(name)}", None, source, close))
    if name is not None or MAIN in functions:
        return functions[name or MAIN]
    public = [key for key, each in functions.items() if each.attributes.get("sym_visibility", "public") == "public"]
    if len(public) != 1:
        found = f"{len(public)}: {', '.join(public)}" if public else "none"
        message = f"a program without a function `main` has one that is public; this has {found}"
        hint = "--function NAME takes one of them" if public else None
        raise HloSyntaxError(Diagnostic("XP116", message, None, source, hint))
    return functions[public[0]]


def choose_platform(function: Operation, platform: int | None) -> None:
    """Put the number of a platform in place of the argument that says it, or name that argument."""
    if not function.regions:
        return
    region = function.regions[0]
    rows = [each.attributes or {} for each in region.arguments]
    found = next((k for k, row in enumerate(rows) if row.get(_GLOBAL_CONSTANT) == _PLATFORM_INDEX), None)
    if found is None:
        return
    argument = region.arguments[found]
    if platform is None or not isinstance(argument.type, ArrayShape):
        argument.location = Location("name", _PLATFORM_INDEX.strip("_"), parts=(Location("unknown"),))
        return
    del region.arguments[found]
    value = np.full(argument.type.dimensions, platform, argument.type.element_type.dtype)
    constant = Operation("stablehlo.constant", [], [argument], {"value": value}, [], None, function.span)
    region.operations.insert(0, constant)


def left_out(program: Program, operations: Iterable[Operation], source: SourceText) -> list[Diagnostic]:
    """A note for each attribute of a dialect that nobody here knows. ``operations`` are those in functions."""
    rows = [each.attributes for each in (*program.operations, *operations)]
    functions = (row for each in program.functions for row in _rows(each))
    items = (item for row in (*rows, *functions, program.attributes) for item in row.items())
    names = sorted({name for name, value in items if "." in name and _is_unknown(value)})
    return [Diagnostic("XP120", f"no known dialect has the attribute '{each}'", None, source) for each in names]


def _rows(function: Operation) -> Iterator[Mapping[str, Any]]:
    """The attributes of a function's arguments and results."""
    for region in function.regions:
        yield from (each.attributes for each in region.arguments if each.attributes)
    listed = function.attributes.get("res_attrs")
    yield from (row for row in listed if isinstance(row, dict)) if isinstance(listed, tuple) else ()


def _is_unknown(value: Any) -> bool:
    """Tell whether an attribute, or a part of it, is in the words of a dialect that nobody here knows."""
    waiting, seen = [value], set[int]()  # an alias stands for the same object wherever it is named
    while waiting:
        each = waiting.pop()
        if isinstance(each, (tuple, dict)):
            parts = each.values() if isinstance(each, dict) else each
            waiting += parts if id(each) not in seen else ()
            seen.add(id(each))
        elif isinstance(each, Unread) and (found := _DIALECT.match(each.text)) and found[1] not in _KNOWN:
            return True
    return False
