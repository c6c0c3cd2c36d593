"""Functions of many single elements are computed block by block in readable modules for NumPy."""

import numpy as np
import pytest

import xla2py
from xla2py.templates.numpy.prelude.blocks import BLOCK, in_blocks, rows_in_blocks
from xla2py.tests.recording.lazy_jax import jax, jnp

MANY = (3, 211, 239)  # more than 2**17 elements, and no whole number of blocks


def gelu(x):
    return jax.nn.gelu(x) + 1


def repeated(seed, shape):
    """Numbers that repeat, by rows or within long ones, so that what XLA makes of them is recorded in little."""
    *_, columns = shape
    some = np.random.default_rng(seed).normal(size=(max(2, 2_000 // columns), min(columns, 2_001)))
    return np.resize(some[:, np.arange(columns) % some.shape[1]], shape).astype(np.float32)


FUNCTIONS = [gelu, jax.scipy.stats.norm.cdf, jax.scipy.special.erfc, jax.lax.erf, jax.lax.lgamma]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_values_are_those_of_xla(function):
    x = repeated(7, MANY) * 3
    x[0, 0, :4] = np.nan, np.inf, -np.inf, -0.0
    module = xla2py.emit(xla2py.from_jax(function, x))
    assert "in_blocks(" in module.source.partition("\n\n\n")[2].partition("\ndef check")[0]
    before = x.copy()
    result, wanted = module.load().main(x), np.asarray(jax.jit(function)(x))
    assert result.dtype == wanted.dtype and result.shape == wanted.shape
    np.testing.assert_allclose(result, wanted, rtol=4e-5, atol=4e-6)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("function", [jax.nn.softmax, jax.nn.log_softmax], ids=lambda function: function.__name__)
@pytest.mark.parametrize("shape", [(700, 211), (3, 5, 11000), (2, 100000), (70001, 2), (9, 0, 40000)])
def test_rows_are_those_of_xla(function, shape):
    x = repeated(5, shape) * 20
    if x.size:
        x[0, ..., 0], x[1, ..., 0] = np.inf, -np.inf
    module = xla2py.emit(xla2py.from_jax(function, x))
    body = module.source.partition("def main(")[2].partition("\n\n\n")[0]
    assert ("return rows_in_blocks(" in body) == (x.size > 0)
    for array in (x, np.asfortranarray(x)):
        wanted = np.asarray(jax.jit(function)(array))
        np.testing.assert_allclose(module.load().main(array), wanted, rtol=4e-5, atol=4e-6)


def test_softmaxes_along_other_axes_are_computed_at_once():
    x = np.zeros((512, 512), np.float32)
    source = xla2py.emit(xla2py.from_jax(lambda x: jax.nn.softmax(x, axis=0), x)).source
    assert "softmax(x, axis=0)" in source and "in_blocks" not in source


def test_arrays_in_any_order_of_memory():
    x = np.random.default_rng(1).normal(size=(2 * BLOCK + 5, 3)).astype(np.float32)
    for array in (x, x.T, x[::2], np.asfortranarray(x), x[:0]):
        result = in_blocks(np.tanh, array)
        assert result.shape == array.shape and result.dtype == array.dtype
        np.testing.assert_array_equal(result, np.tanh(array))
        np.testing.assert_array_equal(rows_in_blocks(np.tanh, array), np.tanh(array))


@pytest.mark.parametrize(("function", "style"), [(gelu, "fast"), (jax.scipy.special.erfc, "fast")])
def test_kernels_are_not_cut_into_blocks(function, style):
    pytest.importorskip("numba")
    source = xla2py.emit(xla2py.from_jax(function, np.zeros(MANY, np.float32)), style=style).source
    assert "in_blocks" not in source and "_kernel(" in source


def test_few_elements_and_several_operands_are_computed_at_once():
    few, many = np.zeros(1000, np.float32), np.zeros(2**18, np.float32)
    assert "in_blocks" not in xla2py.emit(xla2py.from_jax(gelu, few)).source
    assert "in_blocks" not in xla2py.emit(xla2py.from_jax(jax.scipy.special.xlogy, many, many)).source


def test_results_are_called_after_the_function():
    def twice(x):
        probability = jax.scipy.stats.norm.cdf(x)
        return probability * jnp.sin(probability)

    source = xla2py.emit(xla2py.from_jax(twice, np.zeros(2**18, np.float32)), annotate="none").source
    assert "probability = in_blocks(normal_cdf, x)" in source
