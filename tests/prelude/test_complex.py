"""Complex functions of the prelude: XLA CPU is the judge; errors are relative to the size of the number."""

import numpy as np
import pytest

from xla2py.templates.prelude import complex as prelude

pytestmark = pytest.mark.filterwarnings("error")

FUNCTIONS = {
    "sign": prelude.complex_sign,
    "rsqrt": prelude.complex_rsqrt,
    "log-plus-one": prelude.complex_log1p,
    "exponential": prelude.complex_exp,
    "exponential-minus-one": prelude.complex_expm1,
    "logistic": prelude.complex_logistic,
}
dtypes = pytest.mark.parametrize("dtype", [np.complex64, np.complex128])


def grid(dtype, parts):
    real, imag = np.meshgrid(np.array(parts, np.finfo(dtype).dtype), parts)
    return prelude.complex_from_parts(real.ravel(), imag.ravel().astype(real.dtype))


def random(dtype, count=2000):
    parts = np.random.default_rng(0).normal(0, 2, (2, count))
    return (parts[0] + 1j * parts[1]).astype(dtype)


@dtypes
@pytest.mark.parametrize("opcode", FUNCTIONS)
def test_finite_numbers_agree_with_xla(opcode, dtype, xla):
    z = np.concatenate([grid(dtype, [0.0, 1e-9, -1e-9, 0.001, 0.5, -0.5, 1, -1, 30, -3]), random(dtype)])
    if opcode == "log-plus-one":
        z = z[np.abs(1 + z) > 0.1]  # where XLA's log1p is itself off
    actual = FUNCTIONS[opcode](z)
    [expected] = xla(opcode, [z], z)
    assert actual.dtype == expected.dtype
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(finite, np.isfinite(actual))
    error = np.abs(actual[finite] - expected[finite]) / np.maximum(np.abs(expected[finite]), np.finfo(dtype).tiny)
    assert error.max() < (64 if opcode == "log-plus-one" else 8) * np.finfo(dtype).eps


@dtypes
@pytest.mark.parametrize("opcode", FUNCTIONS)
def test_infinities_and_huge_numbers_agree_with_xla(opcode, dtype, xla):
    z = grid(dtype, [0.0, 1, -1, 1000, -1000, np.inf, -np.inf])
    if opcode == "logistic":
        z = z[np.isfinite(z.imag)]  # of an infinite angle XLA makes NaN where the limit is 0 or 1
    actual = FUNCTIONS[opcode](z)
    [expected] = xla(opcode, [z], z)
    for part in ("real", "imag"):
        one, two = getattr(actual, part), getattr(expected, part)
        np.testing.assert_allclose(one, two, rtol=1e-5 if dtype == np.complex64 else 1e-12, atol=1e-6)


@dtypes
def test_log1p_is_exact_near_zero(dtype):
    z = 1e-3 * random(dtype)
    expected = np.log(1 + z.astype(np.clongdouble))
    assert (np.abs(prelude.complex_log1p(z) - expected) / np.abs(expected)).max() < 4 * np.finfo(dtype).eps


@dtypes
@pytest.mark.parametrize(
    "opcode, function", [("maximum", prelude.complex_maximum), ("minimum", prelude.complex_minimum)]
)
def test_the_larger_and_the_smaller_agree_with_xla(opcode, function, dtype, xla):
    z = grid(dtype, [0.0, 1, -1, 2, np.inf, -np.inf, np.nan])
    a, b = (side.ravel() for side in np.meshgrid(z, z))
    [expected] = xla(opcode, [a, b], a)
    np.testing.assert_array_equal(function(a, b), expected)
    assert function(dtype(1 + 2j), a).shape == a.shape


@dtypes
def test_angles_agree_with_xla(dtype, xla):
    y, x = (side.ravel() for side in np.meshgrid(random(dtype, 60), random(dtype, 80)[60:]))
    edges = grid(dtype, [0.0, 1, -2, np.inf, np.nan])
    y_edges, x_edges = (side.ravel() for side in np.meshgrid(edges, edges))
    for b, a in ((y, x), (y_edges, x_edges)):
        actual = prelude.complex_atan2(b, a)
        [expected] = xla("atan2", [b, a], b)
        assert actual.dtype == expected.dtype
        is_cut = (np.abs(expected.real) > 3.1415) | np.isnan(expected)  # which side of it depends on the last bit
        np.testing.assert_allclose(actual[~is_cut], expected[~is_cut], rtol=16 * np.finfo(dtype).eps, atol=1e-6)
        np.testing.assert_array_equal(np.isnan(actual), np.isnan(expected))


def test_an_angle_of_real_numbers_is_that_of_arctan2():
    y, x = (part.ravel() for part in np.meshgrid([-2.0, -0.5, 1.0, 3.0], [-1.0, 0.25, 2.0]))
    np.testing.assert_allclose(prelude.complex_atan2(y + 0j, x + 0j), np.arctan2(y, x), rtol=1e-15, atol=1e-15)


def test_parts_keep_infinities_zeros_and_types():
    real, imag = np.float32([np.inf, 0.0, -0.0]), np.float32([np.nan, np.inf, -0.0])
    z = prelude.complex_from_parts(real, imag)
    assert z.dtype == np.complex64
    np.testing.assert_array_equal(z.view(np.float32), np.stack([real, imag], axis=-1).ravel())
    np.testing.assert_array_equal(np.signbit(z.view(np.float32)[4:]), [True, True])
    assert prelude.complex_from_parts(np.float64(1), np.zeros((2, 0))).shape == (2, 0)
    assert prelude.complex_from_parts(np.float64(1), np.float64(2)) == 1 + 2j
    assert prelude.complex_from_parts(np.zeros((2, 1)), np.zeros(3)).dtype == np.complex128


def test_sign_keeps_zeros():
    z = prelude.complex_sign(prelude.complex_from_parts(np.float64(-0.0), np.float64(0.0)))
    assert (np.signbit(z.real), np.signbit(z.imag)) == (True, False)
