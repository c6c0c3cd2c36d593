"""Portable artefacts of StableHLO: bytecode of VHLO, in which each operation has its version, as a program."""

from __future__ import annotations

import re
from typing import Any

from ..collection import collection_paused
from ..errors import Diagnostic, UsageError
from ..hlo.lexer import Cursor
from ..hlo.source import HloSyntaxError, SourceText
from .attributes import attribute_of
from .bytecode import BytecodeFile
from .encodings import decode
from .program import FunctionType, Operation, Program, Unread, walk
from .shardy_encodings import bare
from .types import parse_type

_VERSION = re.compile(r"_v\d+$")
_OF_ONE_VERSION = ("func.", "stablehlo.")  # operations that do not say a version
_PORTABLE = "stablehlo.serialize_portable_artifact writes one, and lowered.as_text() a text"
_NAMES = {"func": "func.func", "call": "func.call"}


@collection_paused()
def read_artifact(content: bytes, name: str) -> Program:
    """The program in an artefact; ``name`` is what errors call it. Raises ``UsageError`` (XP431)."""
    file = BytecodeFile(content, name, decode, _parsed)
    operations = file.operations()
    module = next((each for each in operations if each.name == "builtin.module"), None)
    attributes = module.attributes if module is not None else {}
    inner = module.regions[0].operations if module is not None and module.regions else operations
    for operation in walk(inner):
        if operation.name.startswith(_OF_ONE_VERSION):
            message = f"this is bytecode for one version of MLIR ({file.producer}), not a portable artifact"
            raise UsageError(Diagnostic("XP431", message, None, SourceText("", name), _PORTABLE))
        _to_stablehlo(operation)
    own = str(attributes.get("sym_name", ""))
    return Program(own, {key: value for key, value in attributes.items() if key != "sym_name"}, inner, [])


def _parsed(text: str, is_type: bool) -> Any:
    """An attribute or a type that the file has as a text; what cannot be read stays one."""
    try:
        return parse_type(Cursor(SourceText(text))) if is_type else attribute_of(text)
    except HloSyntaxError:
        return Unread(text)


def _to_stablehlo(operation: Operation) -> None:
    """Give an operation the name and the attributes that the text has."""
    dialect, _, name = operation.name.partition(".")
    if dialect == "vhlo":
        name = _VERSION.sub("", name)
        operation.name = _NAMES.get(name, f"stablehlo.{name}")
    if dialect == "sdy" and name != "mesh":
        for key, value in operation.attributes.items():
            operation.attributes[key] = bare(value) if isinstance(value, Unread) else value
    if operation.name != "func.func":
        return
    attributes = operation.attributes
    rows = attributes.get("arg_attrs")
    arguments = operation.regions[0].arguments if operation.regions else []
    for argument, row in zip(arguments, rows if isinstance(rows, tuple) else (), strict=False):
        argument.attributes = row if isinstance(row, dict) else None
    if not isinstance(attributes.get("function_type"), FunctionType):
        attributes["function_type"] = FunctionType(tuple(each.type for each in arguments), ())
