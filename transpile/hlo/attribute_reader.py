"""The reader of the attributes after an instruction's operands, by the kinds in the opcode table."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from .attribute_parsers import TEXT_PARSERS, parse_metadata
from .attributes import AttributeKind as K, AttributeSpec
from .ir import Computation, Instruction, OpMetadata
from .lexer import STRING, Cursor, quote
from .literals import parse_shaped_literal
from .opcodes import ATTRIBUTES, COMMON_ATTRIBUTES, OPCODES
from .parser_state import ParserState, Scope, did_you_mean
from .replica_groups import parse_replica_groups

_ATTRIBUTE = re.compile(r"([A-Za-z_][\w.\-]*+)\s*=", re.ASCII)
_NEXT_ATTRIBUTE = re.compile(rf",\s*{_ATTRIBUTE.pattern}\s*", re.ASCII)  # without comments in between
_PLAIN_VALUE = re.compile(r'\{[^{}"/]*+\}|[^\s,(){}"/]++')
_PLAIN_METADATA = re.compile(r'\{(?:[^"{}/]++|"(?:[^"\\]++|\\[\s\S])*+"|\{[^{}"/]*+\})*+\}')
_STRING_OR_COMMENT = re.compile(STRING.pattern + r"|/\*[\s\S]*?\*/|//[^\n]*")
_WRITTEN_AS_OPERANDS = {"literal", "parameter_number"}  # constant(5), parameter(0)

ReadBody = Callable[[str], Computation]


class AttributeReader:
    """The reader of attributes. ``read_body`` parses a computation's ``{ .. }`` under the given name."""

    def __init__(self, state: ParserState, read_body: ReadBody) -> None:
        self._state = state
        self._read_body = read_body
        self._values: dict[tuple[K, str], Any] = {}
        self._metadata: dict[str, OpMetadata] = {}
        self._in_context: dict[K, Callable[[Scope, str], Any]] = {
            K.COMPUTATION: self._computation,
            K.COMPUTATIONS: self._computations,
            K.INSTRUCTIONS: self._instructions,
            K.SHAPE: lambda scope, owner: state.shape(),
            K.SHAPES: lambda scope, owner: state.listed(state.shape),
            K.LITERAL: lambda scope, owner: parse_shaped_literal(state.cursor),
            K.REPLICA_GROUPS: lambda scope, owner: parse_replica_groups(state.cursor),
        }

    def read(
        self, scope: Scope, name: str, opcode: str, allowed: Mapping[str, AttributeSpec]
    ) -> tuple[dict[str, Any], OpMetadata | None]:
        """Return the attributes and metadata of instruction ``name``; ``allowed`` are those of the opcode, besides
        those of any.
        """
        cursor = self._state.cursor
        attributes: dict[str, Any] = {}
        metadata = None
        while (match := cursor.match(_NEXT_ATTRIBUTE)) is not None or cursor.accept(","):
            match = match or cursor.match(_ATTRIBUTE)
            if match is None:
                cursor.unexpected("an attribute")
            key = match[1]
            spec = allowed.get(key) or COMMON_ATTRIBUTES.get(key)
            if spec is None or (key in _WRITTEN_AS_OPERANDS and opcode in ("constant", "parameter")):
                self._skip_unknown(opcode, match, allowed)
                continue
            if key in attributes or (key == "metadata" and metadata is not None):
                raise cursor.error("XP121", f"the attribute {quote(key)} is given twice", match.start(1), match.end(1))
            if key == "metadata":
                metadata = self._read_metadata()
            else:
                attributes[key] = self._value(scope, f"{name}.{key}", key, spec)
        return attributes, metadata

    def _skip_unknown(self, opcode: str, match: re.Match[str], allowed: Mapping[str, AttributeSpec]) -> None:
        """Skip an attribute that the opcode does not have, and record a note.

        Raises XP120 if the attribute may affect the computation: if the opcode has attributes that do, and if the name
        is that of another opcode's attribute or close to a known one.
        """
        names = [key for key in (*allowed, *COMMON_ATTRIBUTES) if key not in _WRITTEN_AS_OPERANDS]
        guess = did_you_mean(match[1], names)
        spec = OPCODES.get(opcode)
        error = self._state.cursor.error(
            "XP120",
            f"{opcode} has no attribute {quote(match[1])}",
            match.start(1),
            match.end(1),
            f"{guess + ' ' if guess else ''}allowed: {', '.join(names)}",
        )
        is_known = match[1] in ATTRIBUTES or did_you_mean(match[1], ATTRIBUTES) is not None
        if is_known or spec is None or spec.has_parameters:
            raise error
        self._state.cursor.pass_value(match[1])
        self._state.notes += error.diagnostics

    # -- values that are read from their text alone

    def _value(self, scope: Scope, owner: str, key: str, spec: AttributeSpec) -> Any:
        in_context = self._in_context.get(spec.kind)
        if in_context is not None:
            return in_context(scope, owner)
        cursor = self._state.cursor
        start = cursor.skip()
        plain = _PLAIN_VALUE.match(cursor.text, start)
        if plain is not None:
            text = plain.group()
            cursor.position = plain.end()
        else:
            text = _value_text(cursor, key, spec.kind)
        value = self._values.get((spec.kind, text))
        if value is None:
            try:
                value = self._values[spec.kind, text] = TEXT_PARSERS[spec.kind](text)
            except ValueError as complaint:
                raise cursor.error("XP123", f"{quote(key)} {complaint}", start) from None
        if spec.choices and value not in spec.choices:
            hint = f"known: {', '.join(choice for choice in dict.fromkeys(spec.choices) if choice)}"
            raise cursor.error("XP123", f"{quote(key)} cannot be {quote(text)}", start, None, hint)
        return value

    def _read_metadata(self) -> OpMetadata:
        cursor = self._state.cursor
        start = cursor.skip()
        match = _PLAIN_METADATA.match(cursor.text, start)
        if match is not None:
            text = match.group()
            cursor.position = match.end()
        else:
            text = _without_comments(cursor.balanced())
        metadata = self._metadata.get(text)
        if metadata is None:
            try:
                metadata = self._metadata[text] = self._located(parse_metadata(text))
            except ValueError as complaint:
                raise cursor.error("XP123", f"`metadata` {complaint}", start) from None
        return metadata

    def _located(self, metadata: OpMetadata) -> OpMetadata:
        """Return the metadata with the source position of its stack frame, if it has no other."""
        number = metadata.stack_frame_id
        if metadata.source_file or not 0 < number <= len(self._state.frames):
            return metadata
        return self._state.frames[number - 1].located(metadata)

    # -- values that need the module

    def _instructions(self, scope: Scope, owner: str) -> tuple[Instruction, ...]:
        def read() -> Instruction:
            name, span = self._state.name("an instruction")
            found = scope.names.get(name)
            if found is None:
                raise self._state.undefined_instruction(scope, name, span)
            return found

        return self._state.listed(read)

    def _computation(self, scope: Scope, owner: str) -> Computation:
        """Read the name of a computation defined before, or a body in braces."""
        state = self._state
        if state.cursor.looking_at("{"):
            return self._read_body(state.fresh_name(owner))
        name, span = state.name("a computation")
        found = state.computations.get(name)
        if found is None:
            raise state.undefined_computation(name, span)
        return found

    def _computations(self, scope: Scope, owner: str) -> tuple[Computation, ...]:
        if not self._state.cursor.looking_at("{"):
            return (self._computation(scope, owner),)
        return self._state.listed(lambda: self._computation(scope, owner))


def _value_text(cursor: Cursor, key: str, kind: K) -> str:
    """Return the text of a value that is a string, nests braces or contains comments."""
    start = cursor.skip()
    if cursor.looking_at("{"):
        text = cursor.balanced()
        return text if kind is K.RAW else _without_comments(text)
    if cursor.looking_at('"'):
        cursor.string()
        return cursor.text[start : cursor.position]
    if kind is not K.PADDING:  # the padding of a scalar is empty
        cursor.unexpected(f"the value of {quote(key)}")
    return ""


def _without_comments(text: str) -> str:
    return _STRING_OR_COMMENT.sub(lambda match: match.group() if match.group().startswith('"') else " ", text)
