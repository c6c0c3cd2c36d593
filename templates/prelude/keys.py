"""Random numbers of JAX, exact to the bit: keys of two uint32 words for the Threefry
cipher.

Source: ``jax/_src/prng.py`` and ``jax/_src/random.py``, with
``jax_threefry_partitionable``.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .random import threefry_2x32
from .special import erf_inv


def split_key(key: np.ndarray, count: int) -> np.ndarray:
    """Return ``count`` new keys [count, 2], as ``jax.random.split``."""
    counts = np.arange(count, dtype=np.uint32)
    words = threefry_2x32(key[0], key[1], np.uint32(0), counts)
    return np.stack(words, axis=1)


def fold_in(key: np.ndarray, data: Any) -> np.ndarray:
    """Return a new key that depends on a number, as ``jax.random.fold_in``."""
    return np.stack(threefry_2x32(key[0], key[1], np.uint32(0), np.uint32(data)))


def random_bits(key: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Return uint32 numbers of a shape, as ``jax.random.bits``."""
    counts = np.arange(math.prod(shape), dtype=np.uint64)
    return random_bits_at(key, counts.reshape(shape))


def random_bits_at(key: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the random bits of elements that ``counts`` number in row-major order."""
    high, low = (counts >> 32).astype(np.uint32), counts.astype(np.uint32)
    first, second = threefry_2x32(key[0], key[1], high, low)
    bits: np.ndarray = first ^ second
    return bits


def random_uniform(
    key: np.ndarray, shape: Sequence[int], low: float = 0, high: float = 1
) -> np.ndarray:
    """Return float32 numbers in [low, high), as ``jax.random.uniform``."""
    return uniform_of(random_bits(key, shape), low, high)


def uniform_of(bits: np.ndarray, low: float = 0, high: float = 1) -> np.ndarray:
    """Return float32 numbers in [low, high), each from the upper bits of one uint32."""
    fraction = ((bits >> 9) | 0x3F800000).view(np.float32) - 1  # of a float in [1, 2)
    uniform = fraction * (np.float32(high) - np.float32(low)) + np.float32(low)
    result: np.ndarray = np.maximum(low, uniform)
    return result


def random_normal(key: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Return standard normal float32 numbers, as ``jax.random.normal``."""
    return normal_of(random_bits(key, shape))


def normal_of(bits: np.ndarray) -> np.ndarray:
    """Return standard normal float32 numbers, each from one uint32."""
    return erf_inv(uniform_of(bits, -0.99999994)) * np.float32(1.4142135)
