"""Floating-point functions of the prelude: XLA CPU is the judge."""

import math

import ml_dtypes
import numpy as np
import pytest

from xla2py.templates.prelude import floats
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES

pytestmark = pytest.mark.filterwarnings("error")

FLOATS = [t for t in ELEMENT_TYPES.values() if t.is_floating]
all_types = pytest.mark.parametrize("element_type", FLOATS, ids=str)
FUNCTIONS = {
    "logistic": floats.logistic,
    "rsqrt": floats.rsqrt,
    "sign": floats.sign,
    "round-nearest-afz": floats.round_half_away,
    "erf": floats.erf,
}


def samples(element_type):
    """Every value of the narrow types, edges and random values of the wide ones; without subnormals."""
    dtype = element_type.dtype
    if element_type.bits <= 16:
        x = np.arange(2**element_type.bits).astype(f"u{dtype.itemsize}").view(dtype)
    else:
        rng = np.random.default_rng(element_type.bits)
        limits = np.finfo(dtype)
        halves = [0.5, 1.5, 2.5, 8388607.5, 0.49999997, np.nextafter(0.5, 0), 2.0**52 - 0.5, 2.0**52 + 1]
        edges = np.array([0, 1, 3, 1e-5, 88.8, 104, 710, limits.max, limits.tiny, np.inf, np.nan, *halves], dtype)
        x = np.concatenate([edges, -edges, rng.normal(0, 1, 999).astype(dtype), rng.normal(0, 30, 999).astype(dtype)])
    with np.errstate(invalid="ignore"):
        tiny = max(float(ml_dtypes.finfo(dtype).tiny), float(np.finfo(np.float32).tiny) * (element_type.bits < 64))
        subnormal = (np.abs(x.astype(np.float64)) < tiny) & (x.astype(np.float64) != 0)
        signaling = element_type.bits == 16 and np.isnan(x.astype(np.float64))
    return np.where(signaling, np.nan, x).astype(dtype)[~subnormal]


def assert_close(actual, expected, ulps):
    assert actual.dtype == expected.dtype
    with np.errstate(invalid="ignore"):
        one, two = actual.astype(np.float64), expected.astype(np.float64)
    finfo = ml_dtypes.finfo(actual.dtype)
    np.testing.assert_allclose(one, two, rtol=ulps * float(finfo.eps), atol=float(finfo.tiny) if ulps else 0)


@all_types
@pytest.mark.parametrize("opcode", FUNCTIONS)
def test_agrees_with_xla(opcode, element_type, xla):
    function = floats.erf_float64 if (opcode, element_type.name) == ("erf", "f64") else FUNCTIONS[opcode]
    x = samples(element_type)
    [expected] = xla(opcode, [x], x)
    assert_close(function(x), expected, ulps=0 if opcode in ("sign", "round-nearest-afz") else 3)


@pytest.mark.parametrize("function, dtype, ulps", [(floats.erf, np.float32, 3), (floats.erf_float64, np.float64, 2)])
def test_erf_against_the_c_library(function, dtype, ulps):
    x = np.linspace(-7, 7, 5001).astype(dtype)
    expected = np.array([math.erf(value) for value in x])
    np.testing.assert_allclose(function(x), expected, rtol=ulps * np.finfo(dtype).eps)


SIZES = [(5, 10), (8, 7), (8, 23), (4, 3), (1, 0), (2, 1), (5, 2), (11, 52), (3, 30), (20, 3), (8, 0), (6, 40)]


@all_types
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_reduce_precision_agrees_with_xla(sizes, element_type, xla):
    exponent_bits, mantissa_bits = sizes
    x = samples(element_type)[:: 7 if element_type.bits == 16 else 1]
    x = x if mantissa_bits else x[x == x]
    [expected] = xla("reduce-precision", [x], x, exponent_bits=exponent_bits, mantissa_bits=mantissa_bits)
    actual = floats.reduce_precision(x, exponent_bits, mantissa_bits)
    assert_close(actual, expected, ulps=0)
    if element_type.bits >= 16:
        number = x == x
        np.testing.assert_array_equal(np.signbit(actual[number]), np.signbit(x[number]))


def test_reduce_precision_keeps_every_nan():
    nans = np.array([0x7F800001, 0x7FFFFFFF, 0xFFFFFFFF, 0xFF800001], np.uint32).view(np.float32)
    assert np.isnan(floats.reduce_precision(nans, 2, 1)).all()
    assert all(np.isnan(floats.reduce_precision(nan, 2, 1)) for nan in nans)
