"""Every exception that xla2py raises on purpose; all of them are :class:`XlaToPythonError`."""

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
    """A file, a setting or an argument is not what xla2py needs (codes ``XP4xx``)."""


class InputValueError(XlaToPythonError):
    """Arrays given to a program do not fit it, or cannot be held (codes ``XP5xx``)."""
