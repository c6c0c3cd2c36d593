"""The state that the parts of the parser share: the cursor, the definitions so far, and caches of the module."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from difflib import get_close_matches
from itertools import islice
from typing import Any

from ..dataclass import dataclass
from .ir import Computation, Instruction, StackFrame
from .lexer import NAME, Cursor, quote
from .literals import Literal
from .shape_parser import parse_shape
from .shapes import Shape
from .source import Diagnostic, HloSyntaxError, SourceText, Span

_UNNAMED = re.compile(r"unnamed(_*+)")
_CANDIDATES = 1000  # names that are compared for a hint


@dataclass(slots=True)
class Scope:
    """A computation while its instructions are read."""

    computation: str
    names: dict[str, Instruction] = field(default_factory=dict)
    instructions: list[Instruction] = field(default_factory=list)
    parameters: dict[int, Instruction] = field(default_factory=dict)
    root: Instruction | None = None

    def add(self, instruction: Instruction) -> Instruction:
        self.instructions.append(instruction)
        return instruction


class ParserState:
    def __init__(self, source: SourceText, literals: Mapping[str, Literal]) -> None:
        self.source = source
        self.literals = literals  # of constants that the text leaves out
        self.text = source.text
        self.cursor = Cursor(source)
        self.computations: dict[str, Computation] = {}
        self.open_computations: list[str] = []
        self.frames: tuple[StackFrame, ...] = ()
        self.notes: list[Diagnostic] = []
        self.is_lone = False  # the text is one instruction: names may be undefined
        self._unnamed = ""
        self._unnamed_count = 0

    def shape(self) -> Shape:
        """Parse the next shape."""
        return parse_shape(self.cursor)

    def name(self, what: str) -> tuple[str, Span]:
        """Parse the next name, without a percent sign before it or a colon behind it; return it with its span."""
        start = self.cursor.skip()
        name = self.cursor.expect_match(NAME, what)
        span = Span(start, self.cursor.position)
        if not name.startswith("%") and self.text.startswith(":", span.end):
            self.cursor.position += 1
        return name.removeprefix("%"), span

    def fresh_name(self, stem: str) -> str:
        """Return a name that the text does not contain."""
        if not self._unnamed:
            longest = max((len(run) for run in _UNNAMED.findall(self.text)), default=-1)
            self._unnamed = "unnamed" + "_" * (longest + 1)
        self._unnamed_count += 1
        return f"{stem}.{self._unnamed}{self._unnamed_count}"

    def listed(self, read: Callable[[], Any]) -> tuple[Any, ...]:
        """Parse ``{a, b}``, each item by ``read``."""
        cursor = self.cursor
        cursor.expect("{")
        items: list[Any] = []
        while not cursor.accept("}"):
            if items:
                cursor.expect(",", "between items")
            items.append(read())
        return tuple(items)

    # -- undefined names

    def undefined_instruction(self, scope: Scope, name: str, span: Span) -> HloSyntaxError:
        end = self.text.find("\n}", span.start)
        definition = re.compile(rf"[\s{{]%?{re.escape(name)}\s+=")
        # From the line of the use on: an instruction may also use itself.
        start = max(self.text.rfind("\n", 0, span.start), 0)
        if definition.search(self.text, start, len(self.text) if end < 0 else end):
            message = f"{quote(name)} is used before it is defined"
            return self.cursor.error("XP113", message, *span, "an instruction comes after its operands")
        message = f"there is no {quote(name)} in computation {quote(scope.computation)}"
        return self.cursor.error("XP112", message, *span, did_you_mean(name, scope.names))

    def undefined_computation(self, name: str, span: Span) -> HloSyntaxError:
        if name in self.open_computations:
            return self.cursor.error("XP118", f"computation {quote(name)} calls itself", *span)
        if re.compile(rf"[\s}}]%?{re.escape(name)}\s*[({{]").search(self.text, span.end):
            message = f"computation {quote(name)} is called before it is defined"
            return self.cursor.error("XP118", message, *span, "a computation comes after those that it calls")
        hint = did_you_mean(name, self.computations)
        return self.cursor.error("XP116", f"there is no computation {quote(name)}", *span, hint)


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """Return a hint that names the closest known words; None if none is close."""
    candidates = islice((word for word in known if abs(len(word) - len(name)) < 5), _CANDIDATES)
    close = get_close_matches(name, candidates, n=3, cutoff=0.6) if len(name) < 100 else []
    return f"did you mean {' or '.join(f'`{word}`' for word in close)}?" if close else None
