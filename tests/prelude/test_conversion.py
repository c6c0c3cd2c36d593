"""Conversions of the prelude: XLA CPU is the judge. ``tests/operations`` has all pairs of element types."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from xla2py.templates.prelude.conversion import (
    bitcast_convert,
    bitcast_convert_packed,
    round_to,
    stochastic_convert,
    to_int,
)
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES, from_dtype

pytestmark = pytest.mark.filterwarnings("error")

FLOATS = [t for t in ELEMENT_TYPES.values() if t.is_floating]
INTEGERS = [t for t in ELEMENT_TYPES.values() if t.is_integral and t.bits > 1]


def samples(element_type, count=120):
    """All values of a narrow type; edges, limits of other types and random values of a wide one. No subnormals."""
    dtype = element_type.dtype
    rng = np.random.default_rng(element_type.bits)
    if element_type.bits <= 8:
        return np.arange(2**element_type.bits).astype(np.uint8).view(dtype)
    if element_type.is_integral:
        limits = np.iinfo(dtype)
        edges = [0, 1, 2, limits.min, limits.max, limits.max // 2]
        return np.concatenate([np.array(edges, dtype), rng.integers(limits.min, limits.max, count, dtype)])
    powers = np.array([2.0**n for n in (-1, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64)])
    edges = np.array([0, 0.1, 0.9, 1, 6, 7.5, 127.5, 255.9, 57344, np.inf, np.nan])
    x = np.concatenate([edges, powers, powers - 1, np.nextafter(powers, 0), rng.normal(0, 50, count)])
    with np.errstate(over="ignore"):
        return np.concatenate([x, -x]).astype(dtype)


def shape_text(element_type, *shape):
    return f"{element_type}[{','.join(map(str, shape))}]"


@pytest.fixture
def converted(xla_each):
    """XLA's conversions of ``x`` to all of some element types."""
    return lambda x, targets: xla_each([("convert", shape_text(t, *x.shape)) for t in targets], [x])


def same_bits(one, two):
    """NaN for NaN; otherwise equal, also in the sign of zero."""
    assert (one.dtype, one.shape) == (two.dtype, two.shape)
    wide = np.longdouble if from_dtype(one.dtype).is_integral and one.dtype.itemsize == 8 else np.float64
    with np.errstate(invalid="ignore"):
        one, two = one.astype(wide), two.astype(wide)
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(np.signbit(one[two == two]), np.signbit(two[two == two]))


def test_float_to_integer_limits():
    x = np.array([np.inf, -np.inf, np.nan, 1e30, -1e30, -0.9, 2.0**63, -(2.0**63), 9.2e18])
    expected = [2**63 - 1, -(2**63), 0, 2**63 - 1, -(2**63), 0, 2**63 - 1, -(2**63), int(9.2e18)]
    np.testing.assert_array_equal(to_int(x, np.int64), expected)
    np.testing.assert_array_equal(to_int(x, np.uint64)[:6], [2**64 - 1, 0, 0, int(1e30) and 2**64 - 1, 0, 0])
    np.testing.assert_array_equal(to_int(x[:6], ml_dtypes.int4).astype(int), [7, -8, 0, 7, -8, 0])


@pytest.mark.parametrize("source", FLOATS, ids=str)
def test_floats_within_the_limits_of_integers(source):
    x = np.array([0.5, 1, 2, 4] if source.name == "f8e8m0fnu" else [-0.5, 0, 1, 1.5, 2, 3], source.dtype)
    for target in INTEGERS:
        low, high = (0, 2**target.bits) if target.is_unsigned else (-(2 ** (target.bits - 1)), 2 ** (target.bits - 1))
        for given in (x, x[:0], x[:3], x[1]):
            expected = [min(max(int(number), low), high - 1) for number in given.ravel()]
            assert to_int(given, target.dtype).ravel().astype(int).tolist() == expected


@pytest.mark.parametrize("target", [t for t in FLOATS if t.bits <= 8], ids=str)
def test_float64_to_a_byte_is_rounded_once(target, converted):
    """Halves between two numbers, and what float32 cannot tell from them."""
    numbers = np.arange(2**target.bits).astype(np.uint8).view(target.dtype).astype(np.float64)
    numbers = np.sort(numbers[np.isfinite(numbers) & (numbers > 1e-30) & (numbers < 1e30)])
    halves = (numbers[1:] + numbers[:-1]) / 2
    x = np.concatenate([halves, halves * (1 + 2.0**-40), halves * (1 - 2.0**-40), [1e300, np.inf]])
    if target.name != "f8e8m0fnu":  # which has neither zero nor signs
        x = np.concatenate([x, -x, [0, 1e-300, -1e-300]])
    same_bits(round_to(x, target.dtype), converted(x, [target])[0])
    assert np.isnan(round_to(np.float64("nan"), target.dtype)) or target.name == "f4e2m1fn"


def test_bitcast_convert_puts_the_low_bits_first():
    np.testing.assert_array_equal(bitcast_convert(np.uint32([0x11223344]), np.uint8), [[0x44, 0x33, 0x22, 0x11]])
    np.testing.assert_array_equal(bitcast_convert_packed(np.int8([0x21]), ml_dtypes.int4).astype(int), [[1, 2]])
    packed = bitcast_convert_packed(np.array([1, -1], ml_dtypes.int4), np.uint8)
    assert (packed, packed.shape) == (0xF1, ())


def test_bitcast_convert_takes_any_memory_layout():
    x = np.arange(12, dtype=np.uint16).reshape(3, 4)
    for view in (x.T, x[:, ::2], x[::-1]):
        np.testing.assert_array_equal(bitcast_convert(view, np.uint8), bitcast_convert(view.copy(), np.uint8))
    np.testing.assert_array_equal(bitcast_convert(x[:, ::2], np.uint32), x[:, 0] + (x[:, 2].astype(np.uint32) << 16))


def rounded_by_draw(x, draw, bits, element_type):
    """The definition, in exact arithmetic: up in size where the draw lies below the fraction, then saturated."""
    limits = np.iinfo(element_type.dtype) if element_type.bits >= 8 else ml_dtypes.iinfo(element_type.dtype)
    if np.isnan(x):
        return 0
    if np.isinf(x):
        return int(limits.max if x > 0 else limits.min)
    size = Fraction(float(abs(x)))
    whole = size.numerator // size.denominator
    size = whole + (int(draw) < int((size - whole) * 2**bits))
    return max(int(limits.min), min(int(limits.max), size if x > 0 else -size))


@pytest.mark.parametrize("source, random", [("f16", "u16"), ("bf16", "u16"), ("f32", "u32"), ("f64", "u64")])
def test_stochastic_convert_is_its_definition_and_agrees_with_xla(source, random, xla_each):
    x = samples(ELEMENT_TYPES[source], 1000)
    bits = ELEMENT_TYPES[random].dtype
    draws = np.random.default_rng(0).integers(0, np.iinfo(bits).max, x.shape, bits, endpoint=True)
    targets = [t for t in INTEGERS if t.is_signed]
    results = xla_each([("stochastic-convert", shape_text(t, *x.shape)) for t in targets], [x, draws])
    for target, by_xla in zip(targets, results, strict=True):
        actual = stochastic_convert(x, draws, target.dtype)
        exact = [rounded_by_draw(*pair, 8 * bits.itemsize, target) for pair in zip(x, draws, strict=True)]
        assert actual.astype(object).tolist() == exact
        # On some processors XLA's vector code rounds -0.0 to -1, so not every element has to agree.
        assert np.mean(actual == by_xla) > 0.99
