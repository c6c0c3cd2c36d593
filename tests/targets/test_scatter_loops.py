"""The style ``fast`` of NumPy: what only a scatter reads is computed in the scatter's loop."""

import numpy as np
import pytest

pytest.importorskip("numba", reason="Numba is not installed")

import xla2py
from xla2py.tests.recording.lazy_jax import jax, jnp, lax
from xla2py.tests.targets.numpy_fast import as_in_xla, kernels

RNG = np.random.default_rng(3)
COUNT, ROWS = 4500, 60
PLACES = RNG.integers(-ROWS - 2, ROWS + 2, COUNT).astype(np.int32)
COLUMNS = RNG.integers(-1, COUNT + 1, COUNT).astype(np.int32)
VALUES = RNG.normal(size=COUNT).astype(np.float32)
VALUES[[5, 70, 900]] = np.nan, np.inf, -np.inf


def zeros():
    return jnp.zeros(ROWS)


def of_all(function):
    """A function that reads all its arguments, whatever the given one reads."""
    return lambda i, j, x: (function(i, j, x), i[0], j[0], x[0])


def rounds_of(x, step):
    return lax.fori_loop(0, 6, step, x)


IN_ONE_LOOP = {
    "a product of a sparse matrix": lambda i, j, x: zeros().at[i].add(x * x[j]),
    "a histogram": lambda i, j, x: jnp.zeros(ROWS, int).at[(x * 30).astype(int)].add(1),
    "the greatest": lambda i, j, x: jnp.full(ROWS, -1.0).at[i * 2 - 1].max(x[j] - 1),
    "the last": lambda i, j, x: jnp.full(ROWS, jnp.nan).at[i + 1].set(-x),
    "the product": lambda i, j, x: jnp.ones(ROWS).at[abs(i)].multiply(jnp.where(i > 50, x[j] * 2, 1)),
    "rows": lambda i, j, x: jnp.zeros((ROWS, 3)).at[i - 1].add(x[:, None] * x[:3]),
    "places along two axes": lambda i, j, x: jnp.zeros((ROWS, ROWS)).at[i + 1, jnp.clip(j, -3, 7)].add(x + 1),
    "integers that wrap": lambda i, j, x: jnp.zeros(ROWS, jnp.int8).at[i].add((j * 3).astype(jnp.int8)),
    "rounds": lambda i, j, x: rounds_of(zeros(), lambda k, y: y / 2 + zeros().at[i + k].add(x * k)),
    "rounds that change what they read": lambda i, j, x: rounds_of(
        zeros(), lambda k, y: y.at[i + k].add(y[jnp.clip(j - k, 0, ROWS - 1)] * 1e-2 + 1)
    ),
}


@pytest.mark.parametrize("case", IN_ONE_LOOP)
def test_values_and_places_are_computed_where_they_are_placed(case):
    module = as_in_xla(of_all(IN_ONE_LOOP[case]), PLACES, COLUMNS, VALUES, tolerance=1e-3)
    assert len(kernels(module)) == 1
    assert "def scatter" not in module.source


SMALL = np.float32([[0.5, -1, 2], [3, -0.25, 1]])
AT = np.int32([-2, 0, 5])


def test_places_that_numpy_counts_from_the_end_are_found():
    def function(x, i):
        one_or_more = jax.vmap(lambda x, i: x.at[i].add(jnp.cos(jnp.arange(3.0)), mode="clip"))(
            x, jnp.stack([i, i + 1])
        )
        return one_or_more, x[:, :1].at[jnp.clip(i - 1, -2, 1), 0].set(jnp.sin(jnp.arange(3.0)))

    as_in_xla(function, SMALL, AT, tolerance=1e-6)


def test_an_array_that_is_scattered_into_is_stored():
    def backwards(x):
        return x.at[::-1].add(jnp.cos(jnp.arange(x.size)), mode="promise_in_bounds")

    def sums(x):
        return lax.scan(lambda total, t: (total + backwards(x * t).sum(), backwards(x + total)), 0.0, jnp.arange(3.0))

    as_in_xla(sums, SMALL.ravel()[:5], tolerance=1e-6)


def test_places_are_chosen_from_several_arrays_in_the_innermost_loop():
    def rows(x, i):
        return x[i[:, None]]

    as_in_xla(lambda x, i: jax.vmap(rows)(jnp.stack([x, x * 2]), jnp.stack([i, i + 1])), SMALL.T, AT, tolerance=1e-6)


BESIDE = {
    "what is read again": lambda i, j, x: ((y := x * x[j]), zeros().at[i].add(y)),
    "what two scatters read": lambda i, j, x: (zeros().at[i].add(y := x * x[j]), zeros().at[i + 1].add(y)),
    "functions that LLVM computes several at a time": lambda i, j, x: zeros().at[i].add(jnp.exp(x) * x[j]),
    "an argument that is changed": lambda i, j, x: x.at[j].add(x * x[j]),
    "nothing": lambda i, j, x: zeros().at[i].add(x),
    "no elements": lambda i, j, x: (zeros().at[i[:0]].add(x[:0] * 2), jnp.zeros(0).at[i].add(x * 2)),
}


@pytest.mark.parametrize("case", BESIDE)
def test_what_is_read_elsewhere_is_stored(case):
    as_in_xla(of_all(BESIDE[case]), PLACES, COLUMNS, VALUES, tolerance=1e-3)


def test_a_scatter_never_reads_what_it_has_changed():
    def function(i, j, x):
        def step(k, y):
            return y.at[i[:40] % 7].set(y[::-1][:40] * 2).at[(i[:30] + k) % 5].add(y[3:33] + y[:30])

        return rounds_of(x[:40], step)

    as_in_xla(of_all(function), PLACES, COLUMNS, VALUES, tolerance=1e-3)


def test_names_of_the_author_are_no_counters():
    def function(idx, x, y):
        i = idx * 2 - 1
        j = x[idx % len(x)] * y
        return zeros().at[i].add(j)

    as_in_xla(function, PLACES, VALUES[::-1].copy(), np.ones_like(VALUES), tolerance=1e-3)


@pytest.mark.parametrize("options", [{"threads": "2"}, {"disable_passes": ["scatter_loops"]}])
def test_kernels_of_values_stay_kernels(options):
    """They may run in threads, which a scatter does not."""
    function = of_all(IN_ONE_LOOP["a histogram"])
    given = xla2py.from_jax(function, PLACES, COLUMNS, VALUES)
    module = xla2py.emit(given, style="fast", checks=False, **options)
    assert "scatter_on_zeros" in module.source
    made = module.load(keep_compiled=False).main(PLACES, COLUMNS, VALUES)
    assert np.array_equal(made[0], jax.jit(function)(PLACES, COLUMNS, VALUES)[0])
