"""Random numbers of JAX, exact to the bit, in one kernel each: keys of two uint32 words
for the Threefry cipher.

Source: ``jax/_src/prng.py`` and ``jax/_src/random.py``, with
``jax_threefry_partitionable``.
"""

from collections.abc import Sequence
from typing import Any

import cupy as cp

from .device import INVERSE_ERF, LARGE_BLOCK, RANDOM, THREEFRY

new_keys = cp.ElementwiseKernel(
    "raw uint32 key, uint32 first",
    "uint64 words",
    """
    unsigned int a = 0, b = first + i;
    encipher(key[0], key[1], a, b);
    words = (unsigned long long)b << 32 | a
    """,
    "new_keys",
    preamble=THREEFRY,
)

bits_kernel = cp.ElementwiseKernel(
    "raw uint32 key",
    "uint32 bits",
    "bits = random_bits(key[0], key[1], i)",
    "bits_kernel",
    preamble=THREEFRY + RANDOM,
)

uniform_kernel = cp.ElementwiseKernel(
    "raw uint32 key, float32 low, float32 high",
    "float32 number",
    "number = uniform_number(random_bits(key[0], key[1], i), low, high)",
    "uniform_kernel",
    preamble=THREEFRY + RANDOM,
)

normal_kernel = cp.ElementwiseKernel(
    "raw uint32 key",
    "float32 number",
    """
    unsigned int bits = random_bits(key[0], key[1], i);
    number = inverse_erf(uniform_number(bits, -0.99999994f, 1.0f)) * 1.4142135f
    """,
    "normal_kernel",
    preamble=THREEFRY + RANDOM + INVERSE_ERF,
)


def split_key(key: cp.ndarray, count: int) -> cp.ndarray:
    """Return ``count`` new keys [count, 2], as ``jax.random.split``."""
    words = new_keys(key, cp.uint32(0), cp.empty(count, dtype=cp.uint64))
    return words.view(cp.uint32).reshape(count, 2)


def fold_in(key: cp.ndarray, data: Any) -> cp.ndarray:
    """Return a new key that depends on a number, as ``jax.random.fold_in``."""
    number = data.astype(cp.uint32) if isinstance(data, cp.ndarray) else cp.uint32(data)
    return new_keys(key, number, cp.empty(1, dtype=cp.uint64)).view(cp.uint32)


def random_bits(key: cp.ndarray, shape: Sequence[int]) -> cp.ndarray:
    """Return uint32 numbers of a shape, as ``jax.random.bits``."""
    bits = cp.empty(shape, dtype=cp.uint32)
    return bits_kernel(key, bits, block_size=LARGE_BLOCK)


def random_uniform(
    key: cp.ndarray, shape: Sequence[int], low: float = 0, high: float = 1
) -> cp.ndarray:
    """Return float32 numbers in [low, high), as ``jax.random.uniform``."""
    ends = cp.float32(low), cp.float32(high)
    numbers = cp.empty(shape, dtype=cp.float32)
    return uniform_kernel(key, *ends, numbers, block_size=LARGE_BLOCK)


def random_normal(key: cp.ndarray, shape: Sequence[int]) -> cp.ndarray:
    """Return standard normal float32 numbers, as ``jax.random.normal``."""
    numbers = cp.empty(shape, dtype=cp.float32)
    return normal_kernel(key, numbers, block_size=LARGE_BLOCK)
