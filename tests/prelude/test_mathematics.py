"""Elementary functions of loops of Numba: their errors beside those they promise, and special values one by one."""

import math
import re

import numpy as np
import pytest

from xla2py.benchmarks import complex_mathematics
from xla2py.benchmarks.mathematics import EXACT, FUNCTIONS, TWO_ARGUMENTS, errors, largest_error, loop, names
from xla2py.templates.numpy.prelude.mathematics_f64 import erf_inv_f64
from xla2py.templates.prelude.special import erf_inv_float64
from xla2py.tests.whole import much

pytestmark = pytest.mark.compiled
NAMES = much(names()[::3], names())
INF, NAN = math.inf, math.nan
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 3.0, -3.0, 1e30, -1e30, 1e-30, -1e-30, INF, -INF, NAN)


def measured(name, *numbers):
    """What the loop over a function makes of some numbers."""
    dtype = np.float32 if name.endswith("f32") else np.float64
    arrays = [np.array(x, dtype) for x in numbers]
    out = np.empty_like(arrays[0])
    loop(name)(*arrays, out)
    return out


def promised(name):
    """The largest error that the docstring of a function tells."""
    return float(re.search(r"Error: (\d+\.\d+) ulp", FUNCTIONS[name].__doc__)[1])


@pytest.mark.parametrize("name", NAMES)
def test_errors_are_those_promised(name):
    if name.endswith("f64") and np.finfo(np.longdouble).nmant <= 52:
        pytest.skip("needs a type wider than float64")
    error, where = largest_error(name, 20011)
    assert error <= promised(name), where


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="needs a type wider than float64")
@pytest.mark.parametrize("name", much(list(complex_mathematics.EXACT)[::3], complex_mathematics.EXACT))
def test_errors_of_complex_functions_are_those_promised(name):
    error, where = complex_mathematics.largest_error(name, much(10_000, 50_000))
    told = complex_mathematics.FUNCTIONS[name].__doc__
    assert error <= float(re.search(r"Error: (\d+\.\d+) ulp", told)[1]), where


def test_distances_of_complex_numbers_are_those_in_the_plane():
    far = {"sign": lambda z: z / abs(z) * (1 + 2.0**-48)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(complex_mathematics, "EXACT", far)
        assert complex_mathematics.largest_error("sign", 1000)[0] > 8


@pytest.mark.parametrize("name", [name for name in NAMES if name not in TWO_ARGUMENTS])
def test_special_values_are_those_of_ieee(name):
    x = np.array(SPECIAL, np.float32 if name.endswith("f32") else np.float64)
    with np.errstate(all="ignore"):
        exact = EXACT[name[:-4]](x.astype(np.float64))
    assert np.isfinite(errors(measured(name, x), exact)).all()


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", ["expm1", "log1p", "tanh"])
def test_the_smallest_numbers_are_their_own_results(name, kind):
    dtype = np.float32 if kind == "f32" else np.float64
    facts = np.finfo(dtype)
    tiny = np.array([0.0, facts.smallest_subnormal, 5 * facts.smallest_subnormal, facts.smallest_normal], dtype)
    for x in (tiny, -tiny):
        got = measured(f"{name}_{kind}", x)
        assert got.tobytes() == x.tobytes()


def test_exp_has_subnormal_results_and_ends():
    x = np.array([-87.4, -95.0, -103.2, -103.98, -104.1, -1e4, 88.72284, 88.722847, 1e4], np.float32)
    expected = np.exp(x.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(measured("exp_f32", x) > 0, expected > 0)
    np.testing.assert_allclose(measured("exp_f32", x), expected, rtol=2e-7, atol=1.4e-45)
    wide = np.array([-708.4, -740.0, -745.1, -745.2, -1e5, 709.78271289338, 709.782712893385, 1e5])
    np.testing.assert_allclose(measured("exp_f64", wide), np.exp(wide), rtol=4e-16, atol=5e-324)


def test_logarithms_of_subnormal_numbers():
    x = np.array([1e-45, 1e-40, 1.1754942e-38], np.float32)
    np.testing.assert_allclose(measured("log_f32", x), np.log(x.astype(np.float64)), rtol=1e-7)
    wide = np.array([5e-324, 1e-310, 2.225073858507201e-308])
    np.testing.assert_allclose(measured("log_f64", wide), np.log(wide), rtol=3e-16)


@pytest.mark.parametrize(
    ("name", "limits"),
    [
        ("tanh_f32", (-1, 1)),
        ("tanh_f64", (-1, 1)),
        ("erf_f32", (-1, 1)),
        ("sigmoid_f32", (0, 1)),
        ("sigmoid_f64", (0, 1)),
        ("erfc_f32", (0, 2)),
        ("normal_cdf_f32", (0, 1)),
        ("sin_f32", (-1, 1)),
        ("cos_f32", (-1, 1)),
        ("expm1_f32", (-1, INF)),
    ],
)
def test_results_stay_within_limits(name, limits):
    count = much(1 << 17, 1 << 20)
    x = np.concatenate([np.linspace(-25, 25, count), np.linspace(-4, 4, count)])
    got = measured(name, x)
    assert got.min() >= limits[0] and got.max() <= limits[1]


@pytest.mark.parametrize(("name", "from_there"), [("tanh_f32", 9.02), ("tanh_f64", 19.1), ("erf_f32", 3.92)])
def test_saturated_results_are_exactly_one(name, from_there):
    x = np.array([from_there, 20, 1e30, INF])
    np.testing.assert_array_equal(measured(name, x), 1)
    np.testing.assert_array_equal(measured(name, -x), -1)


def test_sines_of_large_numbers_and_next_to_multiples_of_pi():
    # The float32 that is nearest to a multiple of pi, others next to some, and the largest.
    x = np.array([16367173 * 2.0**72, 3.1415927, 6.2831855, 22, 355, 8388608, 1e22, 3.4028235e38], np.float32)
    exact = [float(f"{each:.17g}") for each in np.sin(x.astype(np.float64))]
    np.testing.assert_array_equal(measured("sin_f32", x), np.array(exact, np.float32))
    np.testing.assert_array_equal(measured("sin_f32", -x), -np.array(exact, np.float32))


@pytest.mark.parametrize("name", ["pow", "atan2"])
def test_pairs_of_special_numbers(name):
    most = float(np.finfo(np.float32).max)
    integers = (2.0, -2.0, 16777215.0, -16777217.0, 33554434.0)
    each = np.array((*SPECIAL, *integers, 1e-45, most, -most, 0.99999994), np.float32)
    x, y = map(np.ravel, np.meshgrid(each, each))
    with np.errstate(all="ignore"):
        exact = EXACT[name](x.astype(np.float64), y.astype(np.float64))
    distances = errors(measured(f"{name}_f32", x, y), exact)
    assert (distances < 1).all(), [(a, b) for a, b, d in zip(x, y, distances, strict=True) if d >= 1]


def test_errors_see_wrong_signs_infinities_and_nan():
    exact = np.array([0.0, INF, NAN, 1.0, 1.0])
    got = np.array([-0.0, 1.0, 1.0, NAN, np.float32(1) + np.finfo(np.float32).eps], np.float32)
    assert errors(got, exact).tolist() == [INF, INF, INF, INF, 1.0]
    assert errors(exact.astype(np.float32), exact).tolist() == [0.0] * 5


def test_the_inverse_error_function_of_float64():
    """Loops and arrays give the same results; both lose digits near 1, as XLA does."""
    x = np.concatenate([np.linspace(-1, 1, 2001), 1 - np.logspace(-16, -2, 200), [-2, 2, np.nan]])
    found = np.array([erf_inv_f64(float(number)) for number in x])
    np.testing.assert_allclose(found, erf_inv_float64(x), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_loops_compute_many_numbers_at_once(name):
    run = loop(name)
    x = np.ones(4, np.float32 if name.endswith("f32") else np.float64)
    run(*[x] * (3 if name in TWO_ARGUMENTS else 2))
    (text,) = run.inspect_llvm().values()
    assert re.search(r"fmul contract <\d+ x (float|double)>", text)
