"""Text up to the bracket that closes the one which comes next."""

from __future__ import annotations

import re

from ..hlo.lexer import Cursor

_UNTIL_BRACKET = re.compile(r'(?:[^<>()\[\]{}"\-]++|->|-)*+')
_PAIRS = {"<": ">", "(": ")", "[": "]", "{": "}"}


def balanced(cursor: Cursor) -> str:
    """The text from an opening bracket of any kind to its own closing one; strings and arrows may hold others.

    Raises ``HloSyntaxError``: XP103 where the text ends before, XP102 where a bracket closes none, XP104 for a string
    that is never closed.
    """
    start = cursor.skip()
    text, at, expected = cursor.text, start, []
    while True:
        match = _UNTIL_BRACKET.match(text, at)
        assert match is not None
        at = match.end()
        character = text[at : at + 1]
        if character == '"':
            at = cursor.after_string(at)
            continue
        if not character:
            raise cursor.error("XP103", "this bracket is never closed: the text ends before", start, start + 1)
        if character in _PAIRS:
            expected.append(_PAIRS[character])
        elif not expected or expected.pop() != character:
            raise cursor.error("XP102", "this bracket closes none", at, at + 1)
        at += 1
        if not expected:
            cursor.position = at
            return text[start:at]
