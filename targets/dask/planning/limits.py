"""Sizes as users give them."""

from __future__ import annotations

import re

from ....transpile.errors import Diagnostic, UsageError
from ....transpile.hlo.lexer import shorten

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def chunk_length(text: str) -> int | None:
    """The number of elements along every axis that chunks are to have, where that is what is asked for.

    Raises UsageError (XP741) for 0.
    """
    if re.fullmatch(r"[0-9]{1,18}", text.strip()) is None:
        return None
    if not int(text):
        hint = "at least one element along an axis, or a number of bytes with a unit, such as 32MiB"
        raise UsageError(Diagnostic("XP741", f"{text!r} is not a size", hint=hint))
    return int(text)


def size_in_bytes(text: str) -> int:
    """``2GiB``, ``500 MB`` or ``1048576`` in bytes. Raises UsageError (XP741)."""
    found = re.fullmatch(r"([0-9]{1,18}(?:\.[0-9]{1,18})?)\s*([KMGT]?)(i?)B?", text.strip(), re.IGNORECASE)
    if found is None:
        hint = "a number of bytes with a unit, such as 2GiB or 500MB"
        raise UsageError(Diagnostic("XP741", f"{shorten(text)!r} is not a size", hint=hint))
    number, unit, binary = found[1], found[2].upper(), found[3]
    scale = UNITS[unit] if binary or not unit else 1000 ** list(UNITS).index(unit)
    return int(float(number) * scale)
