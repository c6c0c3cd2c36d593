"""Random numbers of JAX: JAX is the judge."""

import numpy as np
import pytest

from xla2py.templates.prelude.keys import fold_in, random_bits, random_normal, random_uniform, split_key

random = pytest.importorskip("jax.random")
KEY = np.array([7, 0xFFFFFFFF], np.uint32)
JAX_KEY = random.wrap_key_data(KEY)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_split_key(count):
    np.testing.assert_array_equal(split_key(KEY, count), random.key_data(random.split(JAX_KEY, count)))


@pytest.mark.parametrize("data", [0, 3, 2**32 - 1])
def test_fold_in(data):
    np.testing.assert_array_equal(fold_in(KEY, data), random.key_data(random.fold_in(JAX_KEY, np.uint32(data))))


@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (3, 1, 4)])
def test_bits_and_distributions(shape):
    np.testing.assert_array_equal(random_bits(KEY, shape), random.bits(JAX_KEY, shape))
    np.testing.assert_array_equal(random_uniform(KEY, shape), random.uniform(JAX_KEY, shape))
    expected = random.uniform(JAX_KEY, shape, minval=-2, maxval=3)
    np.testing.assert_allclose(random_uniform(KEY, shape, -2, 3), expected, rtol=1e-6, atol=1e-6)
    normal = random_normal(KEY, shape)
    assert normal.dtype == np.float32
    np.testing.assert_allclose(normal, random.normal(JAX_KEY, shape), rtol=2e-6, atol=2e-6)
