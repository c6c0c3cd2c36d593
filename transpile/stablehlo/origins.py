"""Where instructions come from: locations of MLIR as metadata and stack frames of HLO.

What XLA's translation makes of them: names of operations are joined, frames are what is called by a function's name
around a place in a file, and the caller's frames are the parents of the callee's.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..hlo.ir import OpMetadata, StackFrame
from ..hlo.lexer import SPACE, STRING
from ..hlo.source import SourceText, Span
from .program import UNKNOWN, Location
from .strings import unquoted

_ALIAS = re.compile(r"#[\w$.\-]++", re.ASCII)
_WORD = re.compile(r"unknown|callsite|fused", re.ASCII)
_PLACE = re.compile(r":(\d{1,9})(?::(\d{1,9}))?(?:\s+to\s+(\d{1,9})?:(\d{1,9}))?", re.ASCII)
_DEEPEST = 64

Node = tuple[str, str, tuple[int, int, int, int], tuple[Any, ...]]  # a location whose parts may be names of aliases


class Locations:
    """The locations of a text, by what stands between the parentheses of ``loc(..)``."""

    def __init__(self, text: str, aliases: dict[str, int]) -> None:
        self._text = text
        self._aliases = aliases
        self._known: dict[str, Location] = {}

    def __getitem__(self, key: str) -> Location:
        """A location; what cannot be read is unknown."""
        if key not in self._known:
            self._resolve(key)
        return self._known[key]

    def _resolve(self, key: str) -> None:
        """Read a location and those that it names, these first."""
        waiting, nodes = [key], dict[str, Node]()
        while waiting:
            name = waiting[-1]
            if name in self._known:
                waiting.pop()
            elif name not in nodes:
                nodes[name] = self._node(name)
                waiting += [each for each in _names(nodes[name]) if each not in self._known and each not in nodes]
            else:
                waiting.pop()
                self._known[name] = _built(nodes[name], self._known)

    def _node(self, key: str) -> Node:
        text, start = key, 0
        if _ALIAS.fullmatch(key):
            if key not in self._aliases:
                return ("unknown", "", (0, 0, 0, 0), ())
            text, start = self._text, self._aliases[key]
            opening = text.find("(", start)
            start = opening + 1 if text.startswith("loc", start) else start
        node = _Reader(text, start).read(0)
        return node if isinstance(node, tuple) else ("fused", "", (0, 0, 0, 0), (node,))


def _names(node: Node) -> list[str]:
    """The aliases that a location names."""
    found: list[str] = []
    waiting: list[Any] = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            found.append(each)
        else:
            waiting += each[3]
    return found


def _built(node: Any, known: dict[str, Location]) -> Location:
    if isinstance(node, str):
        return known.get(node, UNKNOWN)
    kind, name, place, parts = node
    return Location(kind, name, place, tuple(_built(part, known) for part in parts))


class _Reader:
    """Reads one location; nothing is an error, as nothing depends on it."""

    def __init__(self, text: str, position: int) -> None:
        self.text = text
        self.position = position

    def read(self, depth: int) -> Any:
        unknown = ("unknown", "", (0, 0, 0, 0), ())
        if depth > _DEEPEST:
            return unknown
        alias = self._match(_ALIAS)
        if alias is not None:
            return alias.group()
        word = self._match(_WORD)
        if word is None:
            return self._named(depth) or unknown
        if word.group() == "callsite" and self._accept("("):
            callee = self.read(depth + 1)
            self._accept("at")
            caller = self.read(depth + 1)
            self._accept(")")
            return ("callsite", "", (0, 0, 0, 0), (callee, caller))
        if word.group() == "fused":
            return ("fused", "", (0, 0, 0, 0), tuple(self._parts(depth)))
        return unknown

    def _parts(self, depth: int) -> list[Any]:
        if self._accept("<"):
            self.position = self.text.find("[", self.position)
            if self.position < 0:
                self.position = len(self.text)
        parts: list[Any] = []
        if self._accept("["):
            while not self._accept("]") and self.position < len(self.text):
                start = self.position
                parts.append(self.read(depth + 1))
                self._accept(",")
                if self.position == start:
                    break
        return parts

    def _named(self, depth: int) -> Any:
        found = self._match(STRING)
        if found is None:
            return None
        name = unquoted(found[1])
        place = self._match(_PLACE)
        if place is not None:
            line, column = int(place[1]), int(place[2] or 0)
            last = int(place[3]) if place[3] else line
            return ("file", name, (line, column, last, int(place[4]) if place[4] else column), ())
        child: Any = ("unknown", "", (0, 0, 0, 0), ())
        if self._accept("("):
            child = self.read(depth + 1)
            self._accept(")")
        return ("name", name, (0, 0, 0, 0), (child,))

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        space = SPACE.match(self.text, self.position)
        found = pattern.match(self.text, space.end() if space is not None else self.position)
        if found is not None:
            self.position = found.end()
        return found

    def _accept(self, text: str) -> bool:
        return self._match(re.compile(re.escape(text))) is not None


class Origins:
    """Metadata of instructions, and the stack frames that they name."""

    def __init__(self, locations: Callable[[Any], Location], source: SourceText | None) -> None:
        self._locations = locations
        self._source = source
        self._file = Path(source.name).name if source is not None else ""
        self._known: dict[Any, OpMetadata | None] = {}
        self._frames: dict[StackFrame, int] = {}
        self._listed: list[StackFrame] = []

    @property
    def frames(self) -> tuple[StackFrame, ...]:
        """All frames that are named so far."""
        return tuple(self._listed)

    def of(self, key: Any, span: Span) -> OpMetadata | None:
        """The metadata for a location; without one it is the place in the text itself."""
        if key is None:
            return self._own_place(span)
        if key not in self._known:
            self._known[key] = self._metadata(self._locations(key))
        return self._known[key]

    def name_of(self, key: Any) -> str:
        """The name that an argument's location says; empty where it says none."""
        if key is None:
            return ""
        return _joined_names(key if isinstance(key, Location) else self._locations(key))

    def _own_place(self, span: Span) -> OpMetadata | None:
        if self._source is None:
            return None
        starts = self._source.line_starts
        line = bisect_right(starts, span.start)
        column = span.start - starts[line - 1] + 1
        return OpMetadata("", "", self._file, line, line, column, column)

    def _metadata(self, location: Location) -> OpMetadata | None:
        if location.kind == "unknown":
            return None
        name, kind = _joined_names(location), _joined_names(location, of_types=True)
        while location.kind == "name" and not _is_frame(location):
            location = location.parts[0]
        number = self._frame(location)
        if number:
            frame = self._listed[number - 1]
            return OpMetadata(
                kind, name, frame.file_name, frame.line, frame.end_line, frame.column, frame.end_column, number
            )
        place = _file_place(location)
        if place is None:
            return OpMetadata(kind, name) if name or kind else None
        line, column, last_line, last_column = place.place
        return OpMetadata(kind, name, place.name, line, last_line, column, last_column)

    def _frame(self, location: Location) -> int:
        """The number of the innermost frame; 0 for none. The outer ones are made first, without recursion."""
        number, waiting = 0, [location]
        while waiting:
            each = waiting.pop()
            if _is_frame(each):
                line, column, last_line, last_column = each.parts[0].place
                frame = StackFrame(each.parts[0].name, each.name, line, last_line, column, last_column, number)
                number = self._frames.setdefault(frame, len(self._frames) + 1)
                self._listed += [frame] if number > len(self._listed) else []
            elif each.kind == "callsite":
                waiting += each.parts  # the caller is taken first
            elif each.kind == "name":
                waiting += each.parts
            elif each.kind == "fused":
                waiting += each.parts[:1]
        return number


def _is_frame(location: Location) -> bool:
    return location.kind == "name" and location.parts[0].kind == "file"


def _file_place(location: Location) -> Location | None:
    if location.kind == "fused":
        return next((each for each in reversed(location.parts) if each.kind == "file"), None)
    return location if location.kind == "file" else None


def _joined_names(location: Location, *, of_types: bool = False) -> str:
    """The names of what a location is made of; or those of types, which end with a colon, of the first parts alone."""
    found: list[str] = []
    waiting = [location]
    while waiting:
        each = waiting.pop()
        if each.kind == "name":
            name = each.name.split("@")[0]
            if name.endswith(":") == of_types:
                found.append(name.removesuffix(":"))
            else:
                waiting.append(each.parts[0])
        elif each.kind in ("callsite", "fused"):
            waiting += each.parts[:1] if of_types or each.kind == "callsite" else reversed(each.parts)
    return ";".join(found)
