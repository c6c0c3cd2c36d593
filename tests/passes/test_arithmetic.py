"""sums, clips, quotients, variances, softplus and squares: what is raised, near-misses, and values at the edges."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import ROUNDED, STAYS, assert_agrees, cases, entry, hlo, lacks, main, optimised, times
from xla2py.tests.recording.lazy_jax import jax, jnp

EDGES = np.array([0.0, -0.0, 1.5, -2.5, 100.0, -100.0, 1e30, np.inf, -np.inf, np.nan], np.float32)
PAIRS = np.stack([array.ravel() for array in np.meshgrid(EDGES, EDGES)])
ROWS = np.stack([np.linspace(-3, 4, 64), np.full(64, 2), np.r_[np.inf, np.ones(63)], np.r_[np.nan, np.ones(63)]])
ROWS = ROWS.astype(np.float32)
BYTES = np.array([100, -100, -128, 127], np.int8)


# -- magnitudes


test_what_the_greater_of_two_has_more_is_a_magnitude = cases("magnitudes", *PAIRS)(
    (lambda x, y: jnp.maximum(x, y) - jnp.minimum(x, y), "return np.abs(x - y)"),
    (lambda x, y: jnp.maximum(x, y) - jnp.minimum(x, y) == 0, "return x - y == 0"),
    (
        lambda x, y: jnp.maximum(x, y) - jnp.minimum(x, y),
        (BYTES, BYTES[::-1]),
        lacks("abs"),
    ),  # which knows nothing of 200
)


def extremes(x, y):
    both = jnp.stack([x, y], axis=1)
    return both.max(1), both.min(1), both.max(0)


test_the_extreme_of_two_stacked_arrays_is_that_of_the_arrays = cases("sums", *PAIRS)(
    (extremes, "np.maximum(x, y), np.minimum(x, y), "),
)


# -- quotients


def of_two(*lines):
    ones, twos = (", ".join([number] * 100) for number in "12")
    arguments = "x = f32[100] parameter(0)", "y = f32[100] parameter(1)"
    return entry(*arguments, f"one = f32[100] constant({{{ones}}})", f"two = f32[100] constant({{{twos}}})", *lines)


test_quotients = cases("quotients", *PAIRS)(
    (of_two("r = f32[100] divide(one, y)", "p = f32[100] multiply(x, r)"), "return x / y"),
    (of_two("r = f32[100] divide(one, y)", "p = f32[100] multiply(r, x)"), "return x / y"),
    (of_two("r = f32[100] rsqrt(y)", "p = f32[100] multiply(x, r)"), "return x / np.sqrt(y)"),
    (of_two("r = f32[100] logistic(x)", "p = f32[100] multiply(x, r)"), "return x / (np.exp(-x) + 1)"),
    (of_two("r = f32[100] divide(two, y)", "p = f32[100] multiply(x, r)"), "return x * (2 / y)"),
    (of_two("r = f32[100] divide(one, y)", "q = f32[100] multiply(x, r)", "p = f32[100] add(q, r)"), "ratio = 1 / y"),
)


def test_reciprocals_of_narrow_floats_stay():
    text = entry("x = f16[4] parameter(0)", "r = f16[4] rsqrt(x)", "p = f16[4] multiply(x, r)")
    assert "rsqrt" in main(text)


test_division_after_optimisation = cases("quotients", ROWS, claims=[lacks("* (1 / ")], forms=(hlo, optimised))(
    jax.nn.silu,
    jax.nn.softmax,
    lambda x: x / jnp.linalg.norm(x, axis=-1)[:, None],
)


# -- clips


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: jnp.clip(x, -1, 2), "return np.clip(x, -1, 2)"),
        (lambda x: jnp.maximum(jnp.minimum(x, 2), -1), "return np.clip(x, -1, 2)"),
        (lambda x: jnp.maximum(jnp.minimum(x, -1), 2), "return np.maximum(np.minimum(x, -1), 2)"),
        (lambda x: jnp.minimum(jnp.maximum(x, 0), x + 1), "np.minimum("),
        (jax.nn.relu6, "return np.clip(x, 0, 6)"),
        (jax.nn.hard_tanh, "return np.clip(x, -1, 1)"),
        (lambda x: jnp.where(x < -1, -1, jnp.where(x > 2, 2, x)), "return np.clip(x, -1, 2)"),
        (lambda x: jnp.where(x < 0, 0, jnp.where(x > 2, 2, x)), "np.where(x < 0, "),  # -0 stays
        (lambda x: jnp.where(x < 2, 2, jnp.where(x > -1, -1, x)), "np.where(x < 2, "),
        (lambda x: jnp.where(x <= -1, 7, jnp.where(x > 2, 2, x)), "np.where(x <= -1, 7, "),
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


test_reductions_that_stay = cases("sums", ROWS, claims=[STAYS], budget=None)(
    lambda x: x.reshape(4, 4, 16).sum(1),  # part of the pieces
    lambda x: x.reshape(16, 16).sum(1),  # across what was an axis
    lambda x: x.reshape(2, 2, 64).sum(2),  # the others change shape
    lambda x: x.max(1).sum(0),
)

test_products_with_ones_are_sums = cases("sums", ROWS)(
    (lambda x: jnp.ones((1, len(x)), jnp.float32) @ x, "return x.sum(axis=0, keepdims=True)"),
    (lambda x: x @ jnp.ones(x.shape[1], jnp.float32), "return x.sum(axis=-1)"),
)

test_products_with_more_ones_stay = cases("sums", ROWS, claims=[STAYS], budget=None)(
    lambda x: jnp.ones((2, len(x)), jnp.float32) @ x,
    lambda x: 2 * jnp.ones((1, len(x)), jnp.float32) @ x,
    lambda x: jnp.ones((1, len(x)), jnp.int32) @ x.astype(jnp.int32),
)

test_sums_of_nothing = cases("sums", ROWS[:0])(
    lambda x: x.reshape(0, 4, 16).sum((1, 2)),
    lambda x: x.reshape(0, 4, 16).sum((0, 1)),
)


# -- variances


test_variances = cases("variances", ROWS, also=[optimised])(
    (lambda x: x.var(-1), "return x.var(axis=-1)"),
    (lambda x: x.var(), "return x.var()"),
    (lambda x: x.var(0), "return x.var(axis=0)"),
    (lambda x: x.std(-1), "return x.std(axis=-1)"),
    (lambda x: x.var(-1, ddof=1), "return x.var(axis=-1, ddof=1)"),
    (lambda x: jnp.square(x - x.mean(-1, keepdims=True)).mean(-1, keepdims=True), "x.var(axis=-1, keepdims=True)"),
)

test_no_variances = cases("variances", ROWS, claims=[lacks("var(")])(
    lambda x: jnp.square(x - x.mean(0)).mean(1),  # other axes
    lambda x: ((x - x.mean(-1, keepdims=True)) * x).mean(-1),  # a covariance
    lambda x: jnp.square(x - x.max(-1, keepdims=True)).mean(-1),
    lambda x: jnp.square(x + x.mean(-1, keepdims=True)).mean(-1),
)

test_variance_of_one_and_of_complex_numbers = cases("variances")(
    (lambda x: x.var(-1, ddof=0), np.float32([[3.0], [np.inf]])),
    (lambda x: x.var(-1, ddof=1), np.float32([[3.0], [np.inf]])),
    (lambda z: jnp.var(z, -1), (ROWS[:2] + 1j * ROWS[:2]).astype(np.complex64)),
)


# -- sums of one element

ONES = np.float32([[0], [-0.0], [1], [-3], [np.inf], [np.nan]])
test_axes_of_one_element = cases(
    "sums", ONES
)(
    (lambda x: 1 / x.sum(axis=1), "return 1 / x[:, 0]"),  # -inf for -0
    (lambda x: jnp.exp(x).max(axis=1), "return np.exp(x)[:, 0]"),
    (lambda x: 1 / x[:2].sum(axis=0), "sum("),
)


# -- softplus


test_softplus = cases("softplus", *PAIRS)(
    (lambda x, y: jax.nn.softplus(x), "return np.logaddexp(x, 0)"),
    (lambda x, y: jnp.logaddexp(x, y), "return np.logaddexp(x, y)"),
    (lambda x, y: jnp.logaddexp(0.0, x), "return np.logaddexp(x, 0)"),
    (lambda x, y: jax.nn.log_sigmoid(x), "return -np.logaddexp(-x, 0)"),
    (lambda x, y: jnp.maximum(x, y) + jnp.log1p(jnp.exp(-jnp.abs(x - y))), lacks("logaddexp")),  # without the guard
)


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


test_squares = cases("squares", *PAIRS)(
    (lambda x, y: jnp.square(x - y).sum(), "return np.square(x - y).sum()"),
    (lambda x, y: x * x, lacks("square")),  # of a name
    (lambda x, y: (x + y) * (x - y), lacks("square")),
    (lambda x, y: (x + y, (x + y) * (x + y)), lacks("square")),  # read twice
)


# -- sigmoids


test_sigmoids = cases("sigmoids", *PAIRS, forms=(hlo, optimised))(
    (lambda x, y: jax.nn.sigmoid(x) * y + jax.nn.sigmoid(x + 1), times(2, "sigmoid(")),
)

test_others_are_written_out = cases("sigmoids", *PAIRS)(
    (lambda x: jax.nn.sigmoid(x), EDGES, lacks("sigmoid")),  # one is written out
    (lambda x, y: (1 / (2 + jnp.exp(-x)), 2 / (1 + jnp.exp(-y))), lacks("sigmoid")),
)


def test_dask_writes_sigmoids_out():
    assert "sigmoid" not in main(hlo(lambda x, y: jax.nn.sigmoid(x) * jax.nn.sigmoid(y), *PAIRS), target="dask")
