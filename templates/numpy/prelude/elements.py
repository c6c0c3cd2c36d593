"""Functions of one number for loops of Numba, where its own differ from HLO's.

Numba computes integers in 64 bits: callers cut the results to their type.
"""

import math
from typing import Any

import numpy as np
from numba import njit

element = njit(error_model="numpy", fastmath={"contract"}, nogil=True)
in_any_order = njit(fastmath={"contract", "reassoc"}, nogil=True)


@in_any_order
def plus(total: Any, x: Any) -> Any:
    """Return a sum whose order does not matter: many numbers are added at a time."""
    return total + x


@in_any_order
def times(product: Any, x: Any) -> Any:
    """Return a product whose order does not matter: many numbers are multiplied at a
    time.
    """
    return product * x


@element
def copy_into(target: Any, source: Any) -> None:
    """Write the elements of an array over those of another, contiguous or a line."""
    if target.ndim == 1:
        for i in range(len(target)):
            target[i] = source[i]
    elif target.ndim == 2:  # several times faster for few elements
        for i in range(target.shape[0]):
            for j in range(target.shape[1]):
                target[i, j] = source[i, j]
    else:
        to, elements = target.reshape(-1), source.ravel()
        for i in range(len(to)):
            to[i] = elements[i]


@element
def three_halves_power(x: Any) -> Any:
    """Return x ** 1.5. Error: 1 ulp."""
    return -x if x == -np.inf else x * np.sqrt(x)


@element
def max_key_f32(x: np.float32) -> np.int32:
    """Return an integer that orders as float32 does, the largest for NaN."""
    bits = np.float32(x).view(np.int32)
    return np.int32(0x7FFFFFFF if np.isnan(x) else bits ^ (bits >> 31 & 0x7FFFFFFF))


@element
def min_key_f32(x: np.float32) -> np.int32:
    """Return an integer that orders as float32 does, the smallest for NaN."""
    bits = np.float32(x).view(np.int32)
    return np.int32(-0x80000000 if np.isnan(x) else bits ^ (bits >> 31 & 0x7FFFFFFF))


@element
def float_of_key_f32(key: np.int32) -> np.float32:
    """Return the float32 of a key."""
    return np.int32(key ^ (key >> 31 & 0x7FFFFFFF)).view(np.float32)


@element
def max_key_f64(x: float) -> Any:
    """Return an integer that orders as float64 does, the largest for NaN."""
    bits = np.float64(x).view(np.int64)
    return (
        0x7FFFFFFFFFFFFFFF if np.isnan(x) else bits ^ (bits >> 63 & 0x7FFFFFFFFFFFFFFF)
    )


@element
def min_key_f64(x: float) -> Any:
    """Return an integer that orders as float64 does, the smallest for NaN."""
    bits = np.float64(x).view(np.int64)
    return (
        -0x8000000000000000 if np.isnan(x) else bits ^ (bits >> 63 & 0x7FFFFFFFFFFFFFFF)
    )


@element
def float_of_key_f64(key: np.int64) -> float:
    """Return the float64 of a key."""
    return np.int64(key ^ (key >> 63 & 0x7FFFFFFFFFFFFFFF)).view(np.float64)


@element
def scalar_maximum(a: Any, b: Any) -> Any:
    """Return ``np.maximum`` of two numbers, in fewer steps than Numba's."""
    return a if a > b or np.isnan(a) else b


@element
def scalar_minimum(a: Any, b: Any) -> Any:
    """Return ``np.minimum`` of two numbers, in fewer steps than Numba's."""
    return a if a < b or np.isnan(a) else b


@element
def scalar_sign(x: Any) -> Any:
    """Return -1 or 1; NaN and signed zeros as they are."""
    return x if x == 0 or np.isnan(x) else x / abs(x) if abs(x) < np.inf else np.sign(x)


@element
def scalar_round_half_away(x: Any) -> Any:
    """Return the nearest whole number; halves go away from zero."""
    whole = np.trunc(x)
    return whole if not abs(x - whole) >= 0.5 else whole + np.sign(x)


@element
def scalar_reduce_precision(
    x: np.float32, exponent_bits: int, mantissa_bits: int
) -> np.float32:
    """Return a float32 rounded as by a narrower format with infinities and no
    subnormals.
    """
    if np.isnan(x):
        return x if mantissa_bits else np.float32(np.inf)
    bits, dropped = np.int64(np.float32(x).view(np.uint32)), 23 - mantissa_bits
    if dropped > 0:
        half = (1 << (dropped - 1)) - 1 + ((bits >> dropped) & 1)
        bits = (bits + half) >> dropped << dropped
    size = np.uint32(bits & 0x7FFFFFFF).view(np.float32)
    if exponent_bits < 8:
        bias = (1 << (exponent_bits - 1)) - 1
        size = np.float32(0) if size < 2.0 ** (1 - bias) else size
        size = np.float32(np.inf) if size >= 2.0 ** (bias + 1) else size
    return np.float32(math.copysign(size, x))


@element
def scalar_int_divide(a: Any, b: Any) -> Any:
    """Return `a / b` of signed integers, rounded toward zero; -1 where `b` is 0."""
    if b == 0:
        return -1
    if b == -1:
        return -a
    quotient = a // b
    return quotient + 1 if quotient < 0 and quotient * b != a else quotient


@element
def scalar_int_remainder(a: Any, b: Any) -> Any:
    """Return the remainder of signed integers, of the sign of `a`; `a` if `b` is 0."""
    return a if b == 0 else a - scalar_int_divide(a, b) * b


@element
def scalar_uint_divide(a: Any, b: Any) -> Any:
    """Return `a // b` of unsigned integers; all bits set where `b` is 0."""
    return ~b if b == 0 else a // b


@element
def scalar_uint_remainder(a: Any, b: Any) -> Any:
    """Return `a % b` of unsigned integers; `a` where `b` is 0."""
    return a if b == 0 else a % b


@element
def scalar_erf_float64(x: float) -> float:
    """Return the error function."""
    return math.erf(x)


@element
def scalar_erfc_float64(x: float) -> float:
    """Return the complementary error function."""
    return math.erfc(x)


@element
def scalar_normal_cdf_float64(x: float) -> float:
    """Return the probability of a standard normal number below ``x``."""
    return math.erfc(x * -0.7071067811865476) * 0.5


@element
def scalar_to_int8(x: Any) -> np.int8:
    """Return a number truncated to an integer; large ones saturate, NaN becomes 0."""
    return np.int8(0 if np.isnan(x) else min(max(x, -128.0), 127.0))


@element
def scalar_to_uint8(x: Any) -> np.uint8:
    """Return a number truncated to an integer; large ones saturate, NaN becomes 0."""
    return np.uint8(0 if np.isnan(x) else min(max(x, 0.0), 255.0))


@element
def scalar_to_int16(x: Any) -> np.int16:
    """Return a number truncated to an integer; large ones saturate, NaN becomes 0."""
    return np.int16(0 if np.isnan(x) else min(max(x, -32768.0), 32767.0))


@element
def scalar_to_uint16(x: Any) -> np.uint16:
    """Return a number truncated to an integer; large ones saturate, NaN becomes 0."""
    return np.uint16(0 if np.isnan(x) else min(max(x, 0.0), 65535.0))


@element
def scalar_to_int32(x: Any) -> np.int32:
    """Return a number truncated to an integer; large ones saturate, NaN becomes 0."""
    if not abs(x) < 2147483648.0:  # as few are: to limit all of them would take longer
        limit = np.int32(-2147483648) if x < 0 else np.int32(2147483647)
        return np.int32(0) if np.isnan(x) else limit
    return np.int32(x)


@element
def scalar_to_uint32(x: Any) -> np.uint32:
    """Return a number truncated to an integer; large ones saturate, NaN becomes 0."""
    return np.uint32(0 if np.isnan(x) else min(max(x, 0.0), 4294967295.0))


@element
def scalar_to_int64(x: Any) -> np.int64:
    """Return a number truncated to an integer; large ones saturate, NaN becomes 0."""
    if not x > -9.223372036854776e18:
        return np.int64(-9223372036854775808 if not np.isnan(x) else 0)
    return np.int64(9223372036854775807) if x >= 9.223372036854776e18 else np.int64(x)


@element
def scalar_to_uint64(x: Any) -> np.uint64:
    """Return a number truncated to an integer; large ones saturate, NaN becomes 0."""
    if not x > 0:
        return np.uint64(0)
    return (
        np.uint64(18446744073709551615) if x >= 1.8446744073709552e19 else np.uint64(x)
    )
