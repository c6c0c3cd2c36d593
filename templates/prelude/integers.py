"""Integers as HLO defines them, where NumPy differs: division, powers, shifts, bits.

Every function takes integers of one type, which broadcast, and returns that type. The
types of ml_dtypes narrower than a byte (int2, int4, uint2, uint4) work too: their + - *
wrap; other NumPy operations on them return int8, which `.astype` wraps back.
"""

from typing import Any

import numpy as np


def int_divide(a: Any, b: Any) -> np.ndarray:
    """Return `a / b` rounded toward zero (`//` rounds down); all bits set where `b` is
    0.
    """
    with np.errstate(divide="ignore", over="ignore"):
        quotient = (a - np.fmod(a, b)) // b
    result: np.ndarray = np.where(b == 0, ~b, quotient)
    return result.astype(a.dtype)


def int_remainder(a: Any, b: Any) -> np.ndarray:
    """Return the remainder with the sign of `a`, as `np.fmod`; `a` where `b` is 0."""
    with np.errstate(divide="ignore"):
        rest: np.ndarray = np.where(b == 0, a, np.fmod(a, b))
    return rest.astype(a.dtype)


def int_power(base: Any, exponent: Any) -> np.ndarray:
    """Return `base**exponent`; a negative exponent gives 1 or -1 for these bases, else
    0.
    """
    negative = exponent < 0
    with np.errstate(over="ignore"):
        power = base ** np.where(negative, exponent & 1, exponent)
        vanishes = negative & (np.abs(base) != 1)
    return np.where(vanishes, 0, power).astype(base.dtype)


def shift_right_logical(x: Any, amount: Any) -> np.ndarray:
    """Return `x >> amount`, with zeros shifted into signed integers, too."""
    shifted: np.ndarray = unsigned_bits(x) >> unsigned_bits(amount)
    return shifted.astype(x.dtype)


def shift_right_arithmetic(x: Any, amount: Any) -> np.ndarray:
    """Return `x >> amount`, with the top bit of unsigned integers repeated, too."""
    width = x.dtype.name.strip("uint")  # "4" of uint4
    signed, signed_amount = (y.astype(f"i{y.dtype.itemsize}") for y in (x, amount))
    shifted: np.ndarray = signed.astype(f"int{width}") >> signed_amount
    return shifted.astype(x.dtype)


def popcount(x: np.ndarray) -> np.ndarray:
    """Return how many bits of `x` are set; `np.bitwise_count` takes `abs(x)`."""
    count: np.ndarray = np.bitwise_count(unsigned_bits(x))
    return count.astype(x.dtype)


def count_leading_zeros(x: np.ndarray) -> np.ndarray:
    """Return how many zero bits are above the highest set bit of `x`; all of them for
    0.
    """
    filled = unsigned_bits(x)
    for shift in (1, 2, 4, 8, 16, 32):
        filled = filled | (filled >> shift)  # at last all bits below the highest one
    return popcount((~filled).astype(x.dtype))


def mulhi(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the upper half of the product `a * b`, which has twice as many bits."""
    width = int(a.dtype.name.strip("uint"))
    if width < 64:
        wide = np.uint64 if a.dtype.kind == "u" else np.int64
        product: np.ndarray = a.astype(wide) * b.astype(wide)
        return (product >> width).astype(a.dtype)
    (a_high, a_low), (b_high, b_low) = ((x >> 32, x & 0xFFFFFFFF) for x in (a, b))
    carry = (unsigned_bits(a_low) * unsigned_bits(b_low)) >> 32
    middle = a_high * b_low + carry.astype(a.dtype)
    lower = a_low * b_high + (middle & 0xFFFFFFFF)
    return np.asarray(a_high * b_high + (middle >> 32) + (lower >> 32))


def unsigned_bits(x: np.ndarray) -> np.ndarray:
    """Return the bits of the integers `x` as unsigned numbers: 255 for int8 -1."""
    width = int(x.dtype.name.strip("uint"))  # 4 for int4, which takes a whole byte
    bits: np.ndarray = x.view(f"u{x.dtype.itemsize}") & (2**width - 1)
    return bits
