"""Activations, and special functions by the polynomials that XLA computes
them with.
"""

import math
from typing import Any

import numpy as np

from .floats import (
    ERF64_DENOMINATOR,
    ERF64_NUMERATOR,
    ERFC64_DENOMINATOR,
    ERFC64_NUMERATOR,
    horner,
)


def sigmoid(x: np.ndarray) -> np.ndarray:
    """Return ``1 / (1 + exp(-x))``."""
    with np.errstate(over="ignore"):  # exp(-x) is inf where the result is 0
        gate: np.ndarray = 1 / (1 + np.exp(-x))
    return gate


def gelu(x: np.ndarray) -> np.ndarray:
    """Return the Gaussian error linear unit, by its approximation with ``tanh``."""
    activated: np.ndarray = np.tanh((x + x * x * x * 0.044715) * 0.7978845608028654) + 1
    activated *= x * 0.5
    return activated


def gelu_slope(x: np.ndarray) -> np.ndarray:
    """Return the derivative of ``gelu``."""
    squared = x * x
    bend = np.tanh((x + squared * x * 0.044715) * 0.7978845608028654)
    inner = squared * 0.05351611220445019 + 0.3989422804014327
    slope: np.ndarray = (bend + 1) * 0.5 + x * (1 - bend) * (1 + bend) * inner
    return slope


def greater_or_half(x: Any, y: Any) -> np.ndarray:
    """1 where ``x > y``, 0.5 where they are equal, else 0, as slopes of maxima are."""
    number = np.result_type(x, y).type
    ties = np.where(x == y, number(0.5), number(0))
    share: np.ndarray = np.where(x > y, number(1), ties)
    return share


def logaddexp_slope(x: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Return the derivative of ``total = np.logaddexp(x, y)``, JAX's if it is inf."""
    finite = np.where(x == np.inf, 0, x)
    slope: np.ndarray = np.exp(finite - np.where(total == np.inf, 0, total))
    return slope


# These are the coefficients of a polynomial in s = 2 / (x + 2) that stands for
# e**(x**2) * erfc(x) / s where 0 <= x <= 10. It has the least greatest relative error.
ERFC = (
    -0.05909792,
    0.28471658,
    -0.48749384,
    0.27840436,
    -0.026858646,
    0.20278578,
    0.24307868,
    0.28237876,
    0.28208622,
)


def erfc(x: np.ndarray) -> np.ndarray:
    """Return the complementary error function of float32: to 4 units in the last place
    up to 2, from there on as precise as ``exp(-x * x)``.

    Source: Shepherd and Laframboise, Chebyshev approximation of (1 + 2 x) exp(x^2) erfc
    x, 1981, for the form.
    """
    size = np.minimum(np.abs(x), 9.2)
    scale = 2 / (size + 2)
    tail = horner(ERFC, scale)
    tail *= scale * np.exp(size * -size)
    tail = np.where(size > 9.19, 0, tail)  # where it would be subnormal
    return np.where(x < 0, 2 - tail, tail)


def exact_gelu(x: np.ndarray) -> np.ndarray:
    """Return the Gaussian error linear unit of float32: ``x`` times the probability of
    a normal number below it.
    """
    activated: np.ndarray = x * 0.5 * erfc(x * -0.7071067811865476)
    return activated


ERF_INV_MIDDLE = (  # of w - 2.5, w = -log(1 - x**2) below 5
    2.8102264e-08,
    3.4327394e-07,
    -3.5233877e-06,
    -4.3915065e-06,
    0.00021858087,
    -0.001253725,
    -0.0041776816,
    0.24664073,
    1.5014094,
)
ERF_INV_TAIL = (  # of sqrt(w) - 3, from 5 on
    -0.00020021426,
    0.00010095056,
    0.0013493432,
    -0.0036734284,
    0.0057395077,
    -0.0076224613,
    0.0094388705,
    1.001674,
    2.8329768,
)


def erf_inv(x: np.ndarray) -> np.ndarray:
    """Return the inverse error function of float32, infinite at -1 and 1, then NaN.

    Source: Giles, Approximating the erfinv function, 2011.
    """
    with np.errstate(all="ignore"):
        w = -np.log1p(-x * x)
        near = w < 5
        w = np.where(near, w - np.float32(2.5), np.sqrt(w) - np.float32(3))
        series = np.zeros_like(x)
        for middle, tail in zip(ERF_INV_MIDDLE, ERF_INV_TAIL, strict=True):
            series = np.where(near, np.float32(middle), np.float32(tail)) + series * w
        return np.where(np.abs(x) == 1, x * np.float32(np.inf), series * x)


ERFC64_FAR_NUMERATOR = np.array(  # of the magnitude, from 8 on
    [
        0.5641895835477551,
        1.275366707599781,
        5.019050422511805,
        6.160210979930536,
        7.4097426995044895,
        2.9788666537210022,
    ]
)
ERFC64_FAR_DENOMINATOR = np.array(
    [
        1.0,
        2.2605286322011726,
        9.396035249380015,
        12.048953980809666,
        17.08144507475659,
        9.608968090632859,
        3.369076451000815,
    ]
)


def erfc_float64(x: np.ndarray) -> np.ndarray:
    """Return the complementary error function of float64.

    Source: Cephes, ndtr.c.
    """
    size, square = np.abs(x), x * x
    ratio = np.polyval(ERF64_NUMERATOR, square) / np.polyval(ERF64_DENOMINATOR, square)
    with np.errstate(all="ignore"):
        near = np.polyval(ERFC64_NUMERATOR, size) / np.polyval(ERFC64_DENOMINATOR, size)
        far = np.polyval(ERFC64_FAR_NUMERATOR, size) / np.polyval(
            ERFC64_FAR_DENOMINATOR, size
        )
        tail = np.exp(-square) * np.where(size < 8, near, far)
    tail = np.where(-square < -709.782712893384, 0, tail)  # where exp is subnormal
    return np.where(size < 1, 1 - x * ratio, np.where(x < 0, 2 - tail, tail))


ERF_INV64_MIDDLE = np.array(  # of w - 3.125, w = -log(1 - x**2) below 6.25
    [
        -3.64441206401782e-21,
        -1.6850591381820166e-19,
        1.28584807152564e-18,
        1.1157877678025181e-17,
        -1.333171662854621e-16,
        2.0972767875968562e-17,
        6.637638134358324e-15,
        -4.054566272975207e-14,
        -8.151934197605472e-14,
        2.6335093153082323e-12,
        -1.2975133253453532e-11,
        -5.415412054294628e-11,
        1.0512122733215323e-9,
        -4.112633980346984e-9,
        -2.9070369957882005e-8,
        4.2347877827932404e-7,
        -1.3654692000834679e-6,
        -1.3882523362786469e-5,
        0.00018673420803405714,
        -0.000740702534166267,
        -0.006033670871430149,
        0.24015818242558962,
        1.6536545626831027,
    ]
)
ERF_INV64_NEAR = np.array(  # of sqrt(w) - 3.25, below 16
    [
        2.2137376921775787e-9,
        9.075656193888539e-8,
        -2.7517406297064545e-7,
        1.8239629214389228e-8,
        1.5027403968909828e-6,
        -4.013867526981546e-6,
        2.9234449089955446e-6,
        1.2475304481671779e-5,
        -4.7318229009055734e-5,
        6.828485145957318e-5,
        2.4031110387097894e-5,
        -0.0003550375203628475,
        0.0009532893797373805,
        -0.0016882755560235047,
        0.002491442096107851,
        -0.003751208507569241,
        0.005370914553590064,
        1.0052589676941592,
        3.0838856104922208,
    ]
)
ERF_INV64_TAIL = np.array(  # of sqrt(w) - 5, from 16 on
    [
        -2.7109920616438573e-11,
        -2.555641816996525e-10,
        1.5076572693500548e-9,
        -3.789465440126737e-9,
        7.61570120807834e-9,
        -1.496002662714924e-8,
        2.914795345090108e-8,
        -6.771199775845234e-8,
        2.2900482228026655e-7,
        -9.9298272942317e-7,
        4.526062597223154e-6,
        -1.968177810553167e-5,
        7.599527703001776e-5,
        -0.00021503011930044477,
        -0.00013871931833623122,
        1.0103004648645344,
        4.849906401408584,
    ]
)


def erf_inv_float64(x: np.ndarray) -> np.ndarray:
    """Return the inverse error function of float64, infinite at -1 and 1, then NaN.

    Source: Giles, Approximating the erfinv function, 2011.
    """
    with np.errstate(all="ignore"):
        w = -np.log1p(-x * x)
        root = np.sqrt(w)
        near = np.polyval(ERF_INV64_NEAR, root - 3.25)
        outer = np.where(w < 16, near, np.polyval(ERF_INV64_TAIL, root - 5))
        middle = np.polyval(ERF_INV64_MIDDLE, w - 3.125)
        series = np.where(w < 6.25, middle, outer)
        return np.where(np.abs(x) == 1, x * np.inf, series * x)


def normal_cdf(x: np.ndarray) -> np.ndarray:
    """Return the standard normal CDF of float32 numbers."""
    probability: np.ndarray = erfc(x * -0.70710677) * 0.5
    return probability


def normal_cdf_float64(x: np.ndarray) -> np.ndarray:
    """Return the standard normal CDF of float64 numbers."""
    probability: np.ndarray = erfc_float64(x * -0.7071067811865476) * 0.5
    return probability


def xlogy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return ``x * log(y)``, and 0 where ``x`` is 0 and ``y`` is not NaN."""
    with np.errstate(all="ignore"):
        return np.where((x != 0) | np.isnan(y), x * np.log(y), 0)


def xlog1py(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return ``x * log1p(y)``, and 0 where ``x`` is 0 and ``y`` is not NaN."""
    with np.errstate(all="ignore"):
        return np.where((x != 0) | np.isnan(y), x * np.log1p(y), 0)


def gammasgn(x: np.ndarray) -> np.ndarray:
    """Return the sign of the gamma function, 1 or -1; NaN at its poles below 0."""
    floor = np.floor(x)
    is_negative = np.where(x == 0, np.signbit(x), (x < 0) & (np.fmod(floor, 2) != 0))
    signs: np.ndarray = np.where(is_negative, x.dtype.type(-1), x.dtype.type(1))
    return np.where(np.isnan(x) | ((x < 0) & (x == floor)), np.nan, signs)


def log_ratio(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the logarithm of p / q, exact where these are near each other, and where
    their ratio is too large or too small for a number.
    """
    with np.errstate(all="ignore"):
        ratio = p / q
        is_normal = (ratio > np.finfo(ratio.dtype).tiny) & (ratio < np.inf)
        logarithm = np.where(is_normal, np.log(ratio), np.log(p) - np.log(q))
        is_near = (ratio > 0.5) & (ratio < 2)
        nearest: np.ndarray = np.where(is_near, np.log1p((p - q) / q), logarithm)
    return nearest


def rel_entr(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return ``p * log(p / q)``: 0 for p = 0, infinite for p or q below 0."""
    with np.errstate(all="ignore"):
        entropy = np.where((p > 0) & (q > 0), p * log_ratio(p, q), np.inf)
        entropy = np.where((p == 0) & (q >= 0), 0, entropy)
    return np.where(np.isnan(p) | np.isnan(q), np.nan, entropy)


def kl_div(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return ``p * log(p / q) - p + q``: q for p = 0, infinite for p or q below 0.

    The first terms of the logarithm's series give it where p and q are near each other.
    """
    with np.errstate(all="ignore"):
        u = (p - q) / q
        factor = u * (1 / 12 - u * (1 / 20 - u / 30))
        series = (p - q) * u * (1 / 2 - u * (1 / 6 - factor))
        divergence = np.where(np.abs(u) < 0.05, series, p * log_ratio(p, q) - (p - q))
        divergence = np.where((p > 0) & (q > 0), divergence, np.inf)
        divergence = np.where((p == 0) & (q >= 0), q, divergence)
    return np.where(np.isnan(p) | np.isnan(q), np.nan, divergence)


def sinc(x: np.ndarray) -> np.ndarray:
    """Return ``sin(pi * x) / (pi * x)``: 1 at 0, 0 at infinity and all other whole
    numbers, by the sine of the distance from the nearest whole number.
    """
    nearest = np.rint(x)
    with np.errstate(all="ignore"):
        sine = np.sin(np.pi * np.where(np.isinf(x), 0, x - nearest))
        sine = np.where(np.fmod(nearest, 2) == 0, sine, -sine)
        ratio = np.where(sine == 0, 0, sine / (np.pi * x))
    return np.where(x == 0, 1, ratio)


def sinc_slope(x: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Return the slope of ``sinc`` at x, times g: near 0 by its series, elsewhere by
    the distance from the nearest whole number. An infinite g gives NaN.
    """
    nearest = np.rint(x)
    square = np.square(np.pi * np.where(nearest == 0, x, 0))
    series = np.zeros_like(x)
    for k in range(11, 0, -1):
        series = series * square + (-1) ** k * 2 * k / math.factorial(2 * k + 1)
    with np.errstate(all="ignore"):
        angle = np.pi * np.where(np.isinf(x), 0, x - nearest)
        far = np.cos(angle) / x - np.sin(angle) / (np.pi * x * x)
        far = np.where(np.fmod(nearest, 2) == 0, far, -far)
        slope: np.ndarray = np.where(nearest == 0, series * x * np.pi**2, far)
        return slope * np.where(np.isfinite(g), g, np.nan)


def sinc_curvature(x: np.ndarray, g: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Return the second derivative of ``sinc`` at x, times g and h: near 0 by its
    series, elsewhere by the distance from the nearest whole number. An infinite g or h
    gives NaN.
    """
    nearest = np.rint(x)
    square = np.square(np.pi * np.where(nearest == 0, x, 0))
    series = np.zeros_like(x)
    for k in range(11, 0, -1):
        term = (-1) ** k * 2 * k * (2 * k - 1) / math.factorial(2 * k + 1)
        series = series * square + term
    with np.errstate(all="ignore"):
        angle = np.pi * np.where(np.isinf(x), 0, x - nearest)
        far = np.sin(angle) * (2 / (np.pi * x**3) - np.pi / x)
        far = far - 2 * np.cos(angle) / x**2
        far = np.where(np.fmod(nearest, 2) == 0, far, -far)
        curvature: np.ndarray = np.where(nearest == 0, series * np.pi**2, far)
        product: np.ndarray = np.where(np.isinf(x), 0, curvature) * g * h
    return np.where(np.isinf(g) | np.isinf(h), np.nan, product)


def complex_sinc(z: np.ndarray) -> np.ndarray:
    """Return ``sinc`` of complex numbers: 0 where the real part alone is infinite."""
    with np.errstate(all="ignore"):
        is_far = np.isinf(z.real) & np.isfinite(z.imag)
        angle = np.where(is_far | (z == 0), 1, z * np.pi)
        ratio = np.where(z == 0, 1, np.sin(angle) / angle)
    return np.where(is_far, 0, ratio)


def gaussian(x: np.ndarray) -> np.ndarray:
    """Return ``exp(-x * x)``, as that of a shortened x times a correction."""
    size = np.minimum(np.abs(x), 28)  # beyond which it is 0
    short = size.astype(np.float32).astype(np.float64)
    with np.errstate(under="ignore"):
        rest = np.exp((short - size) * (short + size))
        product: np.ndarray = np.exp(-short * short) * rest
    return product.astype(x.dtype)


def ndtr_slope(x: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Return the density of the standard normal distribution, times g."""
    slope: np.ndarray = gaussian(x * 0.7071067811865476) * 0.3989422804014327 * g
    return slope


def entr(x: np.ndarray) -> np.ndarray:
    """Return the entropy ``-x * log(x)``: 0 at 0, -inf below."""
    with np.errstate(all="ignore"):
        entropy = -np.where(x != 0, x * np.log(x), 0)
    return np.where(x < 0, -np.inf, entropy)
