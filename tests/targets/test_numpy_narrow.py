"""Narrow floats in loops of Numba: rounded after every step, to the bit as in the readable style."""

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("numba", reason="Numba is not installed")

import xla2py
from xla2py.templates.numpy.prelude import narrow
from xla2py.tests.targets.numpy_fast import emitted, kernels

KINDS = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}
BITS = np.arange(2**16, dtype=np.uint16)


def applied(function, numbers, dtype):
    return np.array([function(number) for number in numbers], dtype)


@pytest.mark.parametrize("name", KINDS)
def test_every_number_is_what_its_bits_say(name):
    numbers = applied(getattr(narrow, f"float_of_{name}"), BITS, np.float32)
    expected = BITS.view(KINDS[name]).astype(np.float32)
    assert np.array_equal(numbers, expected, equal_nan=True)
    assert np.array_equal(np.signbit(numbers), np.signbit(expected))
    again = applied(getattr(narrow, f"bits_of_{name}"), numbers, np.uint16)
    assert np.array_equal(again[~np.isnan(numbers)], BITS[~np.isnan(numbers)])
    assert np.isnan(again[np.isnan(numbers)].view(KINDS[name])).all()


@pytest.mark.parametrize("name", KINDS)
def test_numbers_are_rounded_to_the_next_one(name):
    """Halves go to even, what is too large is infinite; NaN of any payload stays NaN."""
    rng = np.random.default_rng(3)
    exact = BITS.view(KINDS[name]).astype(np.float32)
    halves = (exact.view(np.uint32) + np.uint32(0x8000 if name == "bf16" else 0x1000)).view(np.float32)
    small = rng.normal(size=4000).astype(np.float32) * np.float32(2.0**-16)
    numbers = np.concatenate([exact, halves, rng.integers(0, 2**32, 30000, np.uint32).view(np.float32), small])
    numbers = np.append(numbers, np.array([0x7F800001, 0xFFFFFFFF], np.uint32).view(np.float32))
    numbers = np.append(numbers, np.float32([65519.996, 65520, -65520, 3.4e38, 2.9802322e-08, 2.9802326e-08]))
    with np.errstate(all="ignore"):
        rounded, expected = applied(getattr(narrow, name), numbers, np.float32), numbers.astype(KINDS[name])
    assert np.array_equal(rounded, expected.astype(np.float32), equal_nan=True)
    is_number = ~np.isnan(numbers)
    assert np.array_equal(np.signbit(rounded[is_number]), np.signbit(numbers[is_number]))


def program(kind: str) -> str:
    return f"""
    larger {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] maximum(a, b) }}
    ENTRY main {{
      x = {kind}[40,6] parameter(0)
      y = {kind}[40,6] parameter(1)
      scale = {kind}[] parameter(2)
      half = {kind}[] constant(0.3)
      halves = {kind}[40,6] broadcast(half), dimensions={{}}
      scales = {kind}[40,6] broadcast(scale), dimensions={{}}
      product = {kind}[40,6] multiply(x, y)
      total = {kind}[40,6] add(product, halves)
      ratio = {kind}[40,6] divide(total, scales)
      is_less = pred[40,6] compare(ratio, y), direction=LT
      chosen = {kind}[40,6] select(is_less, x, ratio)
      turned = {kind}[6,40] transpose(chosen), dimensions={{1,0}}
      negative = {kind}[6,40] negate(turned)
      wide = f32[40,6] convert(chosen)
      size = f32[40,6] abs(wide)
      least = f32[] constant(-inf)
      peak = f32[40] reduce(size, least), dimensions={{1}}, to_apply=larger
      peaks = f32[40,6] broadcast(peak), dimensions={{0}}
      below = f32[40,6] subtract(size, peaks)
      narrow = {kind}[40,6] convert(below)
      sum = {kind}[40,6] add(narrow, x)
      ROOT r = ({kind}[6,40], {kind}[40,6], f32[40], {kind}[40,6]) tuple(negative, sum, peak, chosen)
    }}"""


@pytest.mark.parametrize("kind", KINDS)
def test_a_program_computes_what_the_readable_style_does(kind):
    text, rng = program(kind), np.random.default_rng(1)
    x, y = (rng.normal(size=(40, 6)).astype(KINDS[kind]) for _ in range(2))
    x[0], y[1, 2], x[2, 3], y[3, 0], x[4] = -0.0, np.nan, np.inf, 0, 3e38 if kind == "bf16" else 6e4
    arguments = x, y, KINDS[kind](1.7)
    module = emitted(text)
    assert kernels(module)
    with np.errstate(all="ignore"):
        made = module.load(keep_compiled=False).main(*arguments)
        expected = xla2py.emit(text).load().main(*arguments)
        transposed = module.load(keep_compiled=False).main(x.T.copy().T, *arguments[1:])
    for leaf, same, again in zip(made, expected, transposed, strict=True):
        assert leaf.dtype == same.dtype
        assert np.array_equal(leaf.astype(np.float32), same.astype(np.float32), equal_nan=True)
        assert np.array_equal(leaf, again, equal_nan=True)
    assert f"def bits_of_{kind}" in module.source
