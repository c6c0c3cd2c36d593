"""Elementary functions of one number of type float64, which loops of Numba call.

Each docstring tells the largest error of samples in units of the last place.
Signs of zero, infinities and subnormal numbers are those of IEEE 754, NaN gives NaN.
Coefficients are minimax fits of the relative error (Remez; a rational fit for erf),
highest power first. Reductions follow Cody and Waite, Software Manual for the
Elementary Functions, and Muller, Elementary Functions.
"""

import numpy as np

from ...prelude.special import ERF_INV64_MIDDLE, ERF_INV64_NEAR, ERF_INV64_TAIL
from .mathematics import elementary, polynomial


@elementary
def bits_f64(x: float) -> np.int64:
    """Return the bits of a float64 as int64."""
    return np.float64(x).view(np.int64)


@elementary
def float_of_bits_f64(bits: np.int64) -> float:
    """Return the float64 of these bits."""
    return np.int64(bits).view(np.float64)


# (e**r - 1 - r) / r**2 where abs(r) <= log(2) / 2.
EXP_F64 = (
    *(2.0924529393855202e-09, 2.5109125698465946e-08, 2.755724248642586e-07),
    *(2.755724397862151e-06, 2.4801587360864493e-05, 0.0001984126988632861),
    *(0.0013888888888866694, 0.008333333333321563, 0.0416666666666667),
    *(0.16666666666666677, 0.5),
)


@elementary
def exp_steps_f64(x: float) -> tuple[np.int64, float]:
    """Return the whole number n next to x / log(2), and e ** (x - n log(2)) - 1."""
    shifted = x * 1.4426950408889634 + 6755399441055744.0  # rounds; 1.5 * 2**52
    n = shifted - 6755399441055744.0
    power = bits_f64(shifted) - 0x4338000000000000
    r = x - n * 0.693147180559663 - n * 2.8235290563031577e-13
    return power, r + r * r * polynomial(r, EXP_F64)


@elementary
def power_of_two_f64(n: np.int64) -> float:
    """Return 2 ** n for -1022 <= n <= 1023."""
    return float_of_bits_f64((n + 1023) << 52)


@elementary
def exp_f64(x: float) -> float:
    """Return e ** x. Error: 1.0 ulp."""
    x = min(x, 710.0)  # infinite
    x = max(x, -746.0)  # 0
    power, e = exp_steps_f64(x)
    half = power >> 1  # 2**power may be no float
    scaled = power_of_two_f64(half) + e * power_of_two_f64(half)
    return scaled * power_of_two_f64(power - half)


@elementary
def expm1_f64(x: float) -> float:
    """Return e ** x - 1. Error: 1.9 ulp."""
    y = min(x, 710.0)  # infinite
    y = max(y, -38.0)  # -1
    power, e = exp_steps_f64(y)
    scale = power_of_two_f64(power - 1)  # 2**1024 is no float
    half = e * scale + (scale - 0.5)
    return x if abs(x) < 1e-17 else half + half


@elementary
def sigmoid_f64(x: float) -> float:
    """Return 1 / (1 + e ** -x). Error: 2.4 ulp."""
    e = exp_f64(-abs(x))
    return (1.0 if x >= 0.0 else e) / (1.0 + e)


@elementary
def tanh_f64(x: float) -> float:
    """Return tanh(x), exactly 1 from 19.1 on. Error: 2.7 ulp."""
    y = 2.0 * abs(x)
    y = min(y, 40.0)
    e = expm1_f64(y)
    found: float = np.copysign(e / (e + 2.0), x)
    return found


# (2 * atanh(s) - 2 * s) / s**3, of s**2.
LOG_F64 = (
    *(0.1328349689168902, 0.13246569779679318, 0.1538724852163309),
    *(0.18181772050979073, 0.22222222692994606, 0.28571428568786217),
    *(0.4000000000000718, 0.6666666666666666),
)


@elementary
def log_steps_f64(x: float) -> tuple[float, float]:
    """Return the logarithm of a positive normal number, as a sum of two."""
    bits = bits_f64(x)
    power = (bits - 0x3FE6A09E667F3BCD) >> 52  # 0 from sqrt(1 / 2) on
    f = float_of_bits_f64(bits - (power << 52)) - 1.0
    n = np.float64(power)
    s = f / (2.0 + f)
    square = 0.5 * f * f
    rest = s * (square + s * s * polynomial(s * s, LOG_F64))
    return n * 0.693147180559663, f - (square - (rest + n * 2.8235290563031577e-13))


@elementary
def log_f64(x: float) -> float:
    """Return the natural logarithm, -inf at 0, NaN below. Error: 0.81 ulp."""
    is_subnormal = x < 2.2250738585072014e-308
    y = x * 18014398509481984.0 if is_subnormal else x  # 2**54
    high, low = log_steps_f64(y)
    y = low - (37.42994775023705 if is_subnormal else 0.0) + high
    y = y if x < np.inf else x  # inf and NaN
    y = y if x != 0.0 else -np.inf
    return np.nan if x < 0.0 else y


@elementary
def log1p_f64(x: float) -> float:
    """Return log(1 + x), -inf at -1, NaN below. Error: 1.5 ulp."""
    u = 1.0 + x
    high, low = log_steps_f64(u)
    y = low + (x - (u - 1.0)) / u + high
    y = y if abs(x) > 1e-17 else x
    y = y if x < np.inf else x  # inf and NaN
    y = y if x != -1.0 else -np.inf
    return np.nan if x < -1.0 else y


@elementary
def near_cbrt(x: float) -> float:
    """Return the cube root to 40 bits, from 1e-300 on, by two steps of Halley."""
    third = ((bits_f64(x) >> 32) * 21845 >> 16) + 714045587
    half = float_of_bits_f64(third << 32)  # of the root, as its cube does not overflow
    cube = half * half * half
    half = half * ((cube + 0.25 * x) / (2.0 * cube + 0.125 * x))
    cube = half * half * half
    return 2.0 * half * ((cube + 0.25 * x) / (2.0 * cube + 0.125 * x))


@elementary
def cbrt_f64(x: float) -> float:
    """Return the cube root. Error: 0.7 ulp."""
    size = abs(x)
    is_tiny = size < 1e-290
    scaled = size * 18014398509481984.0 if is_tiny else size  # 2**54
    t = float_of_bits_f64((bits_f64(near_cbrt(scaled)) + 0x20000000) & -0x40000000)
    ratio = scaled / (t * t)  # the divisor is exact
    root = t + t * ((ratio - t) / (t + t + ratio))
    root = root * 3.814697265625e-06 if is_tiny else root  # 2**-18
    return np.copysign(root, x) if (size > 0.0) & (size < np.inf) else x


ERF_INV_F64 = tuple(map(float, ERF_INV64_MIDDLE))
ERF_INV_NEAR_F64 = tuple(map(float, ERF_INV64_NEAR))
ERF_INV_TAIL_F64 = tuple(map(float, ERF_INV64_TAIL))


@elementary
def erf_inv_f64(x: float) -> float:
    """Return the inverse error function: infinite at -1 and 1, NaN beyond.

    Source: Giles, Approximating the erfinv function, 2011.
    """
    w = -log1p_f64(-x * x)
    root = np.sqrt(w)
    found: float
    if w < 6.25:
        found = polynomial(w - 3.125, ERF_INV_F64) * x
    elif w < 16.0:
        found = polynomial(root - 3.25, ERF_INV_NEAR_F64) * x
    elif abs(x) != 1.0:
        found = polynomial(root - 5.0, ERF_INV_TAIL_F64) * x
    else:
        found = x * np.inf
    return found
