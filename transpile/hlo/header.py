"""The part of a module before its computations: the ``HloModule`` line and the tables of Python stack frames."""

from __future__ import annotations

import re
from typing import Any

from ..dataclass import dataclass
from .attribute_parsers import TEXT_PARSERS
from .attributes import AttributeKind as K
from .ir import StackFrame, legal_name
from .lexer import STRING, Cursor, quote, unescape
from .parser_state import did_you_mean
from .shape_parser import parse_shape
from .shapes import Shape
from .source import Diagnostic, Span

HEADER_ATTRIBUTES: dict[str, K | None] = {
    "is_scheduled": K.BOOL,
    "entry_computation_layout": None,  # an EntryComputationLayout
    "input_output_alias": K.RAW,
    "buffer_donor": K.RAW,
    "allow_spmd_sharding_propagation_to_parameters": K.BOOLS,
    "allow_spmd_sharding_propagation_to_output": K.BOOLS,
    "use_auto_spmd_partitioning": K.BOOL,
    "alias_passthrough_params": K.BOOL,
    "replica_count": K.INTEGER,
    "num_partitions": K.INTEGER,
    "frontend_attributes": K.RAW,
    "origin_recovery_table": K.RAW,
    "debug_attributes": K.RAW,
}

_MODULE_NAME = re.compile(r"%?(?!ENTRY\b)[\w.\-]++(?!\s*[{(])", re.ASCII)
_ATTRIBUTE = re.compile(r"([\w.\-]+)\s*=", re.ASCII)
_SIMPLE_VALUE = re.compile(r'[^\s,(){}"]+|"(?:[^"\\]++|\\[\s\S])*+"')
_TABLE = re.compile(r"(FileNames|FunctionNames|FileLocations|StackFrames)\b(?=\s*\d)")
_STRING_ROW = re.compile(r"(\d{1,9})\s*" + STRING.pattern)
_RECORD_ROW = re.compile(r"(\d{1,9})\s*+\{((?:\s*+\w++\s*+=\s*+-?\d{1,18}+\b\s*+,?+)*+)\s*+\}")
_FIELDS = {
    "FileLocations": {"file_name_id", "function_name_id", "line", "end_line", "column", "end_column"},
    "StackFrames": {"file_location_id", "parent_frame_id"},
}
_FIELD = re.compile(r"(\w+)\s*=\s*(-?\d+)")


@dataclass(frozen=True, slots=True)
class EntryComputationLayout:
    """``{(f32[4]{0})->f32[4]{0}}``: the shapes and layouts of the arguments and the result of the entry."""

    parameters: tuple[Shape, ...]
    result: Shape

    def __str__(self) -> str:
        return f"{{({', '.join(map(str, self.parameters))})->{self.result}}}"


def parse_header(cursor: Cursor, notes: list[Diagnostic]) -> tuple[str, dict[str, Any]]:
    """Return the name and the attributes after the word ``HloModule``. Old dumps have a colon behind the name.

    Unknown attributes go to ``notes``: no instruction depends on them.
    """
    match = cursor.match(_MODULE_NAME)
    cursor.accept(":")
    name = legal_name(match.group().removeprefix("%")) if match else ""
    attributes: dict[str, Any] = {}
    while cursor.accept(","):
        match = cursor.match(_ATTRIBUTE)
        if match is None:
            cursor.unexpected("an attribute of the module")
        key = match[1]
        if key not in HEADER_ATTRIBUTES:
            guess = did_you_mean(key, HEADER_ATTRIBUTES)
            hint = guess or f"known: {', '.join(HEADER_ATTRIBUTES)}"
            error = cursor.error("XP120", f"a module has no attribute {quote(key)}", *match.span(1), hint)
            if guess:
                raise error
            cursor.pass_value(key)
            notes += error.diagnostics
            continue
        if key in attributes:
            raise cursor.error("XP121", f"the attribute {quote(key)} is given twice", match.start(1), match.end(1))
        kind = HEADER_ATTRIBUTES[key]
        attributes[key] = _entry_layout(cursor) if kind is None else parse_text_value(cursor, key, kind)
    return name, attributes


def parse_text_value(cursor: Cursor, key: str, kind: K) -> Any:
    """Return the value of an attribute whose kind is read from its text alone."""
    start = cursor.skip()
    if cursor.looking_at("{"):
        text = cursor.balanced()
    else:
        text = cursor.expect_match(_SIMPLE_VALUE, f"the value of {quote(key)}")
    try:
        return TEXT_PARSERS[kind](text)
    except ValueError as complaint:
        raise cursor.error("XP123", f"{quote(key)} {complaint}", start) from None


def _entry_layout(cursor: Cursor) -> EntryComputationLayout:
    cursor.expect("{")
    cursor.expect("(", "before the parameter shapes")
    parameters: list[Shape] = []
    while not cursor.accept(")"):
        if parameters:
            cursor.expect(",", "between parameter shapes")
        parameters.append(parse_shape(cursor))
    cursor.expect("->", "before the result shape")
    result = parse_shape(cursor)
    cursor.expect("}", "after the entry computation layout")
    return EntryComputationLayout(tuple(parameters), result)


def parse_stack_frames(cursor: Cursor) -> tuple[StackFrame, ...]:
    """Return the frames of the four stack tables, if any; each frame has its parent's number."""
    strings: dict[str, dict[int, str]] = {"FileNames": {}, "FunctionNames": {}}
    records: dict[str, dict[int, dict[str, int]]] = {"FileLocations": {}, "StackFrames": {}}
    span = Span(cursor.position, cursor.position)
    while (table := cursor.match(_TABLE)) is not None:
        name = table[1]
        span = Span(*table.span(1))
        if name in strings:
            while (row := cursor.match(_STRING_ROW)) is not None:
                strings[name][int(row[1])] = unescape(row[2])
        else:
            while (row := cursor.match(_RECORD_ROW)) is not None:
                fields = {key: int(value) for key, value in _FIELD.findall(row[2])}
                if not fields.keys() <= _FIELDS[name]:
                    message = f"a row of {name} has the fields {', '.join(sorted(_FIELDS[name]))}"
                    raise cursor.error("XP124", message, row.start(2), row.end(2))
                records[name][int(row[1])] = fields
    frames = records["StackFrames"]
    fault = _parent_fault(frames)
    if fault:
        raise cursor.error("XP124", fault, *span)
    return tuple(
        _frame(frames[number], records["FileLocations"], strings["FileNames"], strings["FunctionNames"])
        for number in range(1, len(frames) + 1)
    )


def _frame(
    frame: dict[str, int], locations: dict[int, dict[str, int]], files: dict[int, str], functions: dict[int, str]
) -> StackFrame:
    location = locations.get(frame.get("file_location_id", 0), {})
    return StackFrame(
        files.get(location.get("file_name_id", 0), ""),
        functions.get(location.get("function_name_id", 0), ""),
        location.get("line", 0),
        location.get("end_line", 0),
        location.get("column", 0),
        location.get("end_column", 0),
        max(frame.get("parent_frame_id", 0) - 1, 0),  # in the table, parent 1 stands for none
    )


def _parent_fault(frames: dict[int, dict[str, int]]) -> str | None:
    """Return the problem with the frames, if any: they must be numbered 1, 2, .., and every chain of callers must
    end.
    """
    if set(frames) != set(range(1, len(frames) + 1)):
        return "the stack frames are not numbered 1, 2, 3, .."
    ends_well = {0}
    for number in frames:
        path: set[int] = set()
        while number not in ends_well:
            if number in path:
                return f"stack frame {number} is its own caller"
            if number not in frames:
                return f"there is no stack frame {number}, but a frame names it as its caller"
            path.add(number)
            number = max(frames[number].get("parent_frame_id", 0) - 1, 0)
        ends_well |= path
    return None
