"""Stacked outputs of a loop that are equal are one, and rows that are stored twice are there twice."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.ladder.running import on_twin
from xla2py.tests.passes.raising import assert_agrees, hlo, main
from xla2py.tests.recording.lazy_jax import jax, jnp, lax

X = np.random.default_rng(5).standard_normal((6, 5)).astype(np.float32)


def stacked_twice(x):
    def step(scale, row):
        wave = jnp.exp(jnp.tanh(row) * scale)
        return scale + 1.5, (wave, wave * 2, wave)

    return lax.scan(step, jnp.float32(2), x)[1]


def in_rows_and_in_columns(x):
    def step(k, state):
        rows, columns, others = state
        wave = jnp.exp(jnp.tanh(x[k]) * 2)
        return rows.at[k].set(wave), columns.at[:, k].set(wave), others.at[4 - k].set(wave)

    return lax.fori_loop(0, 5, step, (jnp.zeros((5, 5)),) * 3)


def test_one_array_for_both():
    text = hlo(stacked_twice, X)
    body = main(text)
    assert body.count("np.empty(") == 2 and body.endswith("return exps, products, exps"), body
    assert_agrees(text, X, without="equal_stores")


def test_of_two_loops_and_of_other_places():
    text = hlo(in_rows_and_in_columns, X)
    body = main(text)
    assert sum(f"{array} = np." in body for array in ("exps", "out", "exps_2")) == 3, body
    assert_agrees(text, X, without="equal_stores")


@pytest.mark.parametrize("function", [stacked_twice, in_rows_and_in_columns])
@pytest.mark.parametrize("passes", [[], ["equal_stores"]])
def test_kernels_write_no_row_that_is_stored_elsewhere_too(function, passes):
    emitted = xla2py.emit(hlo(function, X), "cupy", style="fast", disable_passes=passes)
    for found, expected in zip(on_twin(emitted, [X]), jax.jit(function)(X), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)
