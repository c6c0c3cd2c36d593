"""Exponential integrals."""

import numpy as np


def expn_series(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the exponential integral of order n where x is at most 1.

    Source: NIST, Digital library of mathematical functions, 8.19.8.
    """
    log_x, digamma = np.log(x), -np.euler_gamma
    power, total = np.ones_like(x), np.zeros_like(x)
    for m in range(22):
        order = m + 1 - n
        total = total + power * np.where(order == 0, log_x - digamma, 1 / order)
        power, digamma = power * (-x / (m + 1)), digamma + 1 / (m + 1)
    return -total


def expn_fraction(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the exponential integral of order n where x is above 1, or n is large.

    Source: NIST, Digital library of mathematical functions, 8.19.17, two steps in one.
    """
    rest = np.zeros_like(x)
    for k in range(20 if x.dtype == np.float32 else 90, 0, -1):
        rest = k * (n + (k - 1)) / (x + n + 2 * k - rest)
    fraction: np.ndarray = np.exp(-x) / (x + n - rest)
    return fraction


def expn(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the exponential integral of order n: ``1 / n`` at x = 0, NaN for negative
    x, and for orders that are negative or not whole unless x is above 1.
    """
    is_far = (x > 1) | (n >= 5000)
    with np.errstate(all="ignore"):
        is_wrong = (n < 0) | (x < 0) | (n != np.floor(n))
        near = np.where(is_wrong, np.nan, expn_series(n, x))
        near = np.where(x == 0, np.where(n < 2, np.inf, 1 / n), near)
        near = np.where((n == 0) & (x >= 0), np.exp(-x) / x, near)
        return np.where(is_far, expn_fraction(n, x), near).astype(x.dtype)


def expn_with_limits(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return ``expn`` of the whole number below n: ``1 / (n - 1)`` at x = 0."""
    order = np.floor(n)
    is_wrong = (order < 0) | (x < 0) | np.isnan(x) | ~np.isfinite(order)
    with np.errstate(all="ignore"):
        limit = np.where(order < 2, np.inf, 1 / (order - 1))
        integral = np.where(x == 0, limit, expn(order, x))
    return np.where(is_wrong, np.nan, integral).astype(x.dtype)


def expi(x: np.ndarray) -> np.ndarray:
    """Return the integral of ``exp(t) / t`` from minus infinity to x: NaN at 0.

    Source: NIST, Digital library of mathematical functions, 6.6.2, 6.12.2.
    """
    limit = 18 if x.dtype == np.float32 else 40
    with np.errstate(all="ignore"):
        near, power = np.log(x) + np.euler_gamma, np.ones_like(x)
        for k in range(1, 3 * limit + 10):
            power = power * (x / k)
            near = near + power / k
        far = np.ones_like(x)
        for k in range(limit, 0, -1):
            far = 1 + far * (k / x)
        positive = np.where(x < limit, near, np.exp(x) / x * far)
        negative = -expn(np.ones_like(x), -x)
    integral = np.where(x < 0, negative, np.where(x == 0, np.nan, positive))
    return integral.astype(x.dtype)


def expi_with_limits(x: np.ndarray) -> np.ndarray:
    """Return ``expi``, but minus infinity at 0."""
    return np.where(x == 0, -np.inf, expi(x)).astype(x.dtype)
