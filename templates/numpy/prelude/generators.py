"""Random numbers as loops of Numba."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import DTypeLike

from ...prelude.keys import uniform_of
from ...prelude.random import low_bits, philox_next
from .mathematics_f32 import erf_inv_f32


@njit(error_model="numpy", nogil=True)
def mixed(x0: Any, x1: Any, rotation: int) -> tuple[Any, Any]:
    """Return the words after a step of the Threefry-2x32 cipher, cut to 32 bits: Numba
    computes in 64.
    """
    x0 = np.uint32(x0 + x1)
    high, low = np.uint32(x1 << rotation), np.uint32(x1) >> (32 - rotation)
    return x0, np.uint32((high | low) ^ x0)


@njit(error_model="numpy", nogil=True)
def threefry_pair(key0: Any, key1: Any, x0: Any, x1: Any) -> tuple[Any, Any]:
    """Return the Threefry-2x32 cipher of a pair of uint32."""
    key2 = np.uint32(key0 ^ key1 ^ np.uint32(0x1BD11BDA))
    x0, x1 = np.uint32(x0 + key0), np.uint32(x1 + key1)
    for k, first, second in (
        (1, key1, key2),
        (2, key2, key0),
        (3, key0, key1),
        (4, key1, key2),
        (5, key2, key0),
    ):
        a, b, c, d = (13, 15, 26, 6) if k % 2 else (17, 29, 16, 24)
        x0, x1 = mixed(x0, x1, a)
        x0, x1 = mixed(x0, x1, b)
        x0, x1 = mixed(x0, x1, c)
        x0, x1 = mixed(x0, x1, d)
        x0, x1 = np.uint32(x0 + first), np.uint32(x1 + second + k)
    return x0, x1


@njit(error_model="numpy", nogil=True)
def threefry_word(key0: Any, key1: Any, x0: Any, x1: Any) -> Any:
    """Return the exclusive or of the two words of ``threefry_pair``."""
    x0, x1 = threefry_pair(key0, key1, x0, x1)
    return x0 ^ x1


@njit(error_model="numpy", cache=True, nogil=True)
def threefry_loop(key: np.ndarray, bits: np.ndarray) -> None:
    """Fill ``bits`` with the random uint32 that a key gives for each position."""
    key0, key1 = key[0], key[1]
    for i in range(len(bits)):
        bits[i] = threefry_word(key0, key1, np.uint32(i >> 32), np.uint32(i))


def compiled_bits(key: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Return uint32 numbers of a shape, as ``jax.random.bits``."""
    bits = np.empty(math.prod(shape), np.uint32)
    threefry_loop(key, bits)
    return bits.reshape(shape)


@njit(error_model="numpy", nogil=True)
def uniform_of_word(bits: Any, low: Any, high: Any) -> Any:
    """Return a float32 in [low, high) from the upper bits of a uint32."""
    fraction = np.uint32(bits >> 9 | 0x3F800000).view(np.float32) - np.float32(1)
    span = np.float32(high) - np.float32(low)
    return max(np.float32(low), np.float32(fraction * span) + np.float32(low))


@njit(error_model="numpy", cache=True, nogil=True)
def uniform_loop(key: np.ndarray, low: Any, high: Any, uniform: np.ndarray) -> None:
    """Fill ``uniform`` with the float32 in [low, high) that a key gives for each
    position.
    """
    for i in range(len(uniform)):
        word = threefry_word(key[0], key[1], np.uint32(i >> 32), np.uint32(i))
        uniform[i] = uniform_of_word(word, low, high)


def compiled_uniform(
    key: np.ndarray, shape: Sequence[int], low: float = 0, high: float = 1
) -> np.ndarray:
    """Return float32 numbers in [low, high), as ``jax.random.uniform``."""
    if np.ndim(low) or np.ndim(high):
        return uniform_of(compiled_bits(key, shape), low, high)
    uniform = np.empty(math.prod(shape), np.float32)
    uniform_loop(key, np.float32(low), np.float32(high), uniform)
    return uniform.reshape(shape)


@njit(error_model="numpy", fastmath={"contract"}, forceinline=True, nogil=True)
def normal_of_word(bits: Any) -> Any:
    """Return a standard normal float32 from a uint32."""
    low = np.float32(-0.99999994)
    fraction = np.uint32(bits >> 9 | 0x3F800000).view(np.float32) - np.float32(1)
    uniform = max(low, fraction * np.float32(2) + low)
    return erf_inv_f32(uniform) * np.float32(1.4142135)


@njit(error_model="numpy", cache=True, nogil=True)
def normal_loop(bits: np.ndarray, normal: np.ndarray) -> None:
    """Fill ``normal`` with standard normal float32, each from one uint32."""
    for i in range(len(bits)):
        normal[i] = normal_of_word(bits[i])


def compiled_normal(key: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Return standard normal float32 numbers, as ``jax.random.normal``."""
    bits = compiled_bits(key, (math.prod(shape),))
    normal = np.empty(bits.shape, np.float32)
    normal_loop(bits, normal)
    return normal.reshape(shape)


@njit(error_model="numpy", nogil=True)
def philox_round(
    key0: Any, key1: Any, x0: Any, x1: Any, x2: Any, x3: Any
) -> tuple[Any, Any, Any, Any]:
    """Return the words after a step of the Philox-4x32 cipher of four uint32."""
    first = np.uint64(x0) * np.uint64(0xD2511F53)
    second = np.uint64(x2) * np.uint64(0xCD9E8D57)
    high0, high2 = np.uint32(first >> np.uint64(32)), np.uint32(second >> np.uint64(32))
    low0, low2 = np.uint32(first), np.uint32(second)
    return np.uint32(high2 ^ x1 ^ key0), low2, np.uint32(high0 ^ x3 ^ key1), low0


@njit(error_model="numpy", cache=True, nogil=True)
def philox_loop(key: Any, low: Any, high: Any, numbers: np.ndarray) -> None:
    """Fill ``numbers`` [4 n] with the uint32 of a 64-bit key and n counts, of which the
    first is given by two words.
    """
    for i in range(len(numbers) // 4):
        word = low + np.uint64(i)
        over = high + np.uint64(word < low)
        x0, x1 = np.uint32(word), np.uint32(word >> np.uint64(32))
        x2, x3 = np.uint32(over), np.uint32(over >> np.uint64(32))
        key0, key1 = np.uint32(key), np.uint32(key >> np.uint64(32))
        for _ in range(10):
            x0, x1, x2, x3 = philox_round(key0, key1, x0, x1, x2, x3)
            key0, key1 = np.uint32(key0 + 0x9E3779B9), np.uint32(key1 + 0xBB67AE85)
        numbers[4 * i], numbers[4 * i + 1] = x0, x1
        numbers[4 * i + 2], numbers[4 * i + 3] = x2, x3


def compiled_philox(
    state: np.ndarray, shape: Sequence[int], dtype: DTypeLike
) -> tuple[np.ndarray, np.ndarray]:
    """Return the next state and random bits, as ``philox_bits``."""
    dtype, size = np.dtype(dtype), math.prod(shape)
    count = -(-size // (2 if dtype.itemsize == 8 else 4))
    words = np.ascontiguousarray(state).view(np.uint64)
    numbers = np.empty(4 * count, np.uint32)
    philox_loop(words[0], words[1], words[2] if len(words) == 3 else words[0], numbers)
    bits = numbers.view(dtype) if dtype.itemsize == 8 else low_bits(numbers, dtype)
    return philox_next(state, count), bits[:size].reshape(shape)
