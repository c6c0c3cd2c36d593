"""A cursor over HLO text: white space, comments, names, numbers, strings and balanced braces.

HLO's tokens depend on their context (``2_-1x0_0`` is a padding, ``b01f_01io->b01f`` labels, ``1,0:T(8)`` a layout), so
the text is never tokenized beforehand: the caller asks the cursor for what it expects, with a compiled pattern. This
also keeps memory flat, and lets the parser match common forms as a whole.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

from .source import Diagnostic, HloSyntaxError, SourceText, Span

# Not possessive as a whole: Python 3.11 before 3.11.5 would enter a comment that is never closed.
SPACE = re.compile(r"(?:[ \t\r\n]++|//[^\n]*+|/\*[\s\S]*?\*/)*")
_MAY_SKIP = frozenset(" \t\r\n/")
NAME = re.compile(r"%?[A-Za-z_][\w.\-]*+", re.ASCII)
INTEGER = re.compile(r"-?\d++(?![\w.])", re.ASCII)
WORD = re.compile(r"[\w.\-]++", re.ASCII)
STRING = re.compile(r'"((?:[^"\\]++|\\[\s\S])*+)"')
# Up to the next quote, brace or comment: text that a brace matcher may skip.
_UNTIL_NESTING = re.compile(r'[^"{}/]*+')
_UNKNOWN_VALUE = re.compile(r'(?:[^\s,(){}"]++|"(?:[^"\\]++|\\[\s\S])*+")*+')
_ESCAPE = re.compile(r"(?:\\(?:x[0-9a-fA-F]{1,2}|[0-7]{1,3}))+|\\[\s\S]")
_BYTE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3}))")
_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_WRITTEN = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_FOUND = re.compile(r'%?[\w.\-]+|"[^"\n]{0,20}"?|->|<=|[\s\S]', re.ASCII)

MAX_NESTING = 64  # tuples in tuples, bodies in bodies, instructions in operands


class Cursor:
    """A position in a text that moves forward. Errors point at the current position by default."""

    __slots__ = ("depth", "position", "shapes", "source", "text")

    def __init__(self, source: SourceText, position: int = 0) -> None:
        self.source = source
        self.text = source.text
        self.position = position
        self.depth = 0
        self.shapes: dict[str, Any] = {}  # a cache by text, because few distinct shapes recur

    # -- moving

    def skip(self) -> int:
        """Skip white space and comments; return the new position."""
        text, position = self.text, self.position
        if text[position : position + 1] in _MAY_SKIP:
            if text[position : position + 1] == " " and text[position + 1 : position + 2] not in _MAY_SKIP:
                self.position = position = position + 1
                return position
            match = SPACE.match(text, position)
            assert match is not None  # the pattern matches the empty string
            self.position = position = match.end()
        return position

    def accept(self, text: str) -> bool:
        """Skip ``text`` if it comes next; return whether it did."""
        if not self.text.startswith(text, self.skip()):
            return False
        self.position += len(text)
        return True

    def expect(self, text: str, where: str = "") -> None:
        """Skip ``text``, or raise if it does not come next."""
        if not self.accept(text):
            self.unexpected(f"`{text}`{' ' + where if where else ''}")

    def looking_at(self, text: str) -> bool:
        return self.text.startswith(text, self.skip())

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Skip the match of ``pattern`` at this position, and return it; None if there is none."""
        match = pattern.match(self.text, self.skip())
        if match is not None:
            self.position = match.end()
        return match

    def expect_match(self, pattern: re.Pattern[str], what: str) -> str:
        match = self.match(pattern)
        if match is None:
            self.unexpected(what)
        return match.group()

    def at_end(self) -> bool:
        return self.skip() == len(self.text)

    # -- tokens

    def integer(self, what: str = "an integer") -> int:
        start = self.skip()
        text = self.expect_match(INTEGER, what)
        value = int(text) if len(text) < 21 else 1 << 70
        if not -(1 << 63) <= value < 1 << 63:
            raise self.error("XP102", f"the integer {shorten(text)} does not fit into 64 bits", start)
        return value

    def string(self) -> str:
        match = self.match(STRING)
        if match is None:
            if self.looking_at('"'):
                raise self.error("XP104", "a string is never closed", self.position, self.position + 1)
            self.unexpected("a quoted string")
        return unescape(match.group(1))

    def balanced(self) -> str:
        """Return the text from the next ``{`` to its matching ``}``, both included; strings may hold braces."""
        start = self.skip()
        if not self.text.startswith("{", start):
            self.unexpected("`{`")
        text, at, depth = self.text, start, 0
        while True:
            match = _UNTIL_NESTING.match(text, at)
            assert match is not None
            at = match.end()
            character = text[at : at + 1]
            if character == '"':
                at = self.after_string(at)
                continue
            if character == "/":
                at = self._after_comment(at) if text.startswith("/*", at) else at + 1
                continue
            if not character:
                raise self.error("XP103", "this brace is never closed: the text ends before", start, start + 1)
            depth += 1 if character == "{" else -1
            at += 1
            if depth == 0:
                self.position = at
                return text[start:at]

    def after_string(self, at: int) -> int:
        """Return the position behind the string at ``at``. Raises ``HloSyntaxError`` (XP104) if it is never closed."""
        string = STRING.match(self.text, at)
        if string is None:
            raise self.error("XP104", "a string is never closed", at, at + 1)
        return string.end()

    def pass_value(self, key: str) -> None:
        """Skip the value of an unknown attribute: words, strings and braces up to a space or comma."""
        start = self.skip()
        while match := _UNKNOWN_VALUE.match(self.text, self.position):
            self.position = match.end()
            if self.text.startswith("{", self.position):
                self.balanced()
            elif not match.group():
                break
        if self.position == start:
            self.unexpected(f"the value of {quote(key)}")

    def _after_comment(self, start: int) -> int:
        end = self.text.find("*/", start + 2)
        if end < 0:
            raise self.error("XP104", "a comment is never closed", start, start + 2)
        return end + 2

    def enter(self, start: int) -> None:
        """Go one level deeper; raise ``HloSyntaxError`` (XP105) if the text nests too deeply."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise self.error("XP105", f"nested more than {MAX_NESTING} levels deep", start, start + 1)

    def leave(self) -> None:
        self.depth -= 1

    # -- errors

    def error(
        self,
        code: str,
        message: str,
        start: int | None = None,
        end: int | None = None,
        hint: str | None = None,
        label: str | None = None,
    ) -> HloSyntaxError:
        """Return a syntax error for the span ``start..end`` (default: from ``start`` to here)."""
        first = self.position if start is None else start
        last = max(self.position if end is None else end, first)
        return HloSyntaxError(Diagnostic(code, message, Span(first, last), self.source, hint, label))

    def unexpected(self, expected: str) -> NoReturn:
        """Raise ``HloSyntaxError``: the text at this position is not ``expected``."""
        start = self.skip()
        found = _FOUND.match(self.text, start)
        if found is None:
            raise self.error("XP103", f"the text ends where {expected} should follow", start, start)
        if found.group() == "/" and self.text.startswith("/*", start):
            raise self.error("XP104", "a comment is never closed", start, start + 2)
        if found.group().startswith('"') and STRING.match(self.text, start) is None:
            raise self.error("XP104", "a string is never closed", start, start + 1)
        message = f"expected {expected}, found {quote(found.group())}"
        raise self.error("XP102", message, start, found.end(), label=f"expected {expected}")


def unescape(text: str) -> str:
    """Resolve the C escapes of a quoted string. Bytes that are no UTF-8 become the characters with their numbers."""
    if "\\" not in text:
        return text

    def replace(match: re.Match[str]) -> str:
        codes = _BYTE.findall(match[0])
        if not codes:
            return _ESCAPES.get(match[0][1], match[0][1])
        found = bytes(int(hexadecimal, 16) if hexadecimal else int(octal, 8) & 0xFF for hexadecimal, octal in codes)
        try:
            return found.decode()
        except UnicodeDecodeError:
            return found.decode("latin-1")

    return _ESCAPE.sub(replace, text)


def escape(text: str) -> str:
    """Return a string as HLO writes it between quotes."""
    return _ESCAPED.sub(lambda match: _WRITTEN.get(match[0], f"\\{ord(match[0]):03o}"), text)


def shorten(text: str) -> str:
    return text if len(text) <= 40 else text[:38] + ".."


def quote(text: str) -> str:
    """Return a piece of the input for a message: short, printable, in back quotes."""
    return f"`{shorten(text.encode('unicode_escape').decode('ascii'))}`" if text else "nothing"
