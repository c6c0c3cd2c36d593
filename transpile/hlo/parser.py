"""HLO text to :class:`~.ir.HloModule`: a recursive-descent parser over a :class:`~.lexer.Cursor`.

Common forms are matched as a whole by a compiled pattern, and repeated texts (shapes, attribute values, metadata) are
parsed once per module; everything else takes the general path, which also finds the place of an error. The grammar is
XLA's: names are local to a computation, operands and called computations are defined before their use, attributes are
in any order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ..collection import collection_paused
from .attribute_reader import AttributeReader
from .header import parse_header, parse_stack_frames
from .instruction_parser import InstructionParser
from .ir import Computation, HloModule
from .lexer import NAME, WORD, quote
from .literals import Literal
from .parser_state import ParserState, Scope
from .shapes import Shape, compatible
from .source import SourceText, Span

_MODULE = re.compile(r"HloModule\b")
_COMPUTATION = re.compile(rf"(?:(ENTRY)\b\s*)?({NAME.pattern})?:?(?=\s*[({{])", re.ASCII)
_LONE_INSTRUCTION = re.compile(r"(?:ROOT\s+)?(?:%[\w.\-]+\s*|[\w.\-]+\s+)=")
_THREAD = re.compile(r"execution_thread\s*=")


@collection_paused()
def parse_module(source: SourceText | str, literals: Mapping[str, Literal] = MappingProxyType({})) -> HloModule:
    """Parse a text: a whole module, computations without a header, or a single instruction or operation.

    ``literals`` are the values of constants that the text leaves out (``{...}``), by instruction name. Missing layouts
    stay ``None``, missing result shapes are inferred. Raises ``HloSyntaxError`` with a place and a code ``XP1xx``, and
    the errors of shape inference. Source: XLA's ``hlo_parser.cc``.
    """
    return _ModuleParser(SourceText(source) if isinstance(source, str) else source, literals).parse()


class _ModuleParser:
    def __init__(self, source: SourceText, literals: Mapping[str, Literal]) -> None:
        self._source = source
        self._state = ParserState(source, literals)
        self._cursor = self._state.cursor
        self._instructions = InstructionParser(self._state, AttributeReader(self._state, self._inline_computation))

    def parse(self) -> HloModule:
        cursor, state = self._cursor, self._state
        self._check_text()
        name = ""
        header: dict[str, Any] = {}
        has_header = cursor.match(_MODULE) is not None
        if has_header:
            name, header = parse_header(cursor, state.notes)
        state.frames = parse_stack_frames(cursor)
        if not has_header and (
            _LONE_INSTRUCTION.match(cursor.text, cursor.skip()) or self._instructions.looks_like_operation()
        ):
            name, entry = self._lone_instruction()
        else:
            entry = self._computations()
        computations = tuple(state.computations.values())
        return HloModule(
            name or entry.name, computations, entry, header, state.frames, source=self._source, notes=tuple(state.notes)
        )

    def _check_text(self) -> None:
        binary = self._cursor.text.find("\0")
        if binary >= 0:
            raise self._cursor.error("XP101", "this is binary data, not HLO text", binary, binary + 1)
        if self._cursor.at_end():
            raise self._cursor.error("XP100", "the text is empty", 0, 0)

    def _lone_instruction(self) -> tuple[str, Computation]:
        self._state.is_lone = True
        scope = Scope("main")
        instruction = self._instructions.parse(scope)
        if not self._cursor.at_end():
            self._cursor.unexpected("the end of the text after a lone instruction")
        return instruction.name, self._finish(scope, "main", Span(0, len(self._cursor.text)))

    def _computations(self) -> Computation:
        """Parse all computations; return the entry: the one marked, else the last."""
        cursor = self._cursor
        entry: Computation | None = None
        last: Computation | None = None
        while not cursor.at_end():
            start = cursor.position
            last, is_entry = self._computation()
            if is_entry and entry is not None:
                raise cursor.error("XP119", "a module has one ENTRY computation", start, start + len("ENTRY"))
            entry = last if is_entry else entry
        if last is None:
            raise cursor.error("XP103", "the text ends before the first computation")
        return entry or last

    def _computation(self) -> tuple[Computation, bool]:
        """Parse ``ENTRY %name (parameters) -> result { .. }, execution_thread="t"``; return it and whether it is marked
        ENTRY.
        """
        cursor = self._cursor
        start = cursor.skip()
        match = cursor.match(_COMPUTATION)
        if match is None:
            cursor.unexpected("a computation: `name {`")
        name = (match[2] or "").removeprefix("%") or self._state.fresh_name("computation")
        if name in self._state.computations:
            raise cursor.error("XP117", f"there are two computations {quote(name)}", match.start(2), match.end(2))
        declared = self._signature()
        scope = self._body(name)
        thread = "main"
        while cursor.accept(","):
            if cursor.match(_THREAD) is None:
                cursor.unexpected("`execution_thread=`, the one attribute of a computation")
            thread = cursor.string()
        computation = self._finish(scope, thread, Span(start, cursor.position))
        if declared is not None and not compatible(declared[0], computation.root.shape):
            message = f"{quote(name)} declares {declared[0]} as its result, but its root gives {computation.root.shape}"
            raise cursor.error("XP141", message, *declared[1])
        return computation, match[1] is not None

    def _signature(self) -> tuple[Shape, Span] | None:
        """Return the declared result of ``(a: f32[4]) -> f32[4]``; the parameters are also instructions of the body."""
        cursor = self._cursor
        if not cursor.accept("("):
            return None
        is_first = True
        while not cursor.accept(")"):
            if not is_first:
                cursor.expect(",", "between parameters")
            is_first = False
            cursor.accept("%")
            cursor.expect_match(WORD, "a parameter name")
            cursor.accept(":")  # older texts have none
            self._state.shape()
        cursor.expect("->", "before the result shape")
        start = cursor.skip()
        return self._state.shape(), Span(start, cursor.position)

    def _inline_computation(self, name: str) -> Computation:
        start = self._cursor.skip()
        scope = self._body(name)
        return self._finish(scope, "main", Span(start, self._cursor.position))

    def _body(self, name: str) -> Scope:
        """Parse ``{ instructions }``."""
        cursor = self._cursor
        start = cursor.skip()
        cursor.expect("{", f"to open computation {quote(name)}")
        cursor.enter(start)
        self._state.open_computations.append(name)
        scope = Scope(name)
        while not cursor.accept("}"):
            self._instructions.parse(scope)
        if not scope.instructions:
            raise cursor.error("XP119", f"computation {quote(name)} has no instructions", start)
        self._state.open_computations.pop()
        cursor.leave()
        return scope

    def _finish(self, scope: Scope, thread: str, span: Span) -> Computation:
        numbers = scope.parameters
        missing = next((number for number in range(len(numbers)) if number not in numbers), None)
        if missing is not None:
            highest = max(numbers)
            message = f"computation {quote(scope.computation)} has a parameter {highest}, but no parameter {missing}"
            raise self._cursor.error("XP115", message, *(numbers[highest].span or span))
        root = scope.root or scope.instructions[-1]
        computation = Computation(scope.computation, tuple(scope.instructions), root, thread, span)
        self._state.computations[scope.computation] = computation
        return computation
