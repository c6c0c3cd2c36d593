"""Random numbers and searches that loops of Numba call in their rounds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit

from .generators import (
    normal_loop,
    normal_of_word,
    threefry_loop,
    threefry_pair,
    threefry_word,
    uniform_loop,
    uniform_of_word,
)
from .windows import search_loop


@njit(error_model="numpy", cache=True, nogil=True)
def compiled_split(key: np.ndarray, count: int) -> np.ndarray:
    """Return ``count`` new keys [count, 2], as ``jax.random.split``."""
    keys = np.empty((count, 2), np.uint32)
    for i in range(count):
        words = threefry_pair(key[0], key[1], np.uint32(0), np.uint32(i))
        keys[i, 0], keys[i, 1] = words
    return keys


@njit(error_model="numpy", cache=True, nogil=True)
def compiled_fold_in(key: np.ndarray, data: Any) -> np.ndarray:
    """Return a new key that depends on a number, as ``jax.random.fold_in``."""
    new = np.empty(2, np.uint32)
    new[0], new[1] = threefry_pair(key[0], key[1], np.uint32(0), np.uint32(data))
    return new


@njit(error_model="numpy", cache=True, nogil=True)
def small_bits(key: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Return uint32 numbers of a shape, as ``jax.random.bits``."""
    bits = np.empty(shape, np.uint32)
    threefry_loop(key, bits.reshape(-1))
    return bits


@njit(error_model="numpy", cache=True, nogil=True)
def small_uniform(
    key: np.ndarray, shape: Sequence[int], low: float = 0, high: float = 1
) -> np.ndarray:
    """Return float32 numbers in [low, high), as ``jax.random.uniform``."""
    uniform = np.empty(shape, np.float32)
    uniform_loop(key, low, high, uniform.reshape(-1))
    return uniform


@njit(error_model="numpy", cache=True, nogil=True)
def small_normal(key: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Return standard normal float32 numbers, as ``jax.random.normal``."""
    normal = np.empty(shape, np.float32)
    normal_loop(small_bits(key, shape).reshape(-1), normal.reshape(-1))
    return normal


@njit(error_model="numpy", cache=True, nogil=True)
def one_word(key: np.ndarray) -> Any:
    """Return a uint32, as ``jax.random.bits``."""
    return threefry_word(key[0], key[1], np.uint32(0), np.uint32(0))


@njit(error_model="numpy", cache=True, nogil=True)
def one_uniform(key: np.ndarray, low: float = 0, high: float = 1) -> Any:
    """Return a float32 in [low, high), as ``jax.random.uniform``."""
    return uniform_of_word(one_word(key), low, high)


@njit(error_model="numpy", cache=True, nogil=True)
def one_normal(key: np.ndarray) -> Any:
    """Return a standard normal float32, as ``jax.random.normal``."""
    return normal_of_word(one_word(key))


@njit(error_model="numpy", nogil=True)
def small_search(table: np.ndarray, values: np.ndarray, is_left: bool) -> np.ndarray:
    """Return the place of each of ``values`` in the sorted ``table`` [n]."""
    places, halvings = np.empty(values.shape, np.uint32), 0
    while len(table) >> halvings:
        halvings += 1
    wanted = np.ascontiguousarray(values).reshape(-1)
    search_loop(table, wanted, places.reshape(-1), halvings, is_left)
    return places


@njit(error_model="numpy", cache=True, nogil=True)
def search_before(table: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the place of each of ``values`` in the sorted ``table`` [n], before equal
    elements, as ``search_sorted``.
    """
    return small_search(table, values, True)


@njit(error_model="numpy", cache=True, nogil=True)
def search_behind(table: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return ``search_before``, but the place behind equal elements."""
    return small_search(table, values, False)


@njit(error_model="numpy", cache=True, nogil=True)
def one_before(table: np.ndarray, value: Any) -> Any:
    """Return the place of a number in the sorted ``table`` [n], before its equals."""
    return small_search(table, np.full(1, value, table.dtype), True)[0]


@njit(error_model="numpy", cache=True, nogil=True)
def one_behind(table: np.ndarray, value: Any) -> Any:
    """Return ``one_before``, but the place behind equal elements."""
    return small_search(table, np.full(1, value, table.dtype), False)[0]
