"""Random numbers of the prelude: the bit generators against XLA CPU, the distributions by their definitions."""

from functools import cache

import ml_dtypes
import numpy as np
import pytest

from xla2py.templates.prelude.random import (
    RngState,
    advance,
    philox_4x32,
    philox_bits,
    rng_normal,
    rng_uniform,
    threefry_2x32,
    threefry_bits,
)
from xla2py.transpile.equivalence.reference import xla
from xla2py.transpile.equivalence.reference.xla import run_hlo
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES

pytestmark = pytest.mark.filterwarnings("error")

LAST = 2**64 - 1
SHAPES = [(), (1,), (4,), (5,), (0,), (3, 0), (1, 1, 1), (3, 5), (5, 3), (4, 3), (3, 5, 2), (5, 5)]
TYPES = ["u8", "u16", "u64", "s4", "u4", "s8", "s64", "bf16", "f32", "f64", "f8e5m2"]


@cache
def reference(algorithm, words, results):
    """XLA's generator: from a state of so many words to states and bits, as unsigned numbers, of several results."""
    body = [f"s = u64[{words}] parameter(0)"]
    parts = []
    for k, (name, shape) in enumerate(results):
        text = f"{name}[{','.join(map(str, shape))}]"
        body.append(f"g{k} = (u64[{words}], {text}) rng-bit-generator(s), algorithm={algorithm}")
        body.append(f"n{k} = u64[{words}] get-tuple-element(g{k}), index=0")
        body.append(f"b{k} = {text} get-tuple-element(g{k}), index=1")
        parts += [f"n{k}", f"b{k}"]
    body.append(f"ROOT all = tuple({', '.join(parts)})")
    return xla.compile_hlo("HloModule m\nENTRY main {\n" + "\n".join(body) + "\n}")


def agree(function, algorithm, state, results):
    state = np.array(state, np.uint64)
    flat = reference(algorithm, len(state), results)(state)
    for (name, shape), new_state, bits in zip(results, flat[::2], flat[1::2], strict=True):
        actual_state, actual = function(state, shape, ELEMENT_TYPES[name].dtype)
        np.testing.assert_array_equal(actual_state, new_state)
        assert (actual.dtype, actual.shape) == (ELEMENT_TYPES[name].dtype, shape)
        unsigned, mask = f"u{actual.itemsize}", 2 ** ELEMENT_TYPES[name].bits - 1
        np.testing.assert_array_equal(actual.view(unsigned) & mask, bits.view(unsigned) & mask)


RESULTS = (*(("u32", shape) for shape in SHAPES), *((name, (3, 5)) for name in TYPES), ("u64", ()), ("u8", (4, 3)))


@pytest.mark.parametrize("state", [(5, 6), (LAST, LAST - 1), (2**40 + 7, 2**32 - 2)])
def test_threefry_agrees_with_xla(state):
    agree(threefry_bits, "rng_three_fry", state, RESULTS)


@pytest.mark.parametrize("state", [(5, 6), (5, LAST), (5, LAST - 1, LAST), (2**40 + 7, 2**35 + 1, 2**50 + 3)])
def test_philox_agrees_with_xla(state):
    agree(philox_bits, "rng_philox", state, RESULTS)


def test_the_known_answers_of_random123():
    zero, ones = np.uint32(0), np.uint32(2**32 - 1)
    assert threefry_2x32(zero, zero, zero, zero) == (0x6B200159, 0x99BA4EFE)
    assert threefry_2x32(ones, ones, ones, ones) == (0x1CB996FC, 0xBB002BE7)
    pi = np.uint32([0x13198A2E, 0x03707344, 0x243F6A88, 0x85A308D3])
    assert threefry_2x32(*pi) == (0xC4923A9C, 0x483DF7A0)
    assert philox_4x32(zero, zero, zero, zero, zero, zero) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    assert philox_4x32(ones, ones, ones, ones, ones, ones) == (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)


@pytest.mark.parametrize("function", [threefry_bits, philox_bits])
def test_a_state_of_32_bit_words_is_the_same_state(function):
    state = np.array([2**40 + 1, 2**33 + 5], np.uint64)
    new_state, bits = function(state, (3, 3), np.uint32)
    new_words, same = function(state.view(np.uint32), (3, 3), np.uint32)
    np.testing.assert_array_equal(new_words, new_state.view(np.uint32))
    np.testing.assert_array_equal(same, bits)


def test_the_state_of_rng_get_and_update_state_is_that_of_xla():
    text = "HloModule m\nENTRY main { ROOT s = u64[2] rng-get-and-update-state(), delta=16 }"
    state = RngState()
    np.testing.assert_array_equal(advance(state, 16), run_hlo(text)[0])
    assert state.value == 0x7012395 + 16
    wide = RngState(2**128 - 1)
    np.testing.assert_array_equal(advance(wide, 3), np.array([LAST, LAST], np.uint64))
    np.testing.assert_array_equal(advance(wide, 0), np.array([2, 0], np.uint64))


@pytest.fixture
def generator():
    return np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_uniform_floats(dtype, generator):
    x = rng_uniform(-1.0, 3.0, (200, 100), dtype, generator)
    assert (x.dtype, x.shape) == (np.dtype(dtype), (200, 100))
    wide = x.astype(np.float64)
    assert wide.min() >= -1 and wide.max() < 3
    assert wide.mean() == pytest.approx(1, abs=0.03)
    assert wide.var() == pytest.approx(16 / 12, rel=0.03)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64, ml_dtypes.int4], ids=str)
def test_uniform_integers_take_every_value_equally_often(dtype, generator):
    low, high = (np.array(value).astype(dtype) for value in (2, 7))
    x = rng_uniform(low, high, (10_000,), dtype, generator)
    assert x.dtype == np.dtype(dtype)
    values, counts = np.unique(x.astype(np.int64), return_counts=True)
    np.testing.assert_array_equal(values, [2, 3, 4, 5, 6])
    assert counts.min() > 1800


def test_uniform_integers_over_the_whole_range(generator):
    for dtype in (np.int64, np.uint64, np.int8):
        limits = np.iinfo(dtype)
        x = rng_uniform(limits.min, limits.max, (1000,), dtype, generator)
        assert x.min() < limits.min // 2 + limits.max // 4 < x.max()


def test_uniform_without_room_and_of_booleans(generator):
    assert (rng_uniform(5, 5, (3,), np.int32, generator) == 5).all()
    assert not rng_uniform(False, True, (3,), np.bool_, generator).any()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_normal(dtype, generator):
    x = rng_normal(np.float32(2), np.float32(3), (200, 100), dtype, generator)
    assert (x.dtype, x.shape) == (np.dtype(dtype), (200, 100))
    wide = x.astype(np.float64)
    assert (wide.mean(), wide.std()) == (pytest.approx(2, abs=0.1), pytest.approx(3, rel=0.02))
    assert np.mean(np.abs(wide - 2) < 3) == pytest.approx(0.6827, abs=0.02)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0)])
def test_shapes_and_seeds(shape, generator):
    assert rng_normal(0, 1, shape, np.float32, generator).shape == shape
    assert rng_uniform(0, 1, shape, np.float32, generator).shape == shape
    assert rng_uniform(0, 9, shape, np.int16, generator).shape == shape
    one, two = (rng_normal(0, 1, (4,), np.float32, np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(one, two)
