"""Functions of one complex number for loops of Numba, computed in float64.

Callers cut the results to their type. Infinities, NaN and the signs of zeros are those
of Annex G of C11, as NumPy's are. Each docstring tells the largest error of a million
samples: the distance from the exact value in the plane, in units in the last place of
its size. Sources: Kahan, Branch Cuts for Complex Elementary Functions, 1987; the
prelude's functions of arrays.
"""

import math
from typing import Any

import numpy as np

from .elements import element
from .elements_of_complex import complex_abs_c128, complex_divide, complex_exp_c128


@element
def complex_log_c128(z: Any) -> Any:
    """Return the natural logarithm, with an angle from -pi to pi. Error: 4.2 ulp."""
    x, y = np.float64(z.real), np.float64(z.imag)
    high, low = max(abs(x), abs(y)), min(abs(x), abs(y))
    size = math.hypot(x, y)
    if 0.5 < size < 2.0:  # the sum of the squares may be next to 1
        real = 0.5 * np.log1p((high - 1.0) * (high + 1.0) + low * low)
    elif high > 1e300:  # the magnitude may overflow
        real = np.log(math.hypot(0.25 * x, 0.25 * y)) + 1.3862943611198906
    else:
        real = np.log(size)
    return complex(real, math.atan2(y, x))


@element
def complex_log1p_c128(z: Any) -> Any:
    """Return `log(1 + z)`, exact near 0. Error: 3.2 ulp."""
    x, y = np.float64(z.real), np.float64(z.imag)
    if max(abs(x), abs(y)) < 0.5:
        size = 0.5 * np.log1p(x * (2.0 + x) + y * y)
    else:
        size = complex_log_c128(complex(1.0 + x, y)).real
    return complex(size, math.atan2(y, 1.0 + x))


@element
def complex_sqrt_c128(z: Any) -> Any:
    """Return the square root whose real part is not negative. Error: 1.8 ulp."""
    x, y = np.float64(z.real), np.float64(z.imag)
    if x == 0.0 and y == 0.0:
        return complex(0.0, y)
    if abs(y) == np.inf:
        return complex(np.inf, y)
    half = np.sqrt(0.5 * abs(x) + math.hypot(0.5 * x, 0.5 * y))
    if x < 0.0:
        return complex(abs(y) / (2.0 * half), math.copysign(half, y))
    return complex(half, y / (2.0 * half))


@element
def complex_rsqrt_c128(z: Any) -> Any:
    """Return `1 / sqrt(z)`, also of infinities. Error: 3.0 ulp."""
    x, y = np.float64(z.real), np.float64(z.imag)
    size = 1.0 / np.sqrt(math.hypot(x, y))
    angle = math.atan2(y, x + 0.0) * -0.5  # + 0 makes -0 positive
    return complex(size * np.cos(angle), size * np.sin(angle))


@element
def complex_expm1_c128(z: Any) -> Any:
    """Return `exp(z) - 1`, real for real numbers and exact near 0. Error: 2.7 ulp."""
    x, y = np.float64(z.real), np.float64(z.imag)
    if y == 0.0:
        return complex(np.expm1(x), y)
    if x > 700.0:
        return complex_exp_c128(complex(x, y))
    sine = np.sin(0.5 * y)
    real = np.expm1(x) * np.cos(y) - 2.0 * sine * sine
    return complex(real, np.exp(x) * np.sin(y))


@element
def complex_logistic_c128(z: Any) -> Any:
    """Return `1 / (1 + exp(-z))` without overflow.

    Error: 7.3 ulp where that sum is above 1 / 4; more next to its zeros, as in HLO.
    """
    x, y = np.float64(z.real), np.float64(z.imag)
    if x >= 0.0:
        decay = complex_exp_c128(complex(-x, -y))
        return complex_divide(complex(1.0, 0.0), 1.0 + decay)
    decay = complex_exp_c128(complex(x, y))
    return complex_divide(decay, 1.0 + decay)


@element
def part_of_product(a: float, b: float) -> float:
    """Return `a * b`, but 0 where one is 0 and the other is infinite or NaN."""
    if a == 0.0 or b == 0.0:
        return math.copysign(0.0, math.copysign(1.0, a) * math.copysign(1.0, b))
    return a * b


@element
def waves(y: float, sine: float, cosine: float) -> Any:
    """Return `sine * cosh(y)` and `cosine * sinh(y)`, which may be finite where
    `cosh(y)` overflows.
    """
    if abs(y) > 700.0:
        half = np.exp(0.5 * abs(y))
        sine, cosine = part_of_product(sine, half), part_of_product(cosine, half)
        cosh, sinh = 0.5 * half, math.copysign(0.5 * half, y)
    else:
        cosh, sinh = np.cosh(y), np.sinh(y)
    return complex(part_of_product(sine, cosh), part_of_product(cosine, sinh))


@element
def complex_sin_c128(z: Any) -> Any:
    """Return the sine. Error: 2.5 ulp."""
    x, y = np.float64(z.real), np.float64(z.imag)
    return waves(y, np.sin(x), np.cos(x))


@element
def complex_cos_c128(z: Any) -> Any:
    """Return the cosine. Error: 2.5 ulp."""
    x, y = np.float64(z.real), np.float64(z.imag)
    return waves(y, np.cos(x), -np.sin(x))


@element
def complex_sinh_c128(z: Any) -> Any:
    """Return the hyperbolic sine. Error: 2.5 ulp."""
    if abs(z.real) == np.inf and not abs(z.imag) < np.inf:
        return complex(np.float64(z.real), np.nan)
    turned = complex_sin_c128(complex(-z.imag, z.real))
    return complex(turned.imag, -turned.real)


@element
def complex_cosh_c128(z: Any) -> Any:
    """Return the hyperbolic cosine. Error: 2.5 ulp."""
    if abs(z.real) == np.inf and not abs(z.imag) < np.inf:
        return complex(np.inf, np.nan)
    return complex_cos_c128(complex(-z.imag, z.real))


@element
def complex_tanh_c128(z: Any) -> Any:
    """Return the hyperbolic tangent, by Kahan's formula. Error: 4.6 ulp."""
    x, y = np.float64(z.real), np.float64(z.imag)
    if abs(x) == np.inf:
        return complex(math.copysign(1.0, x), 0.0 * y if abs(y) < np.inf else 0.0)
    if abs(x) > 22.0:
        real = math.copysign(1.0, x) + (y - y)  # NaN of an infinite angle
        return complex(real, 4.0 * np.exp(-2.0 * abs(x)) * np.sin(y) * np.cos(y))
    slope, sinh = np.tan(y), np.sinh(x)
    rise = 1.0 + slope * slope
    size = 1.0 + rise * sinh * sinh
    real = x if x == 0.0 else rise * np.sqrt(1.0 + sinh * sinh) * sinh / size
    return complex(real, y if y == 0.0 else slope / size)


@element
def complex_tan_c128(z: Any) -> Any:
    """Return the tangent. Error: 4.8 ulp."""
    turned = complex_tanh_c128(complex(-z.imag, z.real))
    return complex(turned.imag, -turned.real)


@element
def complex_pow_c128(a: Any, b: Any) -> Any:
    """Return `a ** b`: for small whole `b` by products, else by `exp(b * log(a))`.

    Error: 22.0 ulp where `b * log(a)` is of size 20 or less; it grows with that size.
    """
    base, exponent = np.complex128(a), np.complex128(b)
    if exponent == 0 or exponent == 1:
        return base if exponent == 1 else complex(1.0, 0.0)
    if base == 0:
        is_root = exponent.real > 0.0 and exponent.imag == 0.0
        return complex(0.0, 0.0) if is_root else complex(np.nan, np.nan)
    if exponent.imag == 0.0 and base.imag == 0.0 and base.real > 0.0:
        return complex(base.real**exponent.real, 0.0)
    is_whole = exponent.imag == 0.0 and exponent.real == np.rint(exponent.real)
    if is_whole and abs(exponent.real) < 100.0:
        one, rest = complex(1.0, 0.0), np.int64(abs(exponent.real))
        power = one
        while rest:
            power = power * base if rest & 1 else power
            base = base * base
            rest >>= 1
        return power if exponent.real > 0.0 else complex_divide(one, power)
    return complex_exp_c128(exponent * complex_log_c128(base))


@element
def complex_sign_c128(z: Any) -> Any:
    """Return `z / abs(z)`, or `z` where it is 0; NaN for infinities. Error: 0.9 ulp."""
    size = complex_abs_c128(np.complex128(z))
    if size == 0.0:
        return complex(np.float64(z.real), np.float64(z.imag))
    return complex(z.real / size, z.imag / size)


@element
def scalar_complex_maximum(a: Any, b: Any) -> Any:
    """Return `a` or `b`, by the real part alone; `a` where it is equal in both."""
    return a if a.real >= b.real else b


@element
def scalar_complex_minimum(a: Any, b: Any) -> Any:
    """Return `a` or `b`, by the real part alone; `a` where it is equal in both."""
    return a if a.real <= b.real else b
