"""prefixes: running combinations however they are spelt, near-misses, and values."""

import numpy as np
import pytest

from xla2py.tests.passes.raising import EXACT, STAYS, Budget, assert_agrees, cases, hlo, main, optimised
from xla2py.tests.recording.lazy_jax import jax, jnp

lax = jax.lax
RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 32)).astype(np.float32)
LINE = RNG.normal(size=1000).astype(np.float32)
INTEGERS = RNG.integers(-(2**31), 2**31 - 1, 5000, dtype=np.int32)
SUMS = Budget(relative=1e-4, absolute=1e-4)  # of up to a thousand terms, in another order


def by_shifts(x, shifts, join):
    for k in shifts:
        x = x + join(x[:-k], k)
    return x


def padded(x, k):
    return jnp.pad(x, (k, 0))


def joined(x, k):
    return jnp.concatenate([jnp.zeros(k, x.dtype), x])


@pytest.mark.parametrize(
    ("form", "function", "x", "expected"),
    [
        (hlo, lambda x: lax.associative_scan(jnp.add, x, axis=1), X, "return x.cumsum(axis=-1)"),
        (optimised, lambda x: lax.associative_scan(jnp.add, x, axis=1), X, "return x.cumsum(axis=-1)"),
        (optimised, lambda x: lax.associative_scan(jnp.multiply, x), X, "return x.cumprod(axis=0)"),
        (hlo, lambda x: lax.associative_scan(jnp.maximum, x), X, "return np.maximum.accumulate(x, axis=0)"),
        (hlo, lambda x: lax.associative_scan(jnp.minimum, x[:, :8], axis=1), X, "np.minimum.accumulate(x[:, :8]"),
        (
            optimised,
            lambda x: lax.associative_scan(jnp.add, x, axis=1, reverse=True),
            X,
            "return x[:, ::-1].cumsum(axis=-1)[:, ::-1]",
        ),
        (optimised, lambda x: jnp.cumsum(x, 1), X, "return x.cumsum(axis=-1)"),
        (optimised, lambda x: jnp.cumsum(x * 2, 0), np.tile(X, (6, 1)), "return (x * 2).cumsum(axis=0)"),
        (optimised, lambda x: lax.cummax(x, 1), X, "return np.maximum.accumulate(x, axis=-1)"),
        (
            optimised,
            lambda x: lax.cummin(x, 0, reverse=True),
            LINE,
            "return np.minimum.accumulate(x[::-1])[::-1]",
        ),
        (optimised, jnp.cumsum, LINE, "return x.cumsum()"),  # in two levels of blocks
        (optimised, lambda x: lax.cumsum(x, 0, reverse=True), LINE, "return x[::-1].cumsum()[::-1]"),
        (optimised, jnp.cumsum, INTEGERS, "return x.cumsum(dtype=np.int32)"),  # in three
        (hlo, lambda x: by_shifts(x, (1, 2, 4, 8, 16), padded), LINE[:32], "return x.cumsum()"),
        (hlo, lambda x: by_shifts(x, (1, 2, 4, 8, 16), joined), LINE[:20], "return x.cumsum()"),
    ],
)
def test_prefixes(form, function, x, expected):
    text = form(lambda x: function(x), x)
    assert expected in main(text)
    assert_agrees(text, x, without="prefixes", budget=EXACT if x.dtype == np.int32 else SUMS)


test_what_does_not_run_along_one_array = cases(
    "prefixes", LINE, claims=[STAYS], budget=None
)(
    lambda x: by_shifts(x, (1, 2, 3, 8), padded),  # some come twice
    lambda x: by_shifts(x, (1, 2, 4), padded),  # not from the start
    lambda x: x + jnp.pad(x[:-1], (1, 0), constant_values=1),
    lambda x: jnp.maximum(jnp.pad(jnp.maximum.accumulate(x)[:-1], (1, 0)), jnp.cumsum(x)),
    lambda x: jnp.cumsum(x[:16].reshape(4, 4), 1).reshape(16),
    lambda x: jnp.cumsum(x)[::-1],
    lambda x: jnp.cumsum(x.reshape(4, 250), 1).T.reshape(1000),
    lambda x: lax.associative_scan(jnp.add, x.astype(jnp.float16)),
    lambda x: lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (x, x))[1],
)


def turned_once(x):
    """Shifts along the rows, of which one takes the columns in another order."""
    x = x + jnp.pad(x[:, :-1], ((0, 0), (1, 0)))
    return x + jnp.pad(x[::-1, :-2], ((0, 0), (2, 0)))


def moved_once(x):
    x = x + jnp.pad(x[:, :-1], ((0, 0), (1, 0)))
    return x + jnp.pad(x[:-1, :-2], ((1, 0), (2, 0)))


def first_ones_turned(x):
    """The first elements of the lines begin others."""
    x = jnp.concatenate([x[:, :1], x[:, 1:] + x[:, :-1]], 1)
    return jnp.concatenate([x[::-1, 0][:, None], x[:, 1:2], x[:, 2:] + x[:, :-2]], 1)


test_what_does_not_stay_in_its_line = cases("prefixes", X[:, :4], claims=[STAYS], budget=None)(
    turned_once, moved_once, first_ones_turned
)


@pytest.mark.parametrize("axis", [0, 1])
def test_lines_of_arrays_of_any_size(axis):
    """One line is looked at where nothing happens along the other axis."""
    large = jax.ShapeDtypeStruct((1 << 12, 1 << 11), np.float32)
    text = jax.jit(lambda x: lax.associative_scan(jnp.add, x, axis=axis)).lower(large).as_text("hlo")
    assert f"return x.cumsum(axis={-axis})" in main(text)


def test_infinities_and_nan():
    x = X.copy()
    x[0, 3], x[1, 5], x[2, 7], x[2, 9], x[3, 20] = np.inf, -np.inf, np.inf, -np.inf, np.nan
    for function in (jnp.cumsum, lax.cummax):
        assert_agrees(
            optimised(lambda x, function=function: function(x, axis=1), x), x, without="prefixes", budget=SUMS
        )


def test_sums_of_nothing():
    empty = np.zeros((0, 32), np.float32)
    assert_agrees(optimised(lambda x: jnp.cumsum(x, 1), empty), empty, without="prefixes")


def test_a_running_sum_of_which_two_parts_are_read_is_computed_once():
    def moving(x):
        total = jnp.cumsum(x, 0)
        return total[5:] - total[:-5]

    text = main(hlo(moving, X.T))
    assert text.count("cumsum(") == 1
    assert_agrees(hlo(moving, X.T), X.T, without="prefixes", budget=SUMS)
