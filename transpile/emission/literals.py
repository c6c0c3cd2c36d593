"""Numbers as Python text: the shortest text that parses to the same value."""

from __future__ import annotations

import numpy as np

from ..hlo.literal_values import nan_sign

_LARGEST_PLAIN = 1_000_000  # integral floats below this are written as ints


def number(value: np.ndarray | np.generic, namespace: str) -> str:
    """Return the text of a scalar as an argument: ``0.5``, ``-1``, ``True``, ``np.inf``, ``1 + 2j``."""
    scalar = np.asarray(value)
    kind = scalar.dtype.kind
    if kind == "b":
        return str(bool(scalar))
    if kind in "iu":
        return str(int(scalar))
    if kind == "c":
        return _complex(scalar, namespace)
    if kind == "f":
        return _real(scalar, namespace)
    return _extension(scalar, namespace)


def _extension(scalar: np.ndarray, namespace: str) -> str:
    """Return the text of an ml_dtypes scalar: integers exactly, floats by their own shortest text."""
    name = scalar.dtype.name
    if name.startswith(("int", "uint")):
        return str(int(scalar))
    value = float(scalar)
    if not np.isfinite(value):
        return _special(scalar, namespace)
    return _tidy(str(scalar[()]), value)


def _real(scalar: np.ndarray, namespace: str) -> str:
    value = float(scalar)
    if not np.isfinite(value):
        return _special(scalar, namespace)
    return _tidy(str(scalar[()]), value)


def _special(scalar: np.ndarray, namespace: str) -> str:
    value = float(scalar)
    if np.isnan(value):
        return f"{nan_sign(scalar)}{namespace}.nan"
    return f"{namespace}.inf" if value > 0 else f"-{namespace}.inf"


def _tidy(text: str, value: float) -> str:
    """Return ``2`` for 2.0, ``1e-5`` for 1e-05, and ``-0.0`` with its point, as the integer has no sign."""
    if value == 0 and np.signbit(value):
        return "-0.0"
    if value == int(value) and abs(value) < _LARGEST_PLAIN:
        return str(int(value))
    if "e" not in text:
        return text
    mantissa, exponent = text.split("e")
    mantissa = mantissa.removesuffix(".0")
    return f"{mantissa}e{int(exponent)}"


def _complex(scalar: np.ndarray, namespace: str) -> str:
    real, imag = scalar.real, scalar.imag
    imaginary = f"{abs(imag[()])!s}".removesuffix(".0") + "j"
    if np.isfinite(imag) and imag < 0 and real == 0:  # the minus also makes the real part -0
        return f"-{imaginary}"
    if (
        np.isfinite(real)
        and np.isfinite(imag)
        and not (np.signbit(real) and real == 0)
        and not (np.signbit(imag) and imag == 0)
    ):
        if imag == 0:
            return _real(real, namespace)
        if real == 0:
            return imaginary
        return f"{_real(real, namespace)} {'-' if imag < 0 else '+'} {imaginary}"
    return f"complex({_signed(real, namespace)}, {_signed(imag, namespace)})"


def _signed(part: np.ndarray, namespace: str) -> str:
    return _real(part, namespace)
