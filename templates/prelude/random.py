"""Random numbers of HLO: bit generators exact to the bit, and seeded distributions."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

THREEFRY_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def threefry_2x32(
    key0: np.ndarray, key1: np.ndarray, x0: Any, x1: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return the Threefry-2x32 cipher of the pairs `(x0, x1)` of uint32 words."""
    keys = (key0, key1, key0 ^ key1 ^ np.uint32(0x1BD11BDA))
    with np.errstate(over="ignore"):
        x0, x1 = x0 + key0, x1 + key1
        for group in range(5):
            for rotation in THREEFRY_ROTATIONS[group % 2]:
                x0 += x1
                wrapped = x1 >> (32 - rotation)
                x1 <<= rotation
                x1 |= wrapped
                x1 ^= x0
            x0 += keys[(group + 1) % 3]
            x1 += keys[(group + 2) % 3] + np.uint32(group + 1)
    return x0, x1


def threefry_bits(
    state: np.ndarray, shape: Sequence[int], dtype: DTypeLike
) -> tuple[np.ndarray, np.ndarray]:
    """Return the next state and random bits, as XLA's Threefry generator.

    The state is a 64-bit key and counter. A count makes one 64-bit number or two small
    ones, neighbours along the first axis of even size, or else along the longest.
    """
    dtype, words = np.dtype(dtype), np.ascontiguousarray(state).view(np.uint64)
    full = list(shape) or [1]
    even = [axis for axis, size in enumerate(full) if size % 2 == 0]
    axis = even[0] if even else full.index(max(full))
    counts = full.copy()
    if dtype.itemsize < 8:
        counts[axis] = (full[axis] + 1) // 2
    steps = np.arange(math.prod(counts), dtype=np.uint64)
    key, counter = uint32_halves(words[0]), uint32_halves(words[1] + steps)
    pair = [half.reshape(counts) for half in threefry_2x32(*key, *counter)]
    if dtype.itemsize == 8:
        bits = np.stack(pair, axis=-1).view(dtype)
    else:
        counts[axis] *= 2
        neighbours = np.stack(pair, axis=axis + 1).reshape(counts)
        bits = low_bits(neighbours.take(np.arange(full[axis]), axis), dtype)
    next_words = words + np.array([0, steps.size], np.uint64)
    return next_words.view(state.dtype), bits.reshape(shape)


def philox_4x32(
    key0: np.ndarray, key1: np.ndarray, *words: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Return the Philox-4x32 cipher of the quadruples `words` of uint32 words."""
    x0, x1, x2, x3 = words
    with np.errstate(over="ignore"):
        for _ in range(10):
            low0, high0 = uint32_halves(x0.astype(np.uint64) * 0xD2511F53)
            low2, high2 = uint32_halves(x2.astype(np.uint64) * 0xCD9E8D57)
            x0, x1, x2, x3 = high2 ^ x1 ^ key0, low2, high0 ^ x3 ^ key1, low0
            key0, key1 = key0 + np.uint32(0x9E3779B9), key1 + np.uint32(0xBB67AE85)
    return x0, x1, x2, x3


def philox_bits(
    state: np.ndarray, shape: Sequence[int], dtype: DTypeLike
) -> tuple[np.ndarray, np.ndarray]:
    """Return the next state and random bits, as XLA's Philox generator, its default on
    CPUs.

    The state is a 64-bit key and one or two 64-bit words of a counter, low word first;
    the key stands for a missing high word.
    """
    dtype, size = np.dtype(dtype), math.prod(shape)
    count = -(-size // (2 if dtype.itemsize == 8 else 4))
    bits = philox_numbers(state, np.arange(count, dtype=np.uint64), dtype)
    return philox_next(state, count), bits.reshape(-1)[:size].reshape(shape)


def philox_numbers(
    state: np.ndarray, blocks: np.ndarray, dtype: np.dtype
) -> np.ndarray:
    """Return the numbers that each of the ``blocks`` of 128 bits gives, from 0 on."""
    words = np.ascontiguousarray(state).view(np.uint64)
    low = words[1] + blocks
    high = (words[2] if len(words) == 3 else words[0]) + (low < words[1])
    halves = [half for word in (words[0], low, high) for half in uint32_halves(word)]
    numbers = np.stack(philox_4x32(*halves), axis=-1)
    return numbers.view(dtype) if dtype.itemsize == 8 else low_bits(numbers, dtype)


def philox_next(state: np.ndarray, count: int) -> np.ndarray:
    """Return the state after ``count`` blocks."""
    words = np.ascontiguousarray(state).view(np.uint64)
    next_words = words.copy()
    next_words[1:2] += np.uint64(count)
    next_words[2:] += next_words[1] < words[1]
    return next_words.view(state.dtype)


def philox_bits_at(
    state: np.ndarray, counts: np.ndarray, dtype: DTypeLike
) -> np.ndarray:
    """Return the bits of ``philox_bits`` that ``counts`` number, in row-major order."""
    dtype = np.dtype(dtype)
    each = 2 if dtype.itemsize == 8 else 4
    blocks, where = np.unique(counts // each, return_inverse=True)
    bits: np.ndarray = philox_numbers(state, blocks, dtype)[where, counts % each]
    return bits


def uint32_halves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the low and the high 32 bits of uint64 numbers."""
    return x.astype(np.uint32), (x >> 32).astype(np.uint32)


def low_bits(words: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return the low bits of uint32 `words` as numbers of at most 32 bits."""
    truncated = words.astype(f"u{dtype.itemsize}")
    return truncated.view(dtype)


class RngState:
    """A 128-bit counter that starts where XLA's does."""

    def __init__(self, value: int = 0x7012395) -> None:
        self.value = value


RNG_STATE = RngState()


def advance(state: RngState, delta: int) -> np.ndarray:
    """Return the counter's two words, low word first, and advance it by `delta`."""
    words = np.array([state.value % 2**64, state.value >> 64], np.uint64)
    state.value = (state.value + delta) % 2**128
    return words


# The seed is arbitrary: assign another generator for other numbers.
GENERATOR = np.random.default_rng(0)


def rng_uniform(
    low: Any,
    high: Any,
    shape: Sequence[int],
    dtype: DTypeLike,
    generator: np.random.Generator,
) -> np.ndarray:
    """Return uniform numbers of any type, at least `low` and below `high`."""
    dtype = np.dtype(dtype)
    first, end = np.array(low).astype(dtype), np.array(high).astype(dtype)
    if "float" in dtype.name:
        values = float(low) + (float(high) - float(low)) * generator.random(shape)
        return np.asarray(np.minimum(values.astype(dtype), np.nextafter(end, first)))
    count = max(int(high) - int(low), 1)
    steps = generator.integers(count, size=shape, dtype=np.uint64).astype(dtype)
    with np.errstate(over="ignore"):
        return np.asarray(first + steps)


def rng_normal(
    mean: Any,
    deviation: Any,
    shape: Sequence[int],
    dtype: DTypeLike,
    generator: np.random.Generator,
) -> np.ndarray:
    """Return normal numbers of any floating-point type."""
    values = float(mean) + float(deviation) * generator.standard_normal(shape)
    return np.asarray(values).astype(dtype)
