"""Pools of few elements: combinations of strided slices, with the values of the reduction."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import EXACT, assert_agrees, cases, hlo, lacks, main
from xla2py.tests.recording.lazy_jax import jax

X = np.random.default_rng(3).normal(size=(2, 32, 24, 8)).astype(np.float32)
NUMBERS = np.arange(1 << 12, dtype=np.int32).reshape(1, 64, 64, 1)[:, ::-1].copy()


def pool(window, lowest=-np.inf, choose=jax.lax.max):
    return lambda x: jax.lax.reduce_window(x, lowest, choose, window, window, "VALID")


def test_pools_of_two_are_two_statements():
    text = hlo(pool((1, 2, 2, 1)), X)
    assert main(text).splitlines() == [
        "larger = np.maximum(x[:, ::2], x[:, 1::2])",
        "return np.maximum(larger[:, :, ::2], larger[:, :, 1::2])",
    ]
    assert "reshape" in main(text, disable_passes=["pools"])
    assert_agrees(text, X, budget=EXACT, without="pools")


test_pools = cases("pools", X, claims=["::", lacks("reshape")], budget=EXACT)(
    pool((1, 2, 3, 1)),
    pool((1, 1, 3, 4)),
    pool((1, 4, 4, 2)),
    pool((1, 1, 1, 2)),
    pool((1, 4, 4, 2), np.inf, jax.lax.min),
    (pool((1, 2, 2, 1), np.int32(-(2**31))), NUMBERS, "np.maximum"),
)


def test_nan_infinities_and_zeros_are_those_of_the_reduction():
    x = X.copy()
    x[0, 3, 3, 1], x[0, :9, 5], x[1, 2:4, :4, 0], x[1, 2, 0, 0] = np.nan, -np.inf, -0.0, 0.0
    text = hlo(pool((1, 2, 2, 1)), x)
    slices, reduced = (xla2py.emit(text, disable_passes=passes).load().main(x) for passes in ((), ("pools",)))
    assert np.isnan(slices[0, 1, 1, 1])
    np.testing.assert_array_equal(slices, reduced)


test_other_pools_are_reductions = cases(
    "pools", X, claims=["reshape", lacks("::")], budget=None
)(
    pool((1, 8, 8, 1)),  # many slices
    (pool((1, 2, 2, 1)), X[:1, :8, :8]),  # few elements
    pool((1, 2, 24, 1)),  # one piece
)


@pytest.mark.parametrize("target", ["cupy", "dask"])
def test_where_slices_are_slow_lines_are_reduced(target):
    source = xla2py.emit(hlo(pool((1, 2, 2, 1)), X), target).source
    assert "::2" not in source


ODD = np.random.default_rng(5).normal(size=(3, 11, 7)).astype(np.float32)
ODD[0, 2, 1], ODD[1, 10, 6], ODD[2, :4], ODD[2, 1, 0] = np.nan, np.nan, -0.0, 0.0


test_elements_behind_the_last_whole_window_are_cut_off = cases("pools", ODD, claims=[lacks("window")])(
    (pool((1, 2, 1)), "x[:, :-1].reshape(3, 5, 2, 7).max(axis=2)"),
    (pool((1, 4, 3), np.inf, jax.lax.min), "x[:, :8, :6].reshape(3, 2, 4, 2, 3).min(axis=(2, 4))"),
    (pool((2, 11, 5), 0.0, jax.lax.add), "x[:2, :, :5].sum(keepdims=True)"),
    (lambda x: pool((1, 1, 2), 0.0, jax.lax.add)(x) / 2, ".mean(axis=-1)"),
)
test_windows_that_are_longer_than_the_array_or_padded_stay = cases("pools", ODD)(
    (lambda x: jax.lax.reduce_window(x, -np.inf, jax.lax.max, (1, 3, 1), (1, 2, 1), "VALID"), "reduce_window"),
    (lambda x: jax.lax.reduce_window(x, -np.inf, jax.lax.max, (1, 2, 1), (1, 2, 1), "SAME"), "reduce_window"),
    pool((1, 12, 1)),
    pool((4, 1, 1)),
)
