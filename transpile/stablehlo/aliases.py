"""Aliases and resources of a text: what ``#map``, ``!type`` and ``dense_resource<name>`` stand for."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ..hlo.lexer import Cursor, quote
from ..hlo.parser_state import did_you_mean
from .attributes import AttributeReader
from .types import parse_type

ALIAS = re.compile(r"[ \t]*+([#!][\w$.\-]++)[ \t]*=[ \t]*(?=[\w#!(\[{\"<@])", re.ASCII)
_ALIAS_BELOW = re.compile(rf"\n{ALIAS.pattern}", re.ASCII)  # a character is found faster than the start of a line
_RESOURCE = re.compile(r'([\w$.\-]++|"[^"\n]*+")\s*:\s*"0x([0-9A-Fa-f]*+)"', re.ASCII)
_ALIGNMENT = 8  # digits of a resource's alignment


class AliasReader(AttributeReader):
    """Reads attributes of a text that has ``aliases``: the places of what their names stand for."""

    def __init__(self, cursor: Cursor) -> None:
        super().__init__(cursor)
        first = ALIAS.match(cursor.text)
        found = (*([first] if first is not None else ()), *_ALIAS_BELOW.finditer(cursor.text))
        self.aliases = {match[1]: match.end() for match in found}
        self._known: dict[str, Any] = {}
        self._open: set[str] = set()
        self._resources: dict[str, str] | None = None
        for name in self.aliases:
            if name.startswith("!"):
                cursor.shapes[name] = self._aliased(name, lambda: parse_type(cursor))

    def alias(self, name: str) -> Any:
        key = f"#{name}"
        if key not in self.aliases:
            end = self.cursor.position
            hint = did_you_mean(key, self.aliases)
            raise self.cursor.error("XP112", f"there is no alias {quote(key)}", end - len(key), end, hint)
        if key not in self._known:
            self._known[key] = self._aliased(key, self.read)
        return self._known[key]

    def _aliased(self, name: str, read: Callable[[], Any]) -> Any:
        cursor = self.cursor
        position, cursor.position = cursor.position, self.aliases[name]
        if name in self._open:
            raise cursor.error("XP118", f"the alias {quote(name)} is a part of itself")
        self._open.add(name)
        cursor.enter(cursor.position)
        found = read()
        cursor.leave()
        self._open.discard(name)
        cursor.position = position
        return found

    def resource(self, name: str) -> bytes | None:
        if self._resources is None:
            text = self.cursor.text
            start = text.rfind("{-#")
            found = _RESOURCE.findall(text, start) if start >= 0 else ()
            self._resources = {key.strip('"'): digits for key, digits in found}
        digits = self._resources.get(name)
        if digits is None or len(digits) < _ALIGNMENT or len(digits) % 2:
            return None
        return bytes.fromhex(digits[_ALIGNMENT:])
