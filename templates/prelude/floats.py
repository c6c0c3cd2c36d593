"""Floating-point functions of HLO that NumPy lacks or defines differently.

Every function returns the type of its argument. Types narrower than float32 are
computed in a wider one and rounded once.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np


def horner(coefficients: Sequence[float], x: np.ndarray) -> np.ndarray:
    """Return the result of ``np.polyval`` in the type of ``x``, in a single array."""
    series = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        series *= x
        series += coefficient
    return series


ERF_NUMERATOR = (0.00022905065, 0.003408291, 0.050955694, 0.18520832, 1.1283791)
ERF_DENOMINATOR = (
    -1.1791603e-07,
    2.3547966e-05,
    0.0010179626,
    0.01407047,
    0.11098505,
    0.49746925,
    1.0,
)


def erf(x: np.ndarray | Any) -> np.ndarray:
    """Return the error function, to 2 units in the last place of float32."""
    t = x.astype(np.float32).clip(-3.8325068, 3.8325068)  # beyond which it is 1
    square = t * t
    ratio = horner(ERF_NUMERATOR, square)
    ratio /= horner(ERF_DENOMINATOR, square)
    return np.asarray(ratio * t, x.dtype)


ERF64_NUMERATOR = [
    9.604973739870516,
    90.02601972038427,
    2232.005345946843,
    7003.325141128051,
    55592.30130103949,
]
ERF64_DENOMINATOR = [
    1.0,
    33.56171416475031,
    521.3579497801527,
    4594.323829709801,
    22629.000061389095,
    49267.39426086359,
]
ERFC64_NUMERATOR = [
    2.461969814735305e-10,
    0.5641895648310689,
    7.463210564422699,
    48.63719709856814,
    196.5208329560771,
    526.4451949954773,
    934.5285271719576,
    1027.5518868951572,
    557.5353353693994,
]
ERFC64_DENOMINATOR = [
    1.0,
    13.228195115474499,
    86.70721408859897,
    354.9377788878199,
    975.7085017432055,
    1823.9091668790973,
    2246.3376081871097,
    1656.6630919416134,
    557.5353408177277,
]


def erf_float64(x: np.ndarray | Any) -> np.ndarray:
    """Return the error function, by the approximations of the Cephes library."""
    size = np.abs(x).clip(0, 6)  # beyond which it is 1
    square = size * size
    near = np.polyval(ERF64_NUMERATOR, square) / np.polyval(ERF64_DENOMINATOR, square)
    far = np.polyval(ERFC64_NUMERATOR, size) / np.polyval(ERFC64_DENOMINATOR, size)
    erf = np.where(size < 1, size * near, 1 - np.exp(-square) * far)
    return np.asarray(np.copysign(erf, x))


def logistic(x: np.ndarray) -> np.ndarray:
    """Return `1 / (1 + exp(-x))` of real numbers, rounded once."""
    wide = x.astype(np.result_type(x.dtype, np.float32))
    with np.errstate(over="ignore"):  # exp(-x) is inf where the result is 0
        result: np.ndarray = 1 / (1 + np.exp(-wide))
    return result.astype(x.dtype)


def rsqrt(x: np.ndarray) -> np.ndarray:
    """Return `1 / sqrt(x)` of real numbers, rounded once."""
    wide = x.astype(np.result_type(x.dtype, np.float32))
    with np.errstate(divide="ignore", invalid="ignore"):
        result: np.ndarray = 1 / np.sqrt(wide)
    return result.astype(x.dtype)


def sign(x: np.ndarray) -> np.ndarray:
    """Return `np.sign` of real numbers, but keep negative zeros."""
    return np.where(x == 0, x, np.sign(x))


def round_half_away(x: np.ndarray) -> np.ndarray:
    """Return `np.rint`, but round halves away from zero: 0.5 to 1, -2.5 to -3."""
    wide = x.astype(np.result_type(x.dtype, np.float32))
    whole: np.ndarray = np.trunc(wide)
    with np.errstate(invalid="ignore"):  # inf - inf
        is_half = np.abs(wide - whole) >= 0.5
    rounded = np.where(is_half, whole + np.sign(wide), whole)
    return rounded.astype(x.dtype)


FLOAT_BITS = {  # of the exponent and of the mantissa
    "float16": (5, 10),
    "bfloat16": (8, 7),
    "float32": (8, 23),
    "float64": (11, 52),
}


def reduce_precision(
    x: np.ndarray, exponent_bits: int, mantissa_bits: int
) -> np.ndarray:
    """Return `x` rounded as by a narrower float format with infinities and no
    subnormals.

    NaN needs a mantissa: without one it becomes an infinity.
    """
    if x.dtype.name not in FLOAT_BITS:
        wide = np.float32 if x.dtype.name == "float8_e8m0fnu" else np.float16
        rounded = reduce_precision(x.astype(wide), exponent_bits, mantissa_bits)
        return rounded.astype(x.dtype)
    own_exponent_bits, own_mantissa_bits = FLOAT_BITS[x.dtype.name]
    rounded = x
    dropped = own_mantissa_bits - mantissa_bits
    if dropped > 0:
        bits = x.view(f"u{x.dtype.itemsize}")
        is_odd = (bits >> dropped) & 1
        with np.errstate(over="ignore"):  # of the bits of a NaN
            bits = (bits + (2 ** (dropped - 1) - 1 + is_odd)) >> dropped << dropped
        rounded = bits.view(x.dtype)
    if exponent_bits < own_exponent_bits:
        bias = 2 ** (exponent_bits - 1) - 1
        smallest, too_large = 2.0 ** (1 - bias), 2.0 ** (bias + 1)
        size = np.abs(rounded)
        size = np.where(size < too_large, np.where(size < smallest, 0, size), np.inf)
        rounded = np.copysign(size, x).astype(x.dtype)
    not_a_number = x if mantissa_bits else x.dtype.type(np.inf)
    rounded = np.where(np.isnan(x), not_a_number, rounded)
    return rounded.astype(x.dtype, copy=False)
