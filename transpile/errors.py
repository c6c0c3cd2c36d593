"""The exceptions of xla2py. All are subclasses of :class:`XlaToPythonError`."""

from __future__ import annotations

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
    "UnsupportedError",
    "UsageError",
    "XlaToPythonError",
]


class UsageError(XlaToPythonError):
    """A file, a setting or an argument is invalid (codes ``XP4xx``)."""


class InputValueError(XlaToPythonError):
    """The arrays passed to a program do not fit it, or are too large for memory (codes ``XP5xx``)."""
