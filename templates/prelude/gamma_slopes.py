"""Derivatives of the incomplete gamma function and of samples of gamma distributions by
the distribution's parameter, as XLA computes them.

Source of both: Figurnov, Mohamed and Mnih, Implicit reparameterization gradients, 2018,
by the derivatives of the series and of the continued fraction in Cephes, igam.c.
"""

import numpy as np

from .gamma import digamma, log_gamma_density


def gamma_series_and_slope(
    a: np.ndarray, x: np.ndarray, active: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``gamma_series(a, x)`` and its derivative by ``a``."""
    eps = np.finfo(x.dtype).eps
    total = term = np.ones_like(x)
    slopes = slope = np.zeros_like(x)
    while active.any():
        a = a + 1
        slope = slope * (x / a) - term * x / (a * a)
        term = term * (x / a)
        slopes = np.where(active, slopes + slope, slopes)
        total = np.where(active, total + term, total)
        active = active & (np.abs(slope / slopes) > eps)
    return total, slopes


def gamma_fraction_and_slope(
    a: np.ndarray, x: np.ndarray, active: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``gamma_fraction(a, x)`` and its derivative by ``a``."""
    eps = np.finfo(x.dtype).eps
    y, z = 1 - a, x + (1 - a) + 1
    p, q, last_p, last_q = x + 1, z * x, np.ones_like(x), x
    dp, dq, last_dp, last_dq = np.zeros_like(x), -x, np.zeros_like(x), np.zeros_like(x)
    ratio: np.ndarray = p / q
    slope = (dp - ratio * dq) / q
    for n in range(1, 2001):
        if not active.any():
            break
        y, z = y + 1, z + 2
        new_dp = dp * z - p - last_dp * (y * n) + last_p * n
        new_dq = dq * z - q - last_dq * (y * n) + last_q * n
        dp, last_dp, dq, last_dq = new_dp, dp, new_dq, dq
        p, last_p = p * z - last_p * (y * n), p
        q, last_q = q * z - last_q * (y * n), q
        moves = q != 0
        new_ratio = np.where(moves, p / q, ratio)
        new_slope = np.where(moves, (dp - new_ratio * dq) / q, slope)
        change = np.where(moves, np.abs(new_slope - slope), 1)
        ratio = np.where(active, new_ratio, ratio)
        slope = np.where(active, new_slope, slope)
        scale = np.where(np.abs(p) > 1 / eps, eps, 1)
        p, q, last_p, last_q = p * scale, q * scale, last_p * scale, last_q * scale
        dp, dq, last_dp, last_dq = (each * scale for each in (dp, dq, last_dp, last_dq))
        active = active & (change > eps)
    return ratio, slope


def gamma_slope(a: np.ndarray, x: np.ndarray, of_samples: bool) -> np.ndarray:
    """Return the derivative by ``a`` of ``gammainc(a, x)``, or of a sample that is
    ``x``.
    """
    with np.errstate(all="ignore"):
        scale = log_gamma_density(a, x)
        is_wrong = (x < 0) | (a <= 0) | np.isnan(a) | np.isnan(x)
        is_tiny = scale < -np.log(np.finfo(scale.dtype).max)
        active = ~((x == 0) | is_wrong | is_tiny)
        is_far = (x > 1) & (x > a)
        far, far_slope = gamma_fraction_and_slope(a, x, active & is_far)
        near, near_slope = gamma_series_and_slope(a, x, active & ~is_far)
        far_slope = far_slope + far * (np.log(x) - digamma(a))
        near_slope = near * (np.log(x) - digamma(a + 1)) + near_slope
        if of_samples:
            slope = np.where(is_far, far_slope * x, -near_slope * x / a)
        else:
            scale = np.exp(scale)
            slope = np.where(is_far, -(scale * far_slope), scale * near_slope / a)
        return np.where(is_wrong, np.nan, np.where(x == 0, 0, slope))


def igamma_grad_a(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the derivative of ``gammainc(a, x)`` by ``a``: NaN for a <= 0 or x < 0."""
    return gamma_slope(a, x, of_samples=False)


def random_gamma_grad(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the derivative by ``a`` of a sample ``x`` of a gamma distribution."""
    return gamma_slope(a, x, of_samples=True)
