"""Single values of literals: their notation in HLO, and the values that an element type holds."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import chain, count
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from .element_types import ElementType, Kind, from_dtype

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_./~-]+")
_LOOKED_AT_ONCE = 65536  # elements of a large constant that are examined at a time

VALUE = re.compile(
    r"-?(?:(?P<integer>\d++)(?P<fraction>(?:\.\d*+)?(?:[eE][+-]?\d++)?)"
    r"|(?P<special>inf|nan(?:\((?P<payload>0x[\da-fA-F]++)\))?))(?![\w.])"
    r"|(?P<word>true|false)(?![\w.])",
    re.ASCII,
)


class WrongKindError(ValueError):
    """A value of another kind than the element type: a fraction for integers, a word for numbers."""


def parse_value(match: re.Match[str], element_type: ElementType) -> int | float | None:
    """Return the value of a match of ``VALUE`` in a type that is not complex; ``None`` if it is out of range.

    The payload of a NaN is left to :func:`nan_bits`. Raises ``WrongKindError``.
    """
    if element_type.is_floating:
        return _float(match, element_type)
    if match["word"] and element_type.kind is Kind.PRED:
        return int(match["word"] == "true")
    if match["integer"] is None or match["fraction"]:
        raise WrongKindError
    digits = match["integer"].lstrip("0")
    if len(digits) > 20:  # Python converts long digit strings in quadratic time
        return None
    value = -int(digits or "0") if match.group().startswith("-") else int(digits or "0")
    return _held(value, element_type)


def _held(value: int, element_type: ElementType) -> int | None:
    """Return an integer as XLA reads it, or ``None`` if it is out of range: ``pred`` is whether it is not 0, and 64-bit
    types accept the range of both signs, modulo 2**64.
    """
    low, high = integer_range(element_type)
    if element_type.kind is Kind.PRED or element_type.bits == 64:
        if not -(1 << 63) <= value < 1 << 64:
            return None
        return int(value != 0) if element_type.kind is Kind.PRED else (value - low) % (1 << 64) + low
    return value if low <= value <= high else None


def _float(match: re.Match[str], element_type: ElementType) -> float | None:
    if match["word"]:
        raise WrongKindError
    if match["payload"]:
        return math.nan
    value = float(match.group())
    if match["special"] is None:
        return value if is_in_range(value, element_type) else None
    return value if math.isinf(value) or has_nan(element_type) else None


@lru_cache(maxsize=4096)
def scalar_array(text: str, element_type: ElementType) -> npt.NDArray[Any] | None:
    """Return the read-only array of rank 0 for a plain number; ``None`` if the exact parser is needed."""
    match = VALUE.fullmatch(text)
    if match is None or match["payload"] or element_type.is_complex:
        return None
    try:
        value = parse_value(match, element_type)
    except WrongKindError:
        return None
    if value is None:
        return None
    with np.errstate(all="ignore"):
        result = np.asarray(value).astype(element_type.dtype)
    result.flags.writeable = False
    return result


@cache
def integer_range(element_type: ElementType) -> tuple[int, int]:
    """Return the smallest and the largest value of an integer type; 0 and 1 for ``pred``."""
    if element_type.kind is Kind.PRED:
        return 0, 1
    if element_type.is_signed:
        return -(1 << element_type.bits - 1), (1 << element_type.bits - 1) - 1
    return 0, (1 << element_type.bits) - 1


def is_in_range(value: float, element_type: ElementType) -> bool:
    """Return whether a finite number rounds to a finite one of the type."""
    return abs(value) <= largest_magnitude(element_type) and (
        has_zero(element_type) or not np.isnan(np.float64(value).astype(element_type.dtype))
    )


@cache
def largest_magnitude(element_type: ElementType) -> float:
    """Return the largest magnitude that still rounds to a finite value: about half a step above the largest value."""
    info = ml_dtypes.finfo(element_type.dtype)
    largest = float(info.max)
    if element_type.bits == 64:
        return largest
    middle = largest + 2.0 ** (math.frexp(largest)[1] - 2 - mantissa_bits(element_type))
    with np.errstate(over="ignore"):
        return middle if np.isfinite(np.float64(middle).astype(element_type.dtype)) else math.nextafter(middle, 0)


@cache
def mantissa_bits(element_type: ElementType) -> int:
    return int(ml_dtypes.finfo(element_type.dtype).nmant)


@cache
def has_zero(element_type: ElementType) -> bool:
    """Return whether the type holds zero and negative numbers: all types except the exponent-only ``f8e8m0fnu``."""
    return float(ml_dtypes.finfo(element_type.dtype).min) < 0


@cache
def has_nan(element_type: ElementType) -> bool:
    with np.errstate(invalid="ignore"):
        return bool(np.isnan(np.float64(np.nan).astype(element_type.dtype)))


@cache
def has_nan_payloads(element_type: ElementType) -> bool:
    """Return whether NaNs carry a mantissa, as in IEEE 754: those of the types that have an infinity."""
    with np.errstate(over="ignore"):
        return bool(np.isinf(np.float64(np.inf).astype(element_type.dtype)))


def nan_bits(match: re.Match[str], element_type: ElementType) -> int | None:
    """Return the bit pattern of ``-nan(0x7)``: all exponent bits set, the payload as mantissa; ``None`` if it does not
    fit.
    """
    bits = mantissa_bits(element_type)
    payload = int(match["payload"], 16)
    if not 0 < payload < 1 << bits or not has_nan_payloads(element_type):
        return None
    exponent = (1 << element_type.bits - 1 - bits) - 1
    sign = int(match.group().startswith("-"))
    return sign << element_type.bits - 1 | exponent << bits | payload


def nan_sign(value: npt.NDArray[Any] | np.generic) -> str:
    """Return ``-`` for a NaN with the bits of the type's ``-nan``, "" for the usual NaN and for types with only one."""
    scalar = np.asarray(value)
    usual, negative = _nans(scalar.dtype)
    return "-" if scalar.tobytes() == negative != usual else ""


def has_odd_nan(array: npt.NDArray[Any]) -> bool:
    """Return whether an array has a NaN with other bits than ``nan`` and ``-nan``. Complex numbers count as two."""
    if array.dtype.kind == "c":
        array = np.ascontiguousarray(array).reshape(-1).view(f"f{array.dtype.itemsize // 2}")
    if array.dtype.kind in "biu" or not has_nan(from_dtype(array.dtype)):
        return False
    elements = array.reshape(-1)
    parts = (elements[i : i + _LOOKED_AT_ONCE] for i in range(0, array.size, _LOOKED_AT_ONCE))
    with np.errstate(invalid="ignore"):
        found = (part[np.isnan(part)].view(f"u{array.itemsize}") for part in parts)
        return any(bits.tobytes() not in _nans(array.dtype) for part in found if part.size for bits in np.unique(part))


@cache
def _nans(dtype: np.dtype[Any]) -> tuple[bytes, bytes]:
    with np.errstate(invalid="ignore"):
        usual, negative = np.array([np.nan, -np.nan]).astype(dtype)
    return usual.tobytes(), negative.tobytes()


def array_sha256(array: npt.NDArray[Any]) -> str:
    """Return the SHA-256 of an array's bytes in row-major order, in hexadecimal digits; contiguous arrays are not
    copied.
    """
    octets = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return hashlib.sha256(octets.data).hexdigest()


def array_name(text: str) -> str:
    """Return an array's name, ``params.layers.0.w``: keys joined by dots, with ``_`` for what is neither a letter, a
    digit nor in ``_/~-``.
    """
    return _NOT_IN_NAMES.sub("_", text)


def distinct_names(names: Mapping[str, str]) -> dict[str, str]:
    """Return names of arrays by hash without duplicates: a second ``params.w`` becomes ``params_2.w``."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for digest, name in names.items():
        root, dot, words = name.partition(".")
        others = (f"{root}_{k}{dot}{words}" for k in count(2))
        found[digest] = next(each for each in chain((name,), others) if each not in taken)
        taken.add(found[digest])
    return found
