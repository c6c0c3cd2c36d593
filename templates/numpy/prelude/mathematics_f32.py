"""Elementary functions of one number of type float32, which loops of Numba call.

Each docstring tells the largest error in units of the last place: of all numbers, of
samples for cosines, angles, powers, normal_cdf and erfc.
Signs of zero, infinities and subnormal numbers are those of IEEE 754, NaN gives NaN.
Coefficients are minimax fits of the relative error (Remez; a rational fit for erf),
highest power first. Reductions follow Cody and Waite, Software Manual for the
Elementary Functions, and Muller, Elementary Functions.
"""

import math

import numpy as np

from ...prelude.special import ERF_INV_MIDDLE, ERF_INV_TAIL
from .mathematics import elementary, polynomial
from .mathematics_f64 import bits_f64, float_of_bits_f64, near_cbrt


def singles(*numbers: float) -> tuple[np.float32, ...]:
    """Return the numbers in float32, as constants of compiled functions."""
    return tuple(map(np.float32, numbers))


@elementary
def bits_f32(x: np.float32) -> np.int32:
    """Return the bits of a float32 as int32."""
    return np.float32(x).view(np.int32)


@elementary
def float_of_bits_f32(bits: np.int32) -> np.float32:
    """Return the float32 of the last 32 bits of an integer."""
    return np.int32(bits).view(np.float32)


# (e**r - 1 - r) / r**2 where abs(r) <= log(2) / 2.
EXP_F32 = singles(0.0013946535, 0.008366631, 0.04166628, 0.16666542, 0.5)


@elementary
def exp_steps_f32(x: np.float32) -> tuple[np.int32, np.float32]:
    """Return the whole number n next to x / log(2), and e ** (x - n log(2)) - 1."""
    # Adding 1.5 * 2**23 rounds: the last bits of the sum are n.
    shifted = x * np.float32(1.442695) + np.float32(12582912)
    n = shifted - np.float32(12582912)
    power = np.int32(bits_f32(shifted) - 0x4B400000)
    r = x - n * np.float32(0.693359375) + n * np.float32(0.00021219444)
    return power, r + r * r * polynomial(r, EXP_F32)


@elementary
def power_of_two_f32(n: np.int32) -> np.float32:
    """Return 2 ** n for -126 <= n <= 127."""
    return float_of_bits_f32((n + 127) << 23)


@elementary
def exp_f32(x: np.float32) -> np.float32:
    """Return e ** x. Error: 1.05 ulp."""
    x = min(x, np.float32(89))  # infinite
    x = max(x, np.float32(-104))  # 0
    power, e = exp_steps_f32(x)
    half = power >> 1  # 2**power may be no float
    scaled = power_of_two_f32(half) + e * power_of_two_f32(half)
    return scaled * power_of_two_f32(power - half)


@elementary
def expm1_f32(x: np.float32) -> np.float32:
    """Return e ** x - 1. Error: 1.6 ulp."""
    y = min(x, np.float32(89))  # infinite
    y = max(y, np.float32(-18))  # -1
    power, e = exp_steps_f32(y)
    scale = power_of_two_f32(power - 1)  # 2**128 is no float
    half = e * scale + (scale - np.float32(0.5))
    return x if abs(x) < np.float32(1e-8) else half + half


@elementary
def sigmoid_f32(x: np.float32) -> np.float32:
    """Return 1 / (1 + e ** -x). Error: 2.5 ulp."""
    e = exp_f32(-abs(x))
    top = np.float32(1) if x >= np.float32(0) else e
    return top / (np.float32(1) + e)


@elementary
def tanh_f32(x: np.float32) -> np.float32:
    """Return tanh(x), exactly 1 from 9.02 on. Error: 2.6 ulp."""
    y = np.float32(2) * abs(x)
    y = min(y, np.float32(20))
    e = expm1_f32(y)
    found: np.float32 = np.copysign(e / (e + np.float32(2)), x)
    return found


# (log(1 + f) - f + f**2 / 2) / f**3 where sqrt(1 / 2) <= 1 + f <= sqrt(2).
LOG_F32 = singles(
    *(-0.07861462, 0.12883197, -0.13128752, 0.14180987),
    *(-0.16624542, 0.20002295, -0.2500081, 0.33333316),
)


@elementary
def log_steps_f32(x: np.float32) -> tuple[np.float32, np.float32]:
    """Return the logarithm of a positive normal number, as a sum of two."""
    bits = bits_f32(x)
    power = np.int32(bits - 0x3F3504F3) >> 23  # 0 from sqrt(1 / 2) on
    f = float_of_bits_f32(bits - (power << 23)) - np.float32(1)
    n = np.float32(power)
    square = f * f
    rest = f * square * polynomial(f, LOG_F32) - np.float32(0.5) * square
    return n * np.float32(0.693359375), f + (rest - n * np.float32(0.00021219444))


@elementary
def log_f32(x: np.float32) -> np.float32:
    """Return the natural logarithm, -inf at 0, NaN below. Error: 0.91 ulp."""
    is_subnormal = x < np.float32(1.1754944e-38)
    y = x * np.float32(8388608) if is_subnormal else x
    high, low = log_steps_f32(y)
    shift = np.float32(15.942385) if is_subnormal else np.float32(0)
    y = low - shift + high
    y = y if x < np.float32(np.inf) else x  # inf and NaN
    y = y if x != np.float32(0) else np.float32(-np.inf)
    return np.float32(np.nan) if x < np.float32(0) else y


@elementary
def log1p_f32(x: np.float32) -> np.float32:
    """Return log(1 + x), -inf at -1, NaN below. Error: 1.5 ulp."""
    u = np.float32(1) + x
    high, low = log_steps_f32(u)
    y = low + (x - (u - np.float32(1))) / u + high
    y = y if abs(x) > np.float32(1e-8) else x
    y = y if x < np.float32(np.inf) else x  # inf and NaN
    y = y if x != np.float32(-1) else np.float32(-np.inf)
    return np.float32(np.nan) if x < np.float32(-1) else y


ERF_INV_MIDDLE_F32 = singles(*ERF_INV_MIDDLE)
ERF_INV_TAIL_F32 = singles(*ERF_INV_TAIL)


@elementary
def erf_inv_f32(x: np.float32) -> np.float32:
    """Return the inverse error function: infinite at -1 and 1, NaN beyond. Error: 64.0
    ulp, as XLA's.

    Source: Giles, Approximating the erfinv function, 2011.
    """
    w = -log1p_f32(-x * x)
    middle = polynomial(w - np.float32(2.5), ERF_INV_MIDDLE_F32)
    tail = polynomial(np.sqrt(w) - np.float32(3), ERF_INV_TAIL_F32)
    y = middle if w < np.float32(5) else tail
    return x * (y if abs(x) != np.float32(1) else np.float32(np.inf))


# erf(x) = x * P(x**2) / Q(x**2) where abs(x) <= 3.925.
ERF_TOP_F32 = singles(
    *(2.045992e-06, 0.00028481032, 0.0037716727),
    *(0.052766528, 0.19057523, 1.1283791),
)
ERF_BOTTOM_F32 = singles(
    *(3.804567e-05, 0.0011636202, 0.014981445, 0.114174776, 0.50222564, 1.0)
)


@elementary
def erf_f32(x: np.float32) -> np.float32:
    """Return the error function, exactly 1 from 3.92 on. Error: 6.0 ulp."""
    square = x * x
    square = min(square, np.float32(16))
    y = x * polynomial(square, ERF_TOP_F32) / polynomial(square, ERF_BOTTOM_F32)
    is_one = (abs(y) > np.float32(1)) | (abs(x) > np.float32(3.9192059))
    found: np.float32 = np.copysign(np.float32(1), x) if is_one else y
    return found


# The first 256 bits after the point of 1 / pi.
BITS_OF_1_OVER_PI = 0x517CC1B727220A94FE13ABE8FA9A6EE06DB14ACC9E21C820FF28B1D5EF5DE2B0


def half_turns() -> np.ndarray:
    """Return, for floats from 2**n to 2**(n + 1), n < 128, 1 / pi without the leading
    bits that only give even numbers of half turns, as the first 24 bits and the rest.
    [2, 128], float64.
    """
    rows = []
    for power in range(128):
        step = max(power - 23, 0)  # such floats are multiples of 2**step
        part = (BITS_OF_1_OVER_PI << step) % (2 << 256)
        high = int(np.float32(math.ldexp(part, -232))) << 232
        rows.append([math.ldexp(each, -256 - step) for each in (high, part - high)])
    return np.array(rows).T.copy()


HALF_TURNS = half_turns()

# sin(pi * r) / r where abs(r) <= 1 / 2, of r**2.
SIN_F64 = (
    *(-0.007022025612675423, 0.0820463992878735, -0.5992513141455751),
    *(2.550163239019277, -5.167712762079162, 3.141592653523187),
)


@elementary
def sin_of_half_turns(x: np.float32, shift: float) -> float:
    """Return sin(x + shift * pi) of a float32, in float64."""
    exponent = np.int32(bits_f32(x) >> 23 & 0xFF)
    row = np.uint64(min(max(exponent, np.int32(127)), np.int32(254)) - 127)
    turns = np.float64(x) * HALF_TURNS[0, row]  # exact
    rest = np.float64(x) * HALF_TURNS[1, row]
    whole = turns + rest + shift + 6755399441055744.0  # rounds; 1.5 * 2**52
    r = turns - (whole - 6755399441055744.0 - shift) + rest
    sine: float = r * polynomial(r * r, SIN_F64)
    return -sine if bits_f64(whole) & 1 else sine


@elementary
def sin_f32(x: np.float32) -> np.float32:
    """Return the sine of a number of any size, NaN if infinite. Error: 0.51 ulp."""
    return np.float32(sin_of_half_turns(x, 0.0))


@elementary
def cos_f32(x: np.float32) -> np.float32:
    """Return the cosine of a number of any size, NaN if infinite. Error: 0.51 ulp."""
    return np.float32(sin_of_half_turns(x, 0.5))


@elementary
def tan_f32(x: np.float32) -> np.float32:
    """Return the tangent of a number of any size, NaN if infinite. Error: 0.51 ulp."""
    return np.float32(sin_of_half_turns(x, 0.0) / sin_of_half_turns(x, 0.5))


# log2((1 + s) / (1 - s)) / s, of s**2.
LOG2_F64 = (
    *(0.34116952243788, 0.41164975838281, 0.57708395272199),
    *(0.96179667145054592, 2.8853900817914666),
)
# 2**r where abs(r) <= 1 / 2.
EXP2_F64 = (
    *(1.5316487114533e-05, 0.00015469761276069, 0.0013333422538522593),
    *(0.0096180255096488, 0.055504109762367, 0.24022651214314644),
    *(0.6931471805349886, 0.99999999995947),
)


@elementary
def power_of_two(x: float) -> float:
    """Return 2 ** x to 34 bits, where it is a normal number."""
    whole = x + 6755399441055744.0  # rounds; 1.5 * 2**52
    r = x - (whole - 6755399441055744.0)
    scale = float_of_bits_f64((bits_f64(whole) + 1023) << 52)
    found: float = polynomial(r, EXP2_F64) * scale
    return found


@elementary
def pow_f32(x: np.float32, y: np.float32) -> np.float32:
    """Return x ** y, as in IEEE 754, in float64. Error: 0.51 ulp."""
    size = np.float64(abs(x))
    bits = bits_f64(size)
    power = (bits - 0x3FE6A09E667F3BCD) >> 52
    m = float_of_bits_f64(bits - (power << 52))
    s = (m - 1.0) / (m + 1.0)
    log2 = np.float64(power) + s * polynomial(s * s, LOG2_F64)
    log2 = log2 if size > 0.0 else -np.inf
    log2 = log2 if size < 1e39 else size  # inf and NaN
    exponent = np.float64(y) * log2
    exponent = min(exponent, 200.0)
    exponent = max(exponent, -200.0)
    z = np.float32(power_of_two(exponent))
    half = y * np.float32(0.5)
    is_whole = np.rint(y) == y
    is_odd = is_whole & (np.rint(half) != half)
    z = -z if is_odd & (bits_f32(x) < 0) else z
    most = np.float32(3.4028235e38)
    is_complex = (x < np.float32(0)) & (x >= -most) & (not is_whole)
    z = np.float32(np.nan) if is_complex else z
    is_one = (y == np.float32(0)) | (x == np.float32(1))
    is_one = is_one | ((x == np.float32(-1)) & (abs(y) > most))
    return np.float32(1) if is_one else z


# e**(x**2) * erfc(x) * (1 + 2 * x) where 0 <= x <= 10.25, of (x - 3) / (x + 3).
ERFC_F64 = (
    *(-0.0002667050959006885, -0.000773890749275957, 0.002004106262540138),
    *(0.0025661399379845176, -0.023799040926782315, 0.0682957467138474),
    *(-0.11927070457609695, 0.12964644272077117, -0.04756241488383556),
    *(-0.13562114053790386, 1.2530080592639488),
)


@elementary
def upper_tail(x: float) -> float:
    """Return erfc(x) to 28 bits, 0 from 10.2 on."""
    size = min(abs(x), 10.2)
    inverse = 1.0 / ((size + 3.0) * (1.0 + 2.0 * size))
    t = (size - 3.0) * (1.0 + 2.0 * size) * inverse
    power = power_of_two(size * size * -1.4426950408889634)
    tail: float = polynomial(t, ERFC_F64) * (size + 3.0) * inverse * power
    return 2.0 - tail if x < 0.0 else tail


@elementary
def erfc_f32(x: np.float32) -> np.float32:
    """Return the complementary error function, in float64. Error: 0.54 ulp."""
    return np.float32(upper_tail(np.float64(x)))


@elementary
def normal_cdf_f32(x: np.float32) -> np.float32:
    """Return the probability of a standard normal number below x. Error: 0.54 ulp."""
    tail = upper_tail(np.float64(x) * -0.7071067811865476)
    return np.float32(0.5 * tail)


# atan(t) / t where abs(t) <= 1, of t**2.
ATAN_F64 = (
    *(0.0010911152925965914, -0.007199405169082606, 0.022274396558349882),
    *(-0.04435753889271945, 0.06716110144580277, -0.08798772974863953),
    *(0.11054501417280357, -0.14279159664116425, 0.19999604639768098),
    *(-0.3333332393544802, 0.9999999996282602),
)


@elementary
def atan2_f32(y: np.float32, x: np.float32) -> np.float32:
    """Return the angle of a point, as in IEEE 754, in float64. Error: 0.51 ulp."""
    width, height = np.float64(abs(x)), np.float64(abs(y))
    low, high = min(width, height), max(width, height)
    t = low / high if low < high else np.float64(high > 0.0)  # both 0 or infinite
    angle = t * polynomial(t * t, ATAN_F64)
    angle = 1.5707963267948966 - angle if height > width else angle
    angle = 3.141592653589793 - angle if bits_f32(x) < 0 else angle
    size = np.float32(np.nan if np.isnan(x) | np.isnan(y) else angle)
    found: np.float32 = np.copysign(size, y)
    return found


@elementary
def atan_f32(x: np.float32) -> np.float32:
    """Return the angle of a slope, in float64. Error: 0.51 ulp."""
    return atan2_f32(x, np.float32(1))


@elementary
def cbrt_f32(x: np.float32) -> np.float32:
    """Return the cube root, in float64. Error: 0.51 ulp."""
    size = np.float64(abs(x))
    root = np.float32(near_cbrt(size))
    return np.copysign(root, x) if (size > 0.0) & (size < np.inf) else x
