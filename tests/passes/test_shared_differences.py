"""Differences from the mean that are read again are computed once, where they are many."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import assert_agrees, cases, hlo, main
from xla2py.tests.recording.lazy_jax import jax

X = np.resize(np.random.default_rng(3).normal(size=(64, 160)), (512, 160)).astype(np.float32)


def normalised(axis):
    def function(x):
        variance = x.var(axis, keepdims=True)
        return (x - x.mean(axis, keepdims=True)) / jax.numpy.sqrt(variance + 1e-5)

    return function


@pytest.mark.parametrize("axis", [0, 1])
def test_differences_are_computed_once(axis):
    x = X.copy()
    x[3, 5], x[7, 9] = np.nan, np.inf
    text = hlo(normalised(axis), X)
    assert "var" not in main(text)
    assert main(text).count("x.mean(") == 1
    assert_agrees(text, x, without="variances")


test_variances_stay_where_they_cost_no_pass = cases("variances", claims=["x.var(axis=-1"])(
    (normalised(1), X[:50]),  # few
    (lambda x: x.var(1) + 1, X),  # nothing else reads them,
)


def test_kernels_compute_them_again():
    pytest.importorskip("numba")
    assert "x.var(" in xla2py.emit(hlo(normalised(1), X), style="fast").source
