"""Random numbers of HLO: bit generators exact to the bit, and seeded distributions.

Nothing of ``cupy.random`` is used: its generators are not XLA's.
"""

import math
from collections.abc import Sequence
from typing import Any

import cupy as cp

from ...prelude.random import RngState, uint32_halves
from .conversion import to_int
from .device import THREEFRY

threefry_2x32 = cp.ElementwiseKernel(
    "uint32 key0, uint32 key1, uint32 word0, uint32 word1",
    "uint32 x0, uint32 x1",
    """
    x0 = word0;
    x1 = word1;
    encipher(key0, key1, x0, x1)
    """,
    "threefry_2x32",
    preamble=THREEFRY,
)

philox_4x32 = cp.ElementwiseKernel(
    "uint32 key0, uint32 key1, uint32 word0, uint32 word1, uint32 word2, uint32 word3",
    "uint32 x0, uint32 x1, uint32 x2, uint32 x3",
    """
    unsigned int low = key0, high = key1, a = word0, b = word1, c = word2, d = word3;
    for (int round = 0; round < 10; round++) {
      unsigned long long first = a * 0xD2511F53ull, second = c * 0xCD9E8D57ull;
      a = (unsigned int)(second >> 32) ^ b ^ low;
      b = (unsigned int)second;
      c = (unsigned int)(first >> 32) ^ d ^ high;
      d = (unsigned int)first;
      low += 0x9E3779B9;
      high += 0xBB67AE85;
    }
    x0 = a;
    x1 = b;
    x2 = c;
    x3 = d
    """,
    "philox_4x32",
)


def threefry_bits(
    state: cp.ndarray, shape: Sequence[int], dtype: Any
) -> tuple[cp.ndarray, cp.ndarray]:
    """Return the next state and random bits, as XLA's Threefry generator.

    The state is a 64-bit key and counter. A count makes one 64-bit number or two small
    ones, neighbours along the first axis of even size, or else along the longest.
    """
    dtype, words = cp.dtype(dtype), cp.ascontiguousarray(state).view(cp.uint64)
    full = list(shape) or [1]
    even = [axis for axis, size in enumerate(full) if size % 2 == 0]
    axis = even[0] if even else full.index(max(full))
    counts = full.copy()
    if dtype.itemsize < 8:
        counts[axis] = (full[axis] + 1) // 2
    steps = cp.arange(math.prod(counts), dtype=cp.uint64)
    key, counter = uint32_halves(words[0]), uint32_halves(words[1] + steps)
    pair = [half.reshape(counts) for half in threefry_2x32(*key, *counter)]
    if dtype.itemsize == 8:
        bits = cp.ascontiguousarray(cp.stack(pair, axis=-1)).view(dtype)
    else:
        counts[axis] *= 2
        neighbours = cp.stack(pair, axis=axis + 1).reshape(counts)
        bits = low_bits(neighbours[(slice(None),) * axis + (slice(full[axis]),)], dtype)
    next_words = cp.concatenate([words[:1], words[1:] + cp.uint64(steps.size)])
    return next_words.view(state.dtype), bits.reshape(shape)


def philox_bits(
    state: cp.ndarray, shape: Sequence[int], dtype: Any
) -> tuple[cp.ndarray, cp.ndarray]:
    """Return the next state and random bits, as XLA's Philox generator, its default on
    CPUs.

    The state is a 64-bit key and one or two 64-bit words of a counter, low word first;
    the key stands for a missing high word.
    """
    dtype, words = cp.dtype(dtype), cp.ascontiguousarray(state).view(cp.uint64)
    size = math.prod(shape) * (2 if dtype.itemsize == 8 else 1)
    blocks = cp.arange(-(-size // 4), dtype=cp.uint64)
    low = words[1] + blocks
    high = words[2] if len(words) == 3 else words[0]
    high = high + (low < words[1]).astype(cp.uint64)
    halves = [half for word in (words[0], low, high) for half in uint32_halves(word)]
    numbers = cp.stack(philox_4x32(*halves), axis=-1).reshape(-1)[:size]
    bits = numbers.view(dtype) if dtype.itemsize == 8 else low_bits(numbers, dtype)
    next_words = words.copy()
    next_words[1:2] += cp.uint64(blocks.size)
    next_words[2:] += (next_words[1] < words[1]).astype(cp.uint64)
    return next_words.view(state.dtype), bits.reshape(shape)


def low_bits(words: cp.ndarray, dtype: Any) -> cp.ndarray:
    """Return the low bits of uint32 `words` as numbers of at most 32 bits."""
    return words.astype(f"u{dtype.itemsize}").view(dtype)


def advance(state: RngState, delta: int) -> cp.ndarray:
    """Return the counter's two words, low word first, and advance it by `delta`."""
    low, high = cp.uint64(state.value % 2**64), cp.uint64(state.value >> 64)
    state.value = (state.value + delta) % 2**128
    return cp.stack([cp.full((), low), cp.full((), high)])


class Generator:
    """Random numbers of Philox under a key; the host counts the numbers that were
    taken.
    """

    def __init__(self, key: int) -> None:
        self.key, self.count = key, 0

    def random(self, shape: Sequence[int]) -> tuple[cp.ndarray, cp.ndarray]:
        """Return two arrays of float64 numbers in [0, 1)."""
        places = cp.arange(math.prod(shape), dtype=cp.uint64) + cp.uint64(self.count)
        self.count += math.prod(shape)
        zero = cp.uint32(0)
        key, counter = (cp.uint32(self.key), zero), (*uint32_halves(places), zero, zero)
        words = philox_4x32(*key, *counter)
        return words[0].reshape(shape) * 2.0**-32, words[1].reshape(shape) * 2.0**-32


# The key is arbitrary: assign another generator for other numbers.
GENERATOR = Generator(0)


def rng_uniform(
    low: Any,
    high: Any,
    shape: Sequence[int],
    dtype: Any,
    generator: Generator,
) -> cp.ndarray:
    """Return uniform numbers of any type, at least `low` and below `high`."""
    numbers, _ = generator.random(shape)
    dtype = cp.dtype(dtype)
    if dtype.kind == "b":
        return numbers < 0.5
    if dtype.kind in "iu":
        width = cp.maximum(high.astype(cp.float64) - low.astype(cp.float64), 1.0)
        steps = cp.minimum(cp.floor(numbers * width), width - 1)
        return (low + to_int(steps, cp.uint64).astype(dtype)).astype(dtype)
    first, end = low.astype(cp.float64), high.astype(cp.float64)
    values = (first + (end - first) * numbers).astype(dtype)
    return cp.minimum(values, cp.nextafter(high, low).astype(dtype))


def rng_normal(
    mean: Any,
    deviation: Any,
    shape: Sequence[int],
    dtype: Any,
    generator: Generator,
) -> cp.ndarray:
    """Return normal numbers of any floating-point type, by the method of Box and
    Muller.
    """
    first, second = generator.random(shape)
    radius = cp.sqrt(-2 * cp.log(1 - first))
    normal = radius * cp.cos(2 * math.pi * second)
    result = mean.astype(cp.float64) + deviation.astype(cp.float64) * normal
    return result.astype(dtype)
