"""The exceptions of xla2py, all subclasses of :class:`XlaToPythonError`, and its warning."""

from __future__ import annotations

from collections.abc import Sequence

from .hlo.source import (
    Diagnostic,
    HloSyntaxError,
    HloVerificationError,
    UnsupportedError,
    XlaToPythonError,
)

__all__ = [
    "Diagnostic",
    "HloSyntaxError",
    "HloVerificationError",
    "InputValueError",
    "OpenSizes",
    "UnsupportedError",
    "UsageError",
    "XlaToPythonError",
    "XlaToPythonWarning",
]


class XlaToPythonWarning(UserWarning):
    """Something that the caller may not have meant; the command shows it as a note."""


class UsageError(XlaToPythonError):
    """A file, a setting or an argument is invalid (codes ``XP4xx``)."""


class OpenSizes(UsageError):
    """The sizes of a program's arguments are symbolic (XP425); ``names`` are the sizes that need numbers."""

    def __init__(self, names: Sequence[str], *diagnostics: Diagnostic) -> None:
        super().__init__(*diagnostics)
        self.names = tuple(names)


class InputValueError(XlaToPythonError):
    """The arrays passed to a program do not fit it, or are too large for memory (codes ``XP5xx``)."""
