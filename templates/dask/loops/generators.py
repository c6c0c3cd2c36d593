"""Ciphers and normal numbers as loops of Numba, in the place of the shared prelude's
functions of these names.
"""

from typing import Any

import numpy as np
from numba import njit

from ...numpy.prelude.generators import (
    normal_loop,
    philox_round,
    threefry_pair,
    threefry_word,
)


@njit(error_model="numpy", cache=True, nogil=True)
def threefry_pairs_loop(
    key0: np.ndarray, key1: np.ndarray, x0: np.ndarray, x1: np.ndarray
) -> None:
    """Put the Threefry-2x32 cipher of the pairs `(x0, x1)` of uint32 in their place:
    by a key for each pair, or one for all.
    """
    for i in range(len(x0)):
        k = i if len(key0) > 1 else 0
        x0[i], x1[i] = threefry_pair(key0[k], key1[k], x0[i], x1[i])


def threefry_2x32(
    key0: np.ndarray, key1: np.ndarray, x0: Any, x1: Any
) -> tuple[np.ndarray, np.ndarray]:
    """The Threefry-2x32 cipher of the pairs `(x0, x1)` of uint32 words."""
    *keys, x0, x1 = np.broadcast_arrays(key0, key1, x0, x1)
    if np.size(key0) == np.size(key1) == 1:
        keys = [key0, key1]
    first, second = np.array(x0, order="C"), np.array(x1, order="C")
    row0, row1 = (np.ascontiguousarray(key).reshape(-1) for key in keys)
    threefry_pairs_loop(row0, row1, first.reshape(-1), second.reshape(-1))
    return first, second


@njit(error_model="numpy", cache=True, nogil=True)
def random_bits_loop(key: np.ndarray, counts: np.ndarray, bits: np.ndarray) -> None:
    """Fill ``bits`` with the random uint32 that ``counts`` number."""
    for i in range(len(bits)):
        high, low = np.uint32(counts[i] >> np.uint64(32)), np.uint32(counts[i])
        bits[i] = threefry_word(key[0], key[1], high, low)


def random_bits_at(key: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the random bits of the elements that ``counts`` number, in row-major
    order.
    """
    bits, numbers = np.empty(counts.shape, np.uint32), np.asarray(counts, np.uint64)
    random_bits_loop(key, np.ascontiguousarray(numbers).reshape(-1), bits.reshape(-1))
    return bits


@njit(error_model="numpy", cache=True, nogil=True)
def philox_words_loop(key0: Any, key1: Any, words: np.ndarray) -> None:
    """Put the Philox-4x32 cipher of the quadruples ``words`` [4, n] of uint32 in their
    place.
    """
    for i in range(words.shape[1]):
        x0, x1, x2, x3 = words[0, i], words[1, i], words[2, i], words[3, i]
        first, second = key0, key1
        for _ in range(10):
            x0, x1, x2, x3 = philox_round(first, second, x0, x1, x2, x3)
            first = np.uint32(first + 0x9E3779B9)
            second = np.uint32(second + 0xBB67AE85)
        words[0, i], words[1, i], words[2, i], words[3, i] = x0, x1, x2, x3


def philox_4x32(
    key0: np.ndarray, key1: np.ndarray, *words: np.ndarray
) -> tuple[np.ndarray, ...]:
    """The Philox-4x32 cipher of the quadruples `words` of uint32 words."""
    made = np.stack(np.broadcast_arrays(*words))
    philox_words_loop(np.uint32(key0), np.uint32(key1), made.reshape(4, -1))
    return tuple(made)


def normal_of(bits: np.ndarray) -> np.ndarray:
    """float32 of the standard normal distribution, each from one uint32."""
    normal = np.empty(bits.shape, np.float32)
    normal_loop(np.ascontiguousarray(bits).reshape(-1), normal.reshape(-1))
    return normal
