"""Kernels in strings of a module's text: their numbers as expressions of sizes, and the sizes as parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol

from ...python.grammar import ATOM, POWER, PRODUCT, SUM
from ..layout import Layout
from .expressions import SizeExpression

_TOKENS = re.compile(r"//[^\n]*|\d+(?:\.\d*)?(?:e[+-]?\d+)?[a-z]*|[^\W\d]\w*|\s+|.", re.DOTALL)
_NUMBER = re.compile(r"(\d[\d.]*(?:e[+-]?\d+)?)([a-z]*)")
_TYPED = re.compile(r"\(int\)(-?\d+)(?![\w.])")
# A placeholder before the kernel's own parameters, repeated for each size that it needs: ``long long FREE_SIZE``.
_FREE_SIZE = re.compile(r"(lambda )?((?:\w+ )*)\bFREE_SIZE\b(, ?)?")
_LEFT_OVER = re.compile(r'\s*("")?')
_WORDS = re.compile(r"[^\W\d]\w*")
# An expression between these needs no parentheses.
_COMPARED = frozenset(("<", "<=", ">", ">=", "==", "!="))
_BEFORE, _AFTER = _COMPARED | frozenset(("(", "[", ",", ":", "=", "return")), _COMPARED | frozenset(")],:")


class Language(Protocol):
    """The language of kernels: names that are reserved there, and the spelling of numbers."""

    reserved: frozenset[str]

    def integer(self, found: SizeExpression, level: int, kind: str, before: str) -> str:
        """Return the text of an integer, in place of a literal with suffix ``kind`` behind the token ``before``."""

    def real(self, values: Sequence[float], names: dict[str, Sequence[int]], level: int, kind: str) -> str | None:
        """Return the text of floats as an expression of the ``names`` of sizes, or None if there is none."""


def kernel_in_common(
    strings: Sequence[str],
    names: dict[str, Sequence[int]],
    integer: Callable[[tuple[int, ...]], SizeExpression | None],
    language: Language,
) -> str | None:
    """Return the kernel's string with the numbers that differ as expressions of sizes, or None if there are none.

    ``integer`` finds the expression of integers.
    """
    rows = [_TOKENS.findall(string) for string in strings]
    if len(set(map(len, rows))) > 1:
        return None
    parts: list[str] = []
    seen = ["", ""]  # the last tokens other than space
    for at, row in enumerate(zip(*rows, strict=True)):
        text = row[0]
        if len(set(row)) > 1:
            numbers = [match for token in row if (match := _NUMBER.fullmatch(token))]
            kind = numbers[0][2] if numbers else ""
            if len(numbers) < len(row) or any(number[2] != kind for number in numbers):
                return None
            after = next((token for token in rows[0][at + 1 :] if not token.isspace()), ";")
            level = _needed_level(seen[-2], seen[-1], ")" if after == ";" else after)
            values = [float(number[1]) for number in numbers]
            are_whole = all(value.is_integer() for value in values)
            found = integer(tuple(map(int, values))) if are_whole else None
            if found is not None:
                text = language.integer(found, level, kind, before=seen[-2] if seen[-1] == "(" else "")
            else:
                written = language.real(values, names, level, kind)
                if written is None:
                    return None
                text = written
        parts.append(text)
        if not row[0].isspace():
            seen.append(row[0])
    return "".join(parts)


def _needed_level(one_before: str, before: str, after: str) -> int:
    """Return the precedence that an expression between these tokens needs to stand without parentheses."""
    if after in _AFTER and before in _BEFORE:
        return SUM
    is_summand = before in ("+", "-") and (one_before[-1:].isalnum() or one_before in (")", "]"))
    return PRODUCT if is_summand and after in _AFTER else ATOM if after == "." else POWER


def words_of(text: str) -> set[str]:
    """Return the words in the text of a kernel."""
    return {*_WORDS.findall(text)}


def declaration(lines: Sequence[str], sizes: Sequence[str], layout: Layout) -> list[str]:
    """Return the lines of the declaration of a kernel with ``sizes`` as parameters."""
    found: list[str] = []
    for line in lines:
        written = _with_sizes(_TYPED.sub(r"\1", line), sizes)
        if found and found[-1].endswith(', "') and len(found[-1]) + len(line.strip()) - 2 < layout.line_length:
            found.append(found.pop()[:-1] + line.strip()[1:])  # two strings that are one
        elif written is not None:
            found.append(written)
    return found


def _with_sizes(line: str, sizes: Sequence[str]) -> str | None:
    """Return a line with its placeholder replaced by ``sizes``, or None if nothing is left of the line."""

    def each(match: re.Match[str]) -> str:
        head, kind, comma = (part or "" for part in match.groups())
        named = ", ".join(f"{kind}{size}" for size in sizes)
        return f"{head if sizes else head.rstrip()}{named}{comma if sizes else ''}"

    if "FREE_SIZE" not in line:
        return line
    found = _FREE_SIZE.sub(each, line)
    return None if _LEFT_OVER.fullmatch(found) else found
