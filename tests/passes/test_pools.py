"""Pools of few elements: combinations of strided slices, with the values of the reduction."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import EXACT, assert_agrees, hlo, main
from xla2py.tests.recording.lazy_jax import jax

X = np.random.default_rng(3).normal(size=(2, 32, 24, 8)).astype(np.float32)


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


@pytest.mark.parametrize("window", [(1, 2, 3, 1), (1, 1, 3, 4), (1, 4, 4, 2), (1, 1, 1, 2)])
@pytest.mark.parametrize(("lowest", "choose"), [(-np.inf, jax.lax.max), (np.inf, jax.lax.min)])
def test_pools(window, lowest, choose):
    text = hlo(pool(window, lowest, choose), X)
    assert "::" in main(text) and "reshape" not in main(text)
    assert_agrees(text, X, budget=EXACT, without="pools")


def test_nan_infinities_and_zeros_are_those_of_the_reduction():
    x = X.copy()
    x[0, 3, 3, 1], x[0, :9, 5], x[1, 2:4, :4, 0], x[1, 2, 0, 0] = np.nan, -np.inf, -0.0, 0.0
    text = hlo(pool((1, 2, 2, 1)), x)
    slices, reduced = (xla2py.emit(text, disable_passes=passes).load().main(x) for passes in ((), ("pools",)))
    assert np.isnan(slices[0, 1, 1, 1])
    np.testing.assert_array_equal(slices, reduced)


def test_pools_of_integers():
    x = np.arange(1 << 12, dtype=np.int32).reshape(1, 64, 64, 1)[:, ::-1].copy()
    text = hlo(pool((1, 2, 2, 1), np.int32(-(2**31))), x)
    assert "np.maximum" in main(text)
    assert_agrees(text, x, budget=EXACT, without="pools")


@pytest.mark.parametrize(
    ("window", "shape"),
    [
        ((1, 8, 8, 1), (2, 32, 24, 8)),  # many slices
        ((1, 2, 2, 1), (1, 8, 8, 8)),  # few elements
        ((1, 2, 24, 1), (2, 32, 24, 8)),  # one piece
    ],
)
def test_other_pools_are_reductions(window, shape):
    x = X[: shape[0], : shape[1], : shape[2], : shape[3]].copy()
    text = hlo(pool(window), x)
    assert "reshape" in main(text) and "::" not in main(text)


@pytest.mark.parametrize("target", ["cupy", "dask"])
def test_where_slices_are_slow_lines_are_reduced(target):
    source = xla2py.emit(hlo(pool((1, 2, 2, 1)), X), target).source
    assert "::2" not in source
