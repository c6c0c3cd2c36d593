"""Definitions of operations in plain Python and NumPy, for what XLA on the CPU does not run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from xla2py.tests.operations.values import Array
from xla2py.transpile.hlo.element_types import ElementType, from_dtype

# -- integers: on Python ints of `bits` bits, the result wrapped afterwards


def _divide(a: int, b: int, bits: int, signed: bool) -> int:
    if b == 0:
        return -1
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int, bits: int, signed: bool) -> int:
    return a if b == 0 else abs(a) % abs(b) * (-1 if a < 0 else 1)


def _power(a: int, b: int, bits: int, signed: bool) -> int:
    if b < 0:
        return {1: 1, -1: -1 if b % 2 else 1}.get(a, 0)
    return pow(a, b, 1 << bits)


def _unsigned(a: int, bits: int) -> int:
    return a % (1 << bits)


def _shift_left(a: int, b: int, bits: int, signed: bool) -> int:
    amount = _unsigned(b, bits)
    return a << amount if amount < bits else 0


def _shift_right_logical(a: int, b: int, bits: int, signed: bool) -> int:
    amount = _unsigned(b, bits)
    return _unsigned(a, bits) >> amount if amount < bits else 0


def _shift_right_arithmetic(a: int, b: int, bits: int, signed: bool) -> int:
    pattern = _unsigned(a, bits)
    value = pattern - (1 << bits) if pattern >> (bits - 1) else pattern
    return value >> min(_unsigned(b, bits), bits)


BINARY: dict[str, Callable[[int, int, int, bool], int]] = {
    "add": lambda a, b, bits, signed: a + b,
    "subtract": lambda a, b, bits, signed: a - b,
    "multiply": lambda a, b, bits, signed: a * b,
    "divide": _divide,
    "remainder": _remainder,
    "power": _power,
    "maximum": lambda a, b, bits, signed: max(a, b),
    "minimum": lambda a, b, bits, signed: min(a, b),
    "and": lambda a, b, bits, signed: a & b,
    "or": lambda a, b, bits, signed: a | b,
    "xor": lambda a, b, bits, signed: a ^ b,
    "shift-left": _shift_left,
    "shift-right-logical": _shift_right_logical,
    "shift-right-arithmetic": _shift_right_arithmetic,
    "mulhi": lambda a, b, bits, signed: a * b >> bits,
}

UNARY: dict[str, Callable[[int, int], int]] = {
    "abs": lambda a, bits: abs(a),
    "negate": lambda a, bits: -a,
    "not": lambda a, bits: ~a,
    "sign": lambda a, bits: (a > 0) - (a < 0),
    "popcnt": lambda a, bits: _unsigned(a, bits).bit_count(),
    "count-leading-zeros": lambda a, bits: bits - _unsigned(a, bits).bit_length(),
}


def wrapped(values: list[int], element_type: ElementType) -> Array:
    """Python ints as an array of an integer type, modulo its width."""
    span, low = 1 << element_type.bits, -(1 << (element_type.bits - 1)) if element_type.is_signed else 0
    return np.array([(value - low) % span + low for value in values], object).astype(element_type.dtype)


def integer_binary(opcode: str) -> Callable[[Array, Array], Array]:
    """The operation on arrays of one integer type."""

    def apply(left: Array, right: Array) -> Array:
        kind = from_dtype(left.dtype)
        pairs = zip(left.ravel().tolist(), right.ravel().tolist(), strict=True)
        values = [BINARY[opcode](int(a), int(b), kind.bits, kind.is_signed) for a, b in pairs]
        return wrapped(values, kind).reshape(left.shape)

    return apply


def integer_unary(opcode: str) -> Callable[[Array], Array]:
    """The operation on an array of an integer type."""

    def apply(operand: Array) -> Array:
        kind = from_dtype(operand.dtype)
        return wrapped([UNARY[opcode](int(a), kind.bits) for a in operand.ravel()], kind).reshape(operand.shape)

    return apply


# -- floats and complex numbers: NumPy in double precision, rounded once


def rounded(function: Callable[..., Any]) -> Callable[..., Array]:
    """A NumPy function, computed in double precision and rounded to the operands' type."""

    def apply(*operands: Array) -> Array:
        dtype = operands[0].dtype
        wide = np.complex128 if dtype.kind == "c" else np.float64
        with np.errstate(all="ignore"):
            return np.asarray(function(*(operand.astype(wide) for operand in operands))).astype(dtype)

    return apply


def stochastic_convert(result: ElementType) -> Callable[[Array, Array], Array]:
    """Float to integer, up with the probability of the fraction: where the random number is below it."""
    low, high = (
        (-(1 << (result.bits - 1)), (1 << (result.bits - 1)) - 1) if result.is_signed else (0, (1 << result.bits) - 1)
    )

    def one(operand: float, random: int, digits: int) -> int:
        if operand != operand:
            return 0
        if operand >= high or operand <= low:
            return high if operand > 0 else low
        whole = int(abs(operand))
        whole += random < int((abs(operand) - whole) * 2.0**digits)
        return -whole if operand < 0 else whole

    def apply(operand: Array, random: Array) -> Array:
        digits = random.dtype.itemsize * 8
        values = [one(float(a), int(r), digits) for a, r in zip(operand.ravel(), random.ravel(), strict=True)]
        return wrapped(values, result).reshape(operand.shape)

    return apply
