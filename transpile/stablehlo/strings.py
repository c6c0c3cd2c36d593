"""Strings as MLIR writes them: any byte may be a backslash and two hexadecimal digits."""

from __future__ import annotations

import re

from ..hlo.lexer import STRING, Cursor

_ESCAPE = re.compile(rb"\\([0-9A-Fa-f]{2}|[\s\S])")
_LETTERS = {b"n": b"\n", b"t": b"\t"}


def unquoted(text: str) -> str:
    """What stands between quotes, without escapes."""
    return _ESCAPE.sub(_byte, text.encode(errors="replace")).decode(errors="replace") if "\\" in text else text


def _byte(found: re.Match[bytes]) -> bytes:
    escaped = found[1]
    return bytes.fromhex(escaped.decode()) if len(escaped) == 2 else _LETTERS.get(escaped, escaped)


def string(cursor: Cursor) -> str:
    """The string that comes next. Raises ``HloSyntaxError`` where there is none."""
    found = cursor.match(STRING)
    return unquoted(found[1]) if found is not None else cursor.string()
