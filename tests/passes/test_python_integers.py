"""Integers that loops carry: Python's where that is exact, the library's where they may wrap around."""

import re

import numpy as np
import pytest

from xla2py.tests.passes.raising import EXACT, assert_agrees, emitted, hlo, main
from xla2py.tests.recording.lazy_jax import jax, jnp

lax = jax.lax
NEW = "python_integers"
BYTES = np.array([0, 255, 7, 128, 1, 254, 99, 64], np.uint8)
WORDS = np.array([0, 2**32 - 1, 7, 2**31, 1, 2**31 - 1, 99, 2**16], np.uint32)
SIGNED = np.array([0, -(2**31), 2**31 - 1, -1, 5, -7, 3, 2], np.int32)
FLOATS = np.array([0, -1, np.nan, 2, np.inf, -3, 4, 5], np.float32)
LARGEST = np.uint32(2**32 - 1)


def checksum(bytes_):
    def shifted(_, crc):
        return jnp.where(crc & 1 == 1, crc >> 1 ^ jnp.uint32(0xEDB88320), crc >> 1)

    def added(i, crc):
        return lax.fori_loop(0, 8, shifted, crc ^ bytes_[i].astype(jnp.uint32))

    return ~lax.fori_loop(0, len(bytes_), added, LARGEST)


def random_numbers(words):
    def step(i, state):
        seed, out = state
        return seed * jnp.uint32(1664525) + jnp.uint32(1013904223), out.at[i].set(seed >> 16)

    return lax.fori_loop(0, 8, step, (words[1], words))


def as_floats(words):
    def step(seed, _):
        seed ^= seed << 13
        seed ^= seed >> 17
        seed ^= seed << 5
        return seed, seed.astype(jnp.float32) * 2.0**-32

    return lax.scan(step, words[1], None, length=8)


def hashed(bytes_):
    return lax.fori_loop(0, 8, lambda i, h: (h ^ bytes_[i]) * jnp.uint32(16777619), jnp.uint32(2166136261))


def two_sums(bytes_):
    def step(sums, byte):
        first = (sums[0] + byte.astype(jnp.uint32)) % 65521
        return (first, (sums[1] + first) % 65521), None

    return lax.scan(step, (jnp.uint32(1), jnp.uint32(0)), bytes_)[0]


def narrow(bytes_):
    return lax.fori_loop(0, 8, lambda i, c: -(~c * 5 - bytes_[i]) + jnp.uint8(3), bytes_[1])


def counted(floats):
    def step(i, state):
        count, kept = state
        return count + (floats[i] > 0), kept.at[count].set(floats[i])

    return lax.fori_loop(0, 8, step, (0, jnp.zeros(9, jnp.float32)))


def beside_arrays(words):
    def step(state, _):
        seed, out = state
        seed = seed * jnp.uint32(1664525) + jnp.uint32(1)
        return (seed, out ^ seed), (out * seed).max()

    return lax.scan(step, (words[2], words), None, length=8)


def in_branches(floats):
    def step(state, x):
        branches = [lambda: 1, lambda: jnp.where(x > 0, 2, 0), lambda: 0]
        state = lax.switch(state, branches)
        return state, state * 2

    return lax.scan(step, 0, floats)


def without_a_last_bit(words):
    def step(state):
        x, count = state
        return x & (x - 1), (count + 1) % 64

    return lax.while_loop(lambda state: state[0] != 0, step, (words[6] + words[1], 0))


def largest(signed):
    def step(i, state):
        return jnp.maximum(state[0], signed[i]), jnp.minimum(state[1], ~signed[i])

    return lax.fori_loop(0, 8, step, (jnp.int32(-5), jnp.int32(5)))


FUNCTIONS = [checksum, random_numbers, as_floats, hashed, two_sums, narrow, counted, beside_arrays, in_branches]
FUNCTIONS += [without_a_last_bit, largest]
GIVEN = {"bytes_": BYTES, "words": WORDS, "signed": SIGNED, "floats": FLOATS}


def given(function):
    return GIVEN[function.__code__.co_varnames[0]]


def rounds(text):
    return re.split(r"(?:for|while) .*:", main(text), maxsplit=1)[1].split("\nreturn")[0]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_rounds_compute_with_python_integers(function):
    x = given(function)
    text = hlo(function, x)
    assert not re.search(r"np\.u?int\d+\(|astype\(np\.u?int", rounds(text))
    for values in (x, x[::-1].copy(), np.zeros_like(x)):
        assert_agrees(text, values, without=NEW, budget=EXACT)


def test_masks_are_where_numbers_may_wrap_around():
    assert "= shifted ^ 3988292384 if chosen & 1 == 1 else shifted" in main(hlo(checksum, BYTES))
    assert re.search(r"= \((\w+) \* 1664525 \+ 1013904223\) & 0xFFFFFFFF", main(hlo(random_numbers, WORDS)))
    assert "0xFF" not in main(hlo(two_sums, BYTES))  # remainders bound what is added
    assert re.search(r"(\w+) & \(\1 - 1\)", main(hlo(without_a_last_bit, WORDS)))


# -- near misses


def signed_overflow(signed):
    return lax.fori_loop(0, 8, lambda i, s: s * 5 + signed[i], signed[1])


def negative_shifts(signed):
    return lax.fori_loop(0, 8, lambda i, s: lax.shift_right_logical(s, 1) ^ signed[i], signed[1])


def cut_quotients(signed):
    return lax.fori_loop(0, 8, lambda i, s: lax.div(s, 2) & signed[i], signed[1])


def absolute(signed):
    return lax.fori_loop(0, 8, lambda i, s: jnp.abs(s) ^ signed[i], signed[1])


def narrowed(signed):
    step = lambda i, s: (s ^ signed[i]).astype(jnp.int8).astype(jnp.int32)  # noqa: E731
    return lax.fori_loop(0, 8, step, signed[1])


def inverted_tests(words):
    def step(i, state):
        seed, out = state
        seed = seed * jnp.uint32(5) + jnp.uint32(1)
        return seed, out.at[i].set(~(seed > words[0]) & (words[i] > 3))

    return lax.fori_loop(0, 8, step, (words[1], words > 0))


def large_floats(words):
    def step(seed, _):
        seed = seed * jnp.uint32(1664525) + jnp.uint32(1)
        return seed, (seed.astype(jnp.float32), seed.astype(jnp.float16), seed.astype(jnp.bfloat16))

    return lax.scan(step, words[1], None, length=8)


def old_values(words):
    def step(state, word):
        a, b = state
        return (b, a - b), (-a, a >> 1, b << 31, a // jnp.uint32(3))

    return lax.scan(step, (words[1], words[3]), words)


def never_run(words):
    return lax.fori_loop(3, 3, lambda i, s: s * jnp.uint32(5), words[1])


def start_read_in_rounds(words):
    return lax.fori_loop(0, 5, lambda i, s: s * jnp.uint32(3) + words[2], words[2])


def products_beside_an_array(words):
    def step(i, state):
        seed, out = state
        seed = seed * jnp.uint32(1664525) + jnp.uint32(1013904223)
        return seed, out ^ (out & (seed * jnp.uint32(3)))

    return lax.fori_loop(0, 8, step, (words[1], words))


NEAR = [
    start_read_in_rounds,
    products_beside_an_array,
    signed_overflow,
    negative_shifts,
    cut_quotients,
    absolute,
    narrowed,
    inverted_tests,
    large_floats,
]
NEAR += [old_values, never_run]


@pytest.mark.parametrize("function", NEAR, ids=lambda f: f.__name__)
def test_values_at_the_edge(function):
    x = given(function)
    text = hlo(function, x)
    for values in (x, x[::-1].copy(), np.zeros_like(x)):
        assert_agrees(text, values, without=NEW, budget=EXACT)


def test_signed_numbers_that_may_overflow_stay_the_librarys():
    for function in (signed_overflow, negative_shifts, absolute):
        assert "int(" not in rounds(hlo(function, SIGNED))


def test_blocks_of_dask_have_them():
    text = emitted(hlo(checksum, BYTES), target="dask").source
    assert "= shifted ^ 3988292384 if chosen & 1 == 1 else shifted" in text
    assert "np.uint32(4294967295)" not in text


def test_arrays_that_are_no_numbers_keep_them():
    assert "int(" not in emitted(hlo(checksum, BYTES), target="cupy").source


BEGUN_ALIKE = """HloModule begun_alike
goes_on { s = (s32[], u8[], u8[]) parameter(0)  k = s32[] get-tuple-element(s), index=0  zero = s32[] constant(0)
  ROOT is_left = pred[] compare(k, zero), direction=NE }
body { s = (s32[], u8[], u8[]) parameter(0)  k = s32[] get-tuple-element(s), index=0  one = s32[] constant(1)
  a = u8[] get-tuple-element(s), index=1  b = u8[] get-tuple-element(s), index=2  bits = u8[] xor(a, b)
  left = s32[] subtract(k, one)  ROOT t = (s32[], u8[], u8[]) tuple(left, bits, a) }
ENTRY main { x = u8[] parameter(0)  two = s32[] constant(2)  start = (s32[], u8[], u8[]) tuple(two, x, x)
  ROOT w = (s32[], u8[], u8[]) while(start), condition=goes_on, body=body }"""


def test_carries_of_one_start_have_names_of_their_own():
    _, bits, before = emitted(BEGUN_ALIKE).load().main(np.uint8(2))
    assert (bits, before) == (2, 0)
