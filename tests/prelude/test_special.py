"""Special functions of float32, beside the exact ones of the standard library."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from xla2py.templates.prelude.special import (
    erf_inv,
    erf_inv_float64,
    erfc,
    erfc_float64,
    exact_gelu,
    gelu_slope,
    normal_cdf,
    normal_cdf_float64,
    sigmoid,
)

X = np.linspace(-6, 6, 241, dtype=np.float32)


def _slope(x):
    """The derivative of ``gelu``, as the quotient of complex numbers that are close."""
    step = 1e-20j
    argument = math.sqrt(2 / math.pi) * ((x + step) + 0.044715 * (x + step) ** 3)
    return ((x + step) * (1 + np.tanh(argument)) / 2).imag / 1e-20


@pytest.mark.parametrize(
    ("function", "exact"),
    [
        (erfc, math.erfc),
        (normal_cdf, NormalDist().cdf),
        (exact_gelu, lambda x: x * NormalDist().cdf(x)),
        (gelu_slope, _slope),
        (sigmoid, lambda x: 1 / (1 + math.exp(-x))),
        (lambda x: erf_inv(x / np.float32(6.5)), lambda x: NormalDist().inv_cdf((x / 6.5 + 1) / 2) / math.sqrt(2)),
    ],
)
def test_values(function, exact):
    result = function(X)
    assert result.dtype == np.float32 and result.shape == X.shape
    np.testing.assert_allclose(result, [exact(float(x)) for x in X], rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(("low", "high", "ulps"), [(-10, 0, 4), (0, 1, 4), (1, 2, 5), (2, 3, 8)])
def test_erfc_to_the_last_places(low, high, ulps):
    x = np.linspace(low, high, 4001, dtype=np.float32)
    exact = np.array([math.erfc(float(number)) for number in x])
    np.testing.assert_allclose(erfc(x), exact, rtol=ulps * np.finfo(np.float32).eps)


def test_values_of_float64():
    x = np.linspace(-6, 6, 241)
    np.testing.assert_allclose(erfc_float64(x), [math.erfc(number) for number in x], rtol=1e-14)
    below = [math.erfc(number * -math.sqrt(0.5)) / 2 for number in x]
    np.testing.assert_allclose(normal_cdf_float64(x), below, rtol=1e-13)
    p = x / 6.5
    np.testing.assert_allclose(
        erf_inv_float64(p), [NormalDist().inv_cdf((n + 1) / 2) / math.sqrt(2) for n in p], rtol=1e-14, atol=1e-15
    )
    ends = np.array([-np.inf, np.inf, np.nan, 1, -1, 2])
    np.testing.assert_array_equal(erfc_float64(ends)[:3], [2, 0, np.nan])
    np.testing.assert_array_equal(normal_cdf_float64(ends)[:3], [0, 1, np.nan])
    np.testing.assert_array_equal(erf_inv_float64(ends)[2:], [np.nan, np.inf, -np.inf, np.nan])


def test_ends():
    ends = np.array([-np.inf, np.inf, np.nan, 1, -1, 2], np.float32)
    np.testing.assert_array_equal(erfc(ends)[:3], np.float32([2, 0, np.nan]))
    np.testing.assert_array_equal(sigmoid(ends)[:3], np.float32([0, 1, np.nan]))
    np.testing.assert_array_equal(normal_cdf(ends)[:3], np.float32([0, 1, np.nan]))
    np.testing.assert_array_equal(erf_inv(ends)[2:], np.float32([np.nan, np.inf, -np.inf, np.nan]))
