"""Random numbers as JAX draws them: Threefry keys, uniform, normal and categorical samples."""

import jax
import numpy as np


def sample(key_data, logits):
    """key_data: uint32[2]; logits: [classes]. Returns a uniform, a normal and a categorical sample, and a coin."""
    key = jax.random.wrap_key_data(key_data)
    uniform_key, normal_key, class_key, coin_key = jax.random.split(key, 4)
    uniform = jax.random.uniform(uniform_key, (16,), minval=-1, maxval=1)
    normal = jax.random.normal(normal_key, (4, 8))
    classes = jax.random.categorical(class_key, logits, shape=(20,))
    coin = jax.random.bernoulli(jax.random.fold_in(coin_key, 7), 0.3)
    return uniform, normal, classes, coin


def program():
    return sample, (np.array([0, 42], np.uint32), np.log(np.arange(1, 7, dtype=np.float32)))
