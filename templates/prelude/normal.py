"""Functions of the normal distribution, as JAX computes them."""

import numpy as np

from .floats import horner
from .special import erfc, erfc_float64, normal_cdf, normal_cdf_float64

NDTRI_MIDDLE_NUMERATOR = (  # of (p - 0.5)**2
    -59.96335010141079,
    98.00107541859997,
    -56.67628574690703,
    13.931260938727968,
    -1.2391658386738125,
)
NDTRI_MIDDLE_DENOMINATOR = (
    1.0,
    1.9544885833814176,
    4.676279128988815,
    86.36024213908905,
    -225.46268785411937,
    200.26021238006066,
    -82.03722561683334,
    15.90562251262117,
    -1.1833162112133,
)
NDTRI_OUTER_NUMERATOR = (  # of 1 / sqrt(-2 log(p)), from exp(-32) on
    4.0554489230596245,
    31.525109459989388,
    57.16281922464213,
    44.08050738932008,
    14.684956192885803,
    2.1866330685079025,
    -0.1402560791713545,
    -0.03504246268278482,
    -0.0008574567851546854,
)
NDTRI_OUTER_DENOMINATOR = (
    1.0,
    15.779988325646675,
    45.39076351288792,
    41.3172038254672,
    15.04253856929075,
    2.504649462083094,
    -0.14218292285478779,
    -0.03808064076915783,
    -0.0009332594808954574,
)
NDTRI_TAIL_NUMERATOR = (
    3.2377489177694603,
    6.915228890689842,
    3.9388102529247444,
    1.3330346081580755,
    0.20148538954917908,
    0.012371663481782003,
    0.00030158155350823543,
    2.6580697468673755e-06,
    6.239745391849833e-09,
)
NDTRI_TAIL_DENOMINATOR = (
    1.0,
    6.02427039364742,
    3.6798356385616087,
    1.3770209948908132,
    0.21623699359449663,
    0.013420400608854318,
    0.00032801446468212774,
    2.8924786474538068e-06,
    6.790194080099813e-09,
)


def ndtri(p: np.ndarray) -> np.ndarray:
    """Return the number below which a standard normal number lies with the probability
    ``p``: infinite at 0 and 1, NaN beyond.

    Source: Cephes, ndtri.c.
    """
    with np.errstate(all="ignore"):
        is_high = p > 0.8646647167633873
        tail = np.where(is_high, 1 - p, p)
        shifted = tail - 0.5
        square = shifted * shifted
        ratio = horner(NDTRI_MIDDLE_NUMERATOR, square)
        ratio /= horner(NDTRI_MIDDLE_DENOMINATOR, square)
        middle = (shifted + shifted * square * ratio) * -2.5066282746310002
        root = np.sqrt(np.log(tail) * -2)
        t = 1 / root
        outer = horner(NDTRI_OUTER_NUMERATOR, t) / horner(NDTRI_OUTER_DENOMINATOR, t)
        far = horner(NDTRI_TAIL_NUMERATOR, t) / horner(NDTRI_TAIL_DENOMINATOR, t)
        outer = root - np.log(root) / root - np.where(root >= 8, far, outer) / root
        size = np.where(tail > 0.1353352832366127, middle, outer)
        quantile = np.where(is_high, size, -size)
        quantile = np.where(p == 1, np.inf, quantile)
        return np.where(p == 0, -np.inf, quantile)


def normal_log_tail(x: np.ndarray) -> np.ndarray:
    """Return the logarithm of the probability of a standard normal number below ``x``,
    for ``x`` far below 0, by the asymptotic series.
    """
    square = x * x
    series = 3 / (square * square) + 1 - (1 / square + 15 / (square * square * square))
    tail: np.ndarray = square * -0.5 - np.log(-x) - 0.9189385332046727 + np.log(series)
    return tail


def log_ndtr(x: np.ndarray) -> np.ndarray:
    """Return the logarithm of the standard normal CDF of float32 numbers."""
    with np.errstate(all="ignore"):
        probability = normal_cdf(np.where(x > 5, -x, np.maximum(x, -10)))
        tail = normal_log_tail(np.minimum(x, -10))
        logarithm = np.where(x > -10, np.log(probability), tail)
        return np.where(x > 5, -probability, logarithm)


def log_ndtr_float64(x: np.ndarray) -> np.ndarray:
    """Return the logarithm of the standard normal CDF of float64 numbers."""
    with np.errstate(all="ignore"):
        probability = normal_cdf_float64(np.where(x > 8, -x, np.maximum(x, -20)))
        tail = normal_log_tail(np.minimum(x, -20))
        logarithm = np.where(x > -20, np.log(probability), tail)
        return np.where(x > 8, -probability, logarithm)


ERFCX_FAR = (6.5625, -1.875, 0.75, -0.5, 1.0)  # of 1 / x**2


def erfcx(x: np.ndarray) -> np.ndarray:
    """Return ``exp(x * x) * erfc(x)`` of float32, the scaled complementary error
    function.
    """
    with np.errstate(all="ignore"):
        near = np.minimum(x, 9.4192796)  # beyond which the product overflows
        far = horner(ERFCX_FAR, 1 / (x * x)) / (x * 1.7724538509055159)
        return np.where(x > 9.4192796, far, np.exp(near * near) * erfc(near))


ERFCX64_FAR = (  # of 1 / x**2
    7918.06640625,
    -1055.7421875,
    162.421875,
    -29.53125,
    6.5625,
    -1.875,
    0.75,
    -0.5,
    1.0,
)


def erfcx_float64(x: np.ndarray) -> np.ndarray:
    """Return ``exp(x * x) * erfc(x)`` of float64, the scaled complementary error
    function.
    """
    with np.errstate(all="ignore"):
        near = np.minimum(x, 26.64174755704633)  # beyond which the product overflows
        far = horner(ERFCX64_FAR, 1 / (x * x)) / (x * 1.7724538509055159)
        product = np.exp(near * near) * erfc_float64(near)
        return np.where(x > 26.64174755704633, far, product)
