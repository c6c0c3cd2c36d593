"""sums, clips, quotients, variances, softplus and squares: what is raised, near-misses, and values at the edges."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import ROUNDED, assert_agrees, entry, hlo, main, optimised
from xla2py.tests.recording.lazy_jax import jax, jnp

EDGES = np.array([0.0, -0.0, 1.5, -2.5, 100.0, -100.0, 1e30, np.inf, -np.inf, np.nan], np.float32)
PAIRS = np.stack([array.ravel() for array in np.meshgrid(EDGES, EDGES)])
ROWS = np.stack([np.linspace(-3, 4, 64), np.full(64, 2), np.r_[np.inf, np.ones(63)], np.r_[np.nan, np.ones(63)]])
ROWS = ROWS.astype(np.float32)


# -- magnitudes


def test_what_the_greater_of_two_has_more_is_a_magnitude():
    text = hlo(lambda x, y: jnp.maximum(x, y) - jnp.minimum(x, y), *PAIRS)
    assert main(text) == "return np.abs(x - y)"
    assert_agrees(text, *PAIRS, without="magnitudes")
    text = hlo(lambda x, y: jnp.maximum(x, y) - jnp.minimum(x, y) == 0, *PAIRS)
    assert main(text) == "return x - y == 0"
    assert_agrees(text, *PAIRS, without="magnitudes")
    numbers = np.array([100, -100, -128, 127], np.int8)
    text = hlo(lambda x, y: jnp.maximum(x, y) - jnp.minimum(x, y), numbers, numbers[::-1])
    assert "abs" not in main(text)  # which knows nothing of 200
    assert_agrees(text, numbers, numbers[::-1], without="magnitudes")


def test_the_extreme_of_two_stacked_arrays_is_that_of_the_arrays():
    def function(x, y):
        both = jnp.stack([x, y], axis=1)
        return both.max(1), both.min(1), both.max(0)

    text = hlo(function, *PAIRS)
    assert "np.maximum(x, y), np.minimum(x, y), " in main(text)
    assert_agrees(text, *PAIRS, without="sums")


# -- quotients


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("r = f32[100] divide(one, y)", "p = f32[100] multiply(x, r)"), "return x / y"),
        (("r = f32[100] divide(one, y)", "p = f32[100] multiply(r, x)"), "return x / y"),
        (("r = f32[100] rsqrt(y)", "p = f32[100] multiply(x, r)"), "return x / np.sqrt(y)"),
        (("r = f32[100] logistic(x)", "p = f32[100] multiply(x, r)"), "return x / (np.exp(-x) + 1)"),
        (("r = f32[100] divide(two, y)", "p = f32[100] multiply(x, r)"), "return x * (2 / y)"),
        (("r = f32[100] divide(one, y)", "q = f32[100] multiply(x, r)", "p = f32[100] add(q, r)"), "ratio = 1 / y"),
    ],
)
def test_quotients(lines, expected):
    text = entry(
        "x = f32[100] parameter(0)",
        "y = f32[100] parameter(1)",
        *(f"{name} = f32[100] constant({{{', '.join([str(n)] * 100)}}})" for n, name in ((1, "one"), (2, "two"))),
        *lines,
    )
    assert expected in main(text)
    assert_agrees(text, *PAIRS, without="quotients")


def test_reciprocals_of_narrow_floats_stay():
    text = entry("x = f16[4] parameter(0)", "r = f16[4] rsqrt(x)", "p = f16[4] multiply(x, r)")
    assert "rsqrt" in main(text)


@pytest.mark.parametrize("function", [jax.nn.silu, jax.nn.softmax, lambda x: x / jnp.linalg.norm(x, axis=-1)[:, None]])
@pytest.mark.parametrize("form", [hlo, optimised])
def test_division_after_optimisation(function, form):
    text = form(function, ROWS)
    assert "* (1 / " not in main(text)
    assert_agrees(text, ROWS, without="quotients")


# -- clips


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: jnp.clip(x, -1, 2), "return np.clip(x, -1, 2)"),
        (lambda x: jnp.maximum(jnp.minimum(x, 2), -1), "return np.clip(x, -1, 2)"),
        (lambda x: jnp.maximum(jnp.minimum(x, -1), 2), "return np.maximum(np.minimum(x, -1), 2)"),
        (lambda x: jnp.minimum(jnp.maximum(x, 0), x + 1), "np.minimum("),
        (jax.nn.relu6, "return np.clip(x, 0, 6)"),
        (jax.nn.relu, "return np.maximum(x, 0)"),
    ],
)
def test_clips(function, expected):
    text = hlo(lambda x: function(x), EDGES)
    assert expected in main(text)
    assert_agrees(text, EDGES, without="clips")
    integers = np.array([-5, 0, 2, 9, -(2**31), 2**31 - 1], np.int32)
    assert_agrees(hlo(lambda x: function(x), integers), integers, without="clips")


# -- sums


@pytest.mark.parametrize("name", ["sum", "max", "min", "prod"])
def test_reductions_in_steps(name):
    reduce = getattr(jnp, name)
    text = hlo(lambda x: reduce(reduce(x.reshape(4, 4, 16), axis=2), axis=1), ROWS)
    assert main(text) == f"return x.{name}(axis=-1)"
    assert_agrees(text, ROWS / 4, without="sums")
    text = hlo(lambda x: reduce(x.reshape(2, 2, 8, 8), axis=(0, 1, 2, 3)), ROWS)
    assert main(text) == f"return x.{name}()"


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.reshape(4, 4, 16).sum(1),  # part of the pieces
        lambda x: x.reshape(16, 16).sum(1),  # across what was an axis
        lambda x: x.reshape(2, 2, 64).sum(2),  # the others change shape
        lambda x: x.max(1).sum(0),
    ],
)
def test_reductions_that_stay(function):
    text = hlo(function, ROWS)
    assert main(text, disable_passes=["sums"]) == main(text)


def test_sums_of_nothing():
    empty = np.zeros((0, 64), np.float32)
    assert_agrees(hlo(lambda x: x.reshape(0, 4, 16).sum((1, 2)), empty), empty, without="sums")
    assert_agrees(hlo(lambda x: x.reshape(0, 4, 16).sum((0, 1)), empty), empty, without="sums")


# -- variances


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x.var(-1), "return x.var(axis=-1)"),
        (lambda x: x.var(), "return x.var()"),
        (lambda x: x.var(0), "return x.var(axis=0)"),
        (lambda x: x.std(-1), "return x.std(axis=-1)"),
        (lambda x: x.var(-1, ddof=1), "return x.var(axis=-1, ddof=1)"),
        (lambda x: jnp.square(x - x.mean(-1, keepdims=True)).mean(-1, keepdims=True), "x.var(axis=-1, keepdims=True)"),
    ],
)
def test_variances(function, expected):
    text = hlo(function, ROWS)
    assert expected in main(text)
    assert_agrees(text, ROWS, without="variances")
    assert_agrees(optimised(function, ROWS), ROWS, without="variances")


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jnp.square(x - x.mean(0)).mean(1),  # other axes
        lambda x: ((x - x.mean(-1, keepdims=True)) * x).mean(-1),  # a covariance
        lambda x: jnp.square(x - x.max(-1, keepdims=True)).mean(-1),
        lambda x: jnp.square(x + x.mean(-1, keepdims=True)).mean(-1),
    ],
)
def test_no_variances(function):
    assert "var(" not in main(hlo(function, ROWS))
    assert_agrees(hlo(function, ROWS), ROWS, without="variances")


def test_variance_of_one_and_of_complex_numbers():
    one = np.array([[3.0], [np.inf]], np.float32)
    for ddof in (0, 1):
        assert_agrees(hlo(lambda x, ddof=ddof: x.var(-1, ddof=ddof), one), one, without="variances")
    z = (ROWS[:2] + 1j * ROWS[:2]).astype(np.complex64)
    assert_agrees(hlo(lambda z: jnp.var(z, -1), z), z, without="variances")


# -- softplus


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x, y: jax.nn.softplus(x), "return np.logaddexp(x, 0)"),
        (lambda x, y: jnp.logaddexp(x, y), "return np.logaddexp(x, y)"),
        (lambda x, y: jax.nn.log_sigmoid(x), "return -np.logaddexp(-x, 0)"),
    ],
)
def test_softplus(function, expected):
    text = hlo(function, *PAIRS)
    assert main(text) == expected
    assert_agrees(text, *PAIRS, without="softplus", budget=ROUNDED)


def test_a_logarithm_without_the_guard_stays():
    text = hlo(lambda x, y: jnp.maximum(x, y) + jnp.log1p(jnp.exp(-jnp.abs(x - y))), *PAIRS)
    assert "logaddexp" not in main(text)


@pytest.mark.parametrize("style", ["readable", "fast"])
@pytest.mark.parametrize(("axis", "reverse"), [(0, False), (1, True)])
def test_running_logarithms_of_sums(axis, reverse, style):
    x = np.random.default_rng(0).normal(size=(40, 30)).astype(np.float32)
    x[0, :5] = x[7] = -np.inf
    x[3, 4], x[9, 2] = np.nan, np.inf
    text = hlo(lambda x: jax.lax.cumlogsumexp(x, axis, reverse=reverse), x)
    assert "np.logaddexp.accumulate(" in xla2py.emit(text, style=style).source
    assert_agrees(text, x, without="log_sums", budget=ROUNDED)


def test_running_logarithms_of_long_sums_do_not_stand_still():
    x = np.zeros(3_000_000, np.float32)
    total = xla2py.emit(hlo(jax.lax.cumlogsumexp, x)).load().main(x)[-1]
    np.testing.assert_allclose(total, np.log(x.size), rtol=1e-6)


# -- squares


def test_squares():
    text = hlo(lambda x, y: jnp.square(x - y).sum(), *PAIRS)
    assert main(text) == "return np.square(x - y).sum()"
    assert_agrees(text, *PAIRS, without="squares")
    assert "square" not in main(hlo(lambda x, y: x * x, *PAIRS))  # of a name
    assert "square" not in main(hlo(lambda x, y: (x + y) * (x - y), *PAIRS))
    assert "square" not in main(hlo(lambda x, y: (x + y, (x + y) * (x + y)), *PAIRS))  # read twice


# -- sigmoids


@pytest.mark.parametrize("form", [hlo, optimised])
def test_sigmoids(form):
    text = form(lambda x, y: jax.nn.sigmoid(x) * y + jax.nn.sigmoid(x + 1), *PAIRS)
    assert main(text).count("sigmoid(") == 2
    assert_agrees(text, *PAIRS, without="sigmoids")
    assert "sigmoid" not in main(hlo(lambda x: jax.nn.sigmoid(x), EDGES))  # one is written out
    assert "sigmoid" not in main(hlo(lambda x, y: (1 / (2 + jnp.exp(-x)), 2 / (1 + jnp.exp(-y))), *PAIRS))
    assert "sigmoid" not in main(text, target="dask")
