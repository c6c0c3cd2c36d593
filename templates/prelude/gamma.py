"""The gamma function's relatives, as XLA computes them: of float32 and float64, by the
same series and continued fractions.
"""

import numpy as np

# Lanczos's approximation of the gamma function, with g = 7: the numerators over z + 1,
# z + 2, ..
LANCZOS = (
    676.5203681218851,
    -1259.1392167224028,
    771.3234287776531,
    -176.6150291621406,
    12.507343278686905,
    -0.13857109526572012,
    9.984369578019572e-6,
    1.5056327351493116e-7,
)


def lgamma(x: np.ndarray) -> np.ndarray:
    """Return the logarithm of the magnitude of the gamma function: infinite at 0, -1,
    -2, ..

    Source: Lanczos, A precision approximation of the gamma function, 1964, and for x <
    1/2 Euler's reflection formula.
    """
    size, reflected = np.abs(x), x < 0.5
    z = np.where(reflected, -x, x - 1)
    with np.errstate(all="ignore"):
        series = LANCZOS[0] / (z + 1) + 0.9999999999998099
        for n, factor in enumerate(LANCZOS[1:], 2):
            series = series + factor / (z + n)
        log_t = np.log1p(z / 7.5) + 2.0149030205422647  # log(z + 7.5)
        excess = z + 0.5 - (z + 7.5) / log_t
        log_gamma = excess * log_t + 0.9189385332046727 + np.log(series)
        rest = size - np.floor(size)  # sin(pi x) is sin(pi rest), up to the sign
        sine = np.log(np.sin(np.where(rest > 0.5, 1 - rest, rest) * np.pi))
        distance = 1.1447298858494002 - sine - log_gamma
        mirrored = np.where(np.isfinite(sine), distance, -sine)
    return np.where(size == np.inf, np.inf, np.where(reflected, mirrored, log_gamma))


def digamma(x: np.ndarray) -> np.ndarray:
    """Return the derivative of the logarithm of the gamma function: NaN at 0, -1, -2,
    ..

    Source: that of Lanczos's approximation, and for x < 1/2 the reflection formula.
    """
    reflected = x < 0.5
    z = np.where(reflected, -x, x - 1)
    with np.errstate(all="ignore"):
        slope, series = -LANCZOS[0] / (z + 1) ** 2, LANCZOS[0] / (z + 1)
        series = series + 0.9999999999998099
        for n, factor in enumerate(LANCZOS[1:], 2):
            slope = slope - factor / (z + n) ** 2
            series = series + factor / (z + n)
        log_t = np.log1p(z / 7.5) + 2.0149030205422647  # log(z + 7.5)
        digamma = log_t + slope / series - 7 / (z + 7.5)
        angle = (x + np.abs(np.floor(x + 0.5))) * np.pi
        mirrored = digamma - np.cos(angle) * np.pi / np.sin(angle)
    is_pole = (x <= 0) & (x == np.floor(x))
    return np.where(is_pole, np.nan, np.where(reflected, mirrored, digamma))


def digamma_with_limits(x: np.ndarray) -> np.ndarray:
    """Return ``digamma``, but -infinity at 0."""
    return np.where(x == 0, -np.inf, digamma(x)).astype(x.dtype)


# The factors of 1, 1 / b**2, .. in the difference of two of Stirling's series.
STIRLING = (
    0.0833333333333333,
    -0.00277777777760991,
    0.00079365066682539,
    -0.00059520293135187,
    0.000837308034031215,
    -0.00165322962780713,
)


def betaln(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the logarithm of the magnitude of the beta function.

    Source: Didonato and Morris, Algorithm 708, 1992: from 8 on ``lgamma(b) - lgamma(a +
    b)`` is Stirling's series, which loses nothing where both are large.
    """
    a, b = np.minimum(a, b), np.maximum(a, b)
    with np.errstate(all="ignore"):
        ratio = a / b
        share = ratio / (1 + ratio)
        square = share * share
        sums = [np.ones_like(share)]  # of the first powers of the share: 1, 3, 5, ..
        for _ in STIRLING[1:]:
            sums.append(1 + (share + square * sums[-1]))
        inverse, series = np.square(1 / b), np.zeros_like(share)
        for factor, powers in zip(STIRLING[::-1], sums[::-1], strict=True):
            series = series * inverse + factor * powers
        series = series * (share / b)
        larger, smaller = (b + (a - 0.5)) * np.log1p(ratio), a * (np.log(b) - 1)
        nearest = np.where(
            larger <= smaller, series - smaller - larger, series - larger - smaller
        )
        log_beta: np.ndarray = lgamma(a) + np.where(
            b < 8, lgamma(b) - lgamma(a + b), nearest
        )
        return log_beta


# B(2k) / (2k)! for k = 12 down to 2: Bernoulli's numbers.
BERNOULLI = (
    -1.3954464685812522e-19,
    5.5090028283602295e-18,
    -2.1748686985580617e-16,
    8.586062056277845e-15,
    -3.389680296322583e-13,
    1.3382536530684679e-11,
    -5.284190138687493e-10,
    2.08767569878681e-8,
    -8.267195767195768e-7,
    3.306878306878307e-5,
    -0.001388888888888889,
)


def zeta(x: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return Hurwitz's zeta function, the sum of all ``(q + n) ** -x``: infinite at x =
    1, NaN below.

    Source: Cephes, zeta.c: ten terms, and the formula of Euler and Maclaurin for more.
    """
    with np.errstate(all="ignore"):
        total, last = q**-x, q
        for _ in range(9):
            last = last + 1
            total = total + last**-x
        last = last + 1
        power, inverse = last**-x, 1 / (last * last)
        tail = np.zeros_like(power)
        for k, number in zip(range(22, 0, -2), BERNOULLI, strict=True):
            tail = (x + k) * (x + (k - 1)) * (inverse * (tail + number))
        tail = x / last * (tail + 0.08333333333333333) + 0.5
        least = np.finfo(total.dtype).smallest_subnormal
        is_over = np.abs(power) < np.abs(total) * least  # the rest is negligible
        more = total + power * last / (x - 1) + power * tail
        series = np.where(x < 1, np.nan, np.where(is_over, total, more))
        is_whole, is_even = x == np.floor(x), np.fmod(x, 2) == 0
        series = np.where((q <= 0) & ~is_whole, np.nan, series)
        pole = np.where(is_whole & is_even, np.inf, np.nan)
    series = np.where((q <= 0) & (q == np.floor(q)), pole, series)
    return np.where(x == 1, np.inf, series).astype(total.dtype)


def polygamma(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the n-th derivative of digamma: NaN unless ``n`` is a whole number from 0
    on.

    Source: NIST, Digital library of mathematical functions, 25.11.12.
    """
    with np.errstate(all="ignore"):
        sign = np.fmod(n, 2) * 2 - 1
        slope = sign * np.exp(lgamma(n + 1)) * zeta(n + 1, x)
        slope = np.where(n == 0, digamma(x), slope)
        return np.where((n != np.floor(n)) | (n < 0), np.nan, slope)


def polygamma_with_limits(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return ``polygamma``, but -infinity for n = 0 at 0."""
    slope = polygamma(n, x)
    return np.where((n == 0) & (x == 0), -np.inf, slope).astype(slope.dtype)


def trigamma(x: np.ndarray) -> np.ndarray:
    """Return the derivative of digamma.

    Source: NIST, Digital library of mathematical functions, 25.11.12.
    """
    return zeta(np.full_like(x, 2), x)


def gamma_series(a: np.ndarray, x: np.ndarray, active: np.ndarray) -> np.ndarray:
    """Return the sum of ``x**n / ((a + 1) (a + 2) .. (a + n))``, from n = 0 on."""
    eps = np.finfo(x.dtype).eps
    total = term = np.ones_like(x)
    while active.any():
        a = a + 1
        term = term * (x / a)
        total = np.where(active, total + term, total)
        active = active & (term / total > eps)
    return total


def gamma_fraction(a: np.ndarray, x: np.ndarray, active: np.ndarray) -> np.ndarray:
    """Return ``gammaincc(a, x) / (x**a exp(-x) / gamma(a))``: a continued fraction."""
    eps = np.finfo(x.dtype).eps
    y, z = 1 - a, x + (1 - a) + 1
    p, q, last_p, last_q = x + 1, z * x, np.ones_like(x), x
    ratio: np.ndarray = p / q
    for n in range(1, 2001):
        if not active.any():
            break
        y, z = y + 1, z + 2
        p, last_p = p * z - last_p * (y * n), p
        q, last_q = q * z - last_q * (y * n), q
        moves = q != 0
        change = np.where(moves, np.abs((ratio - p / q) / (p / q)), 1)
        ratio = np.where(active & moves, p / q, ratio)
        scale = np.where(np.abs(p) > 1 / eps, eps, 1)
        p, q, last_p, last_q = p * scale, q * scale, last_p * scale, last_q * scale
        active = active & (change > eps)
    return ratio


def log_gamma_density(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the logarithm of ``x**a exp(-x) / gamma(a)``."""
    density: np.ndarray = a * np.log(x) - x - lgamma(a)
    return density


def gammainc(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the regularised lower incomplete gamma function, NaN below 0.

    Source: Cephes, igam.c.
    """
    with np.errstate(all="ignore"):
        scale = log_gamma_density(a, x)
        is_wrong = (x < 0) | (a < 0) | (a == 0) & (x == 0) | np.isnan(a) | np.isnan(x)
        is_tiny = scale < -np.log(np.finfo(scale.dtype).max)
        active = ~((x == 0) | (x == np.inf) | is_wrong | is_tiny)
        is_far, scale = (x >= 1) & (x > a), np.exp(scale)
        far = 1 - gamma_fraction(a, x, active & is_far) * scale
        near = gamma_series(a, x, active & ~is_far) * scale / a
        total = np.where(is_far, far, near)
        total = np.where(x == np.inf, 1, np.where(x == 0, 0, total))
        return np.where(is_wrong, np.nan, total)


def gammaincc(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the regularised upper incomplete gamma function, NaN below 0.

    Source: Cephes, igam.c.
    """
    with np.errstate(all="ignore"):
        scale = log_gamma_density(a, x)
        is_wrong = (x < 0) | (a < 0) | (a == 0) & (x == 0) | np.isnan(a) | np.isnan(x)
        is_tiny = scale < -np.log(np.finfo(scale.dtype).max)
        active = ~((x == np.inf) | (a == 0) | is_wrong | is_tiny)
        is_near, scale = (x < 1) | (x < a), np.exp(scale)
        near = 1 - gamma_series(a, x, active & is_near) * scale / a
        far = gamma_fraction(a, x, active & ~is_near) * scale
        total = np.where(is_near, near, far)
        total = np.where((x == np.inf) | (a == 0), 0, total)
        return np.where(is_wrong, np.nan, total)


def gammainc_with_limits(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return ``gammainc``, but 0 for infinite a and finite x, too."""
    probability, limit = gammainc(a, x), np.where((x >= 0) & (x < np.inf), 0, np.nan)
    return np.where(a == np.inf, limit, probability).astype(probability.dtype)


def gammaincc_with_limits(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return ``gammaincc``, but 1 for infinite a and finite x, too."""
    tail, limit = gammaincc(a, x), np.where((x >= 0) & (x < np.inf), 1, np.nan)
    return np.where(a == np.inf, limit, tail).astype(tail.dtype)


def beta_fraction(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return ``betainc(a, b, x) a beta(a, b) / (x**a (1 - x)**b)`` by its continued
    fraction.

    Source: NIST, Digital library of mathematical functions, 8.17.22, by the algorithm
    of Lentz, Thompson and Barnett.
    """
    eps = np.finfo(x.dtype).eps / 2
    numerator, d = np.ones_like(x), np.zeros_like(x)
    fraction = c = np.full_like(x, eps)
    for n in range(1, 200 if x.dtype == np.float32 else 600):
        m = n // 2
        if n == 2:
            numerator = -(a + b) * x / (a + 1)
        elif n % 2 == 0:
            m = m - 1
            numerator = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        elif n > 1:
            numerator = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        c, d = 1 + numerator / c, 1 + numerator * d
        c = np.where(np.abs(c) < eps, eps, c)
        d = 1 / np.where(np.abs(d) < eps, eps, d)
        fraction = fraction * (c * d)
        if not (np.abs(c * d - 1) >= eps).any():
            break
    return fraction


def betainc(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the regularised incomplete beta function: NaN for a or b below 0, or x
    that is not between 0 and 1.

    Source: NIST, Digital library of mathematical functions, 8.17.4 and 8.17.22.
    """
    is_wrong = np.isnan(a) | np.isnan(b) | np.isnan(x) | (a < 0) | (b < 0)
    is_wrong = is_wrong | (x < 0) | (x > 1)
    at_zero, at_one = (a == 0) | (b == np.inf), (b == 0) | (a == np.inf)  # all of it
    with np.errstate(all="ignore"):
        is_near = x < (a + 1) / (a + b + 2)
        p, q = np.where(is_near, a, b), np.where(is_near, b, a)
        y = np.where(is_near, x, 1 - x)
        log_beta = lgamma(q) - lgamma(p + q)
        tail = np.log1p(-y) * q
        factor = np.exp(np.log(y) * p + tail - (lgamma(p) + log_beta)) / p
        is_tiny = p < 2 * np.finfo(p.dtype).tiny
        factor = np.where(is_tiny, np.exp(tail - log_beta), factor)
        total = beta_fraction(p, q, y) * factor
        total = np.where(is_near, total, 1 - total)
    total = np.where(at_one & (x != 1) | at_zero & (x == 0), 0, total)
    total = np.where(at_zero & (x != 0) | at_one & (x == 1), 1, total)
    return np.where(is_wrong | at_zero & at_one, np.nan, total)
