"""Integers as HLO defines them, one at a time, for loops of Numba.

Numba computes them in 64 bits: callers tell the `width` of their type, and cut the
results to it.
"""

from typing import Any

import numpy as np

from .elements import element


@element
def scalar_shift_left(x: Any, amount: Any, width: int) -> Any:
    """Return `x << amount`, 0 where `amount` is not less than `width`."""
    return (x << (amount & 63)) * (0 <= amount < width)


@element
def scalar_shift_right(x: Any, amount: Any, width: int) -> Any:
    """Return `x >> amount` of an unsigned number, 0 for an `amount` from `width` on."""
    return (x >> (amount & 63)) * (0 <= amount < width)


@element
def scalar_shift_right_arithmetic(x: Any, amount: Any, width: int) -> Any:
    """Return `x >> amount` of a signed number, its sign for an `amount` from `width`
    on.
    """
    beyond = 0 if 0 <= amount < width else 63
    return x >> np.int64(amount & 63 | beyond)


@element
def scalar_popcount(x: Any) -> np.uint64:
    """Return how many bits of an unsigned number are set."""
    bits = np.uint64(x)
    bits -= bits >> np.uint64(1) & np.uint64(0x5555555555555555)
    low = bits & np.uint64(0x3333333333333333)
    bits = low + (bits >> np.uint64(2) & np.uint64(0x3333333333333333))
    bits = bits + (bits >> np.uint64(4)) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return bits * np.uint64(0x0101010101010101) >> np.uint64(56)


@element
def scalar_count_leading_zeros(x: Any, width: int) -> Any:
    """Return how many of `width` bits are above the highest set bit of an unsigned
    number.
    """
    filled = np.uint64(x)
    for shift in (1, 2, 4, 8, 16, 32):
        filled |= filled >> np.uint64(shift)
    return width - np.int64(scalar_popcount(filled))


@element
def scalar_int_power(base: Any, exponent: Any) -> np.uint64:
    """Return the bits of `base**exponent`; a negative exponent gives 1 or -1 for these
    bases, else 0.
    """
    power, rest = np.uint64(1), np.uint64(exponent)
    if exponent < 0:
        rest = rest & np.uint64(1)
        power = np.uint64(base == 1 or base == -1)
    square = np.uint64(base)
    while rest:
        power = power * square if rest & np.uint64(1) else power
        square = square * square
        rest >>= np.uint64(1)
    return power


@element
def scalar_mulhi(a: Any, b: Any, width: int) -> Any:
    """Return the upper half of the product of two numbers of at most 32 bits."""
    return a * b >> width


@element
def scalar_mulhi_uint64(a: Any, b: Any) -> np.uint64:
    """Return the upper half of the product of two uint64."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a_low, a_high, b_low, b_high = a & low, a >> half, b & low, b >> half
    middle = a_high * b_low + (a_low * b_low >> half)
    lower = a_low * b_high + (middle & low)
    upper: np.uint64 = a_high * b_high + (middle >> half) + (lower >> half)
    return upper


@element
def scalar_mulhi_int64(a: Any, b: Any) -> np.uint64:
    """Return the bits of the upper half of the product of two int64."""
    x, y = np.uint64(a), np.uint64(b)
    high = scalar_mulhi_uint64(x, y)
    high -= y if a < 0 else np.uint64(0)
    return high - (x if b < 0 else np.uint64(0))
