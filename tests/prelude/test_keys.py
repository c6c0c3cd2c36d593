"""Random numbers of JAX: JAX is the judge."""

import numpy as np
import pytest

from xla2py.templates.prelude.keys import fold_in, random_bits, random_normal, random_uniform, split_key
from xla2py.tests.recording.lazy_jax import jax

random = jax.random
KEY = np.array([7, 0xFFFFFFFF], np.uint32)


def jax_split(key, count):
    return random.key_data(random.split(key, count))


def jax_fold_in(key, data):
    return random.key_data(random.fold_in(key, data))


def by_jax(function, *arguments, **options):
    """What JAX gives for the key."""
    return jax.jit(lambda key: function(random.wrap_key_data(key), *arguments, **options))(KEY)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_split_key(count):
    np.testing.assert_array_equal(split_key(KEY, count), by_jax(jax_split, count))


@pytest.mark.parametrize("data", [0, 3, 2**32 - 1])
def test_fold_in(data):
    np.testing.assert_array_equal(fold_in(KEY, data), by_jax(jax_fold_in, np.uint32(data)))


@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (3, 1, 4)])
def test_bits_and_distributions(shape):
    np.testing.assert_array_equal(random_bits(KEY, shape), by_jax(random.bits, shape))
    np.testing.assert_array_equal(random_uniform(KEY, shape), by_jax(random.uniform, shape))
    expected = by_jax(random.uniform, shape, minval=-2, maxval=3)
    np.testing.assert_allclose(random_uniform(KEY, shape, -2, 3), expected, rtol=1e-6, atol=1e-6)
    normal = random_normal(KEY, shape)
    assert normal.dtype == np.float32
    np.testing.assert_allclose(normal, by_jax(random.normal, shape), rtol=2e-6, atol=2e-6)
