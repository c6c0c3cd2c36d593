"""Folding of element-wise operations on constants of any shape whose result is exact on every library and processor."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ....templates.prelude.conversion import to_int
from ...hlo.element_types import ElementType


def _quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """Return the quotient of integers, truncated; None if a divisor is 0 or -1."""
    if np.any((b == 0) | (b == -1)):
        return None
    whole = a // b
    return np.asarray(whole + ((whole < 0) & (whole * b != a)), a.dtype)


def _half_away(x: np.ndarray) -> np.ndarray:
    size = np.abs(x)
    whole = np.floor(size)
    return np.asarray(np.copysign(whole + (size - whole >= 0.5).astype(x.dtype), x))


def _shifted(shift: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable[..., np.ndarray | None]:
    """Return a shift that gives None unless all amounts are less than the width."""
    return lambda x, places: (
        shift(x, places) if np.all((places >= 0) & (places < np.asarray(8 * x.dtype.itemsize, np.int64))) else None
    )


def _of_real(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that gives None for complex numbers, which have no order."""
    return lambda *operands: None if any(operand.dtype.kind == "c" for operand in operands) else function(*operands)


def _shifted_right_as(kind: str) -> Callable[..., np.ndarray | None]:
    """Return a right shift of signed (``i``) or unsigned (``u``) integers, whatever the type of the operands."""

    def shift(x: np.ndarray, places: np.ndarray) -> np.ndarray:
        dtype = np.dtype(f"{kind}{x.dtype.itemsize}")
        return np.asarray(x.view(dtype) >> places.astype(dtype)).view(x.dtype)

    return _shifted(shift)


_EXACT: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "maximum": _of_real(np.maximum),
    "minimum": _of_real(np.minimum),
    "abs": np.abs,
    "real": np.real,
    "imag": np.imag,
    "floor": np.floor,
    "ceil": np.ceil,
    "sqrt": np.sqrt,
    "round-nearest-even": np.rint,
    "round-nearest-afz": _half_away,
    "shift-left": _shifted(operator.lshift),
    "shift-right-arithmetic": _shifted_right_as("i"),
    "shift-right-logical": _shifted_right_as("u"),
    "isnan": np.isnan,
    "is-finite": np.isfinite,
    "sign": _of_real(lambda x: np.where(x == 0, x, np.sign(x))),  # a zero keeps its sign
    "remainder": _of_real(lambda a, b: None if a.dtype.kind in "iu" and not np.all(b) else np.fmod(a, b)),
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "select": np.where,
    "clamp": _of_real(lambda low, x, high: np.minimum(np.maximum(x, low), high)),
}
_COMPARISONS = {
    "EQ": operator.eq,
    "NE": operator.ne,
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
}


def is_exact(opcode: str) -> bool:
    """Return whether an operation on floats is folded exactly."""
    return opcode in _EXACT or opcode == "divide"


def compared(direction: str, a: np.ndarray, b: np.ndarray) -> Any:
    """Return the result of a comparison; NaN differs from all numbers, and is neither above nor below any."""
    return _COMPARISONS[direction](a, b)


def fold(
    opcode: str, operands: list[np.ndarray], element_type: ElementType, parameters: dict[str, Any]
) -> np.ndarray | None:
    """Return the value of an element-wise operation on constants, or None if it is left to run time."""
    if any(operand.dtype.kind not in "biufc" for operand in operands):
        return None  # ml_dtypes have their own arithmetic
    with np.errstate(all="ignore"):
        if opcode == "compare":
            return np.asarray(compared(parameters["direction"], *operands))
        if opcode == "convert":
            return _convert(operands[0], element_type)
        if opcode == "view":
            return _viewed(operands[0], element_type.dtype)
        if opcode == "divide" and element_type.is_floating:
            return _with_plain_nan(np.asarray(operands[0] / operands[1]), operands)
        if opcode == "divide" and element_type.is_integral:
            return _quotient(*operands)
        if opcode == "negate" and operands[0].dtype.kind != "b":
            return np.asarray(-operands[0])
        if opcode == "not":
            return np.asarray(~operands[0])
        function = _EXACT.get(opcode)
        if function is None:
            return None
        found = function(*operands)
        if found is None:
            return None
        result = np.asarray(found)
        return _with_plain_nan(result, operands) if result.dtype == element_type.dtype else None


def _with_plain_nan(result: np.ndarray, operands: list[np.ndarray]) -> np.ndarray:
    """Return the result with a plain NaN where numbers give one: its sign depends on the processor."""
    if result.dtype.kind != "f":
        return result
    is_new = np.isnan(result)
    for operand in operands:
        is_new &= ~np.isnan(operand)
    return np.asarray(np.where(is_new, np.asarray(np.nan, result.dtype), result))


def _viewed(operand: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray | None:
    """Return the same bits in another type of the same width; None for a NaN whose bits no literal expresses."""
    if operand.dtype.itemsize != dtype.itemsize or dtype.kind not in "iuf":
        return None
    result = operand.view(dtype)
    if dtype.kind == "f":
        plain = np.where(np.isnan(result), np.copysign(np.asarray(np.nan, dtype), result), result)
        return result if plain.tobytes() == result.tobytes() else None
    return result


def _convert(operand: np.ndarray, element_type: ElementType) -> np.ndarray | None:
    """Return a conversion by HLO's rules: integers that are too large saturate, NaN gives 0. None for narrow types."""
    if element_type.is_extension or element_type.bits < 8:
        return None
    if operand.dtype.kind == "c" and not element_type.is_complex:
        operand = operand.real
    if operand.dtype.kind == "f" and element_type.is_integral:
        return np.asarray(to_int(operand, element_type.dtype))
    return operand.astype(element_type.dtype)
