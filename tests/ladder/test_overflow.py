"""Kernels of CuPy say where whole numbers wrap around: a compiler of C++ takes for granted that none does."""

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")

import xla2py  # noqa: E402
from xla2py.tests.ladder.fast_programs import program  # noqa: E402
from xla2py.tests.ladder.running import checked, needs_compiler  # noqa: E402

LARGEST = np.iinfo(np.int32).max


def steps(last: str, kind: str = "s32") -> str:
    return program(
        *(f"x = {kind}[5] parameter(0)", f"one = {kind}[] constant(1)", f"y = {kind}[5] parameter(1)"),
        *(f"ones = {kind}[5] broadcast(one), dimensions={{}}", f"next = {kind}[5] add(x, ones)", f"ROOT r = {last}"),
    )


@pytest.mark.parametrize(
    ("last", "said"),
    [
        ("pred[5] compare(next, x), direction=GT", "(int)((unsigned)x + (unsigned)1) > x"),
        ("s64[5] convert(next)", "(long long)(int)((unsigned)x + (unsigned)1)"),
        ("s32[5] maximum(next, y)", "larger<int>((int)((unsigned)x + (unsigned)1), y)"),
        ("s32[5] multiply(next, y)", "(x + 1) * y"),
        ("s32[5] xor(next, y)", "x + 1 ^ y"),
    ],
)
def test_what_is_asked_of_a_sum_decides_how_it_is_written(last, said):
    assert said in xla2py.emit(steps(last), "cupy", style="fused").source


def test_a_choice_hands_on_what_is_asked():
    text = program(
        *("x = s64[5] parameter(0)", "y = s64[5] parameter(1)", "less = pred[5] compare(x, y), direction=LT"),
        *("product = s64[5] multiply(x, y)", "chosen = s64[5] select(less, product, y)", "ROOT r = s64[5] abs(chosen)"),
    )
    assert "(long long)((unsigned long long)x * (unsigned long long)y)" in (
        xla2py.emit(text, "cupy", style="fused").source
    )


LARGE_SUMS = """HloModule m
add { a = s32[] parameter(0) b = s32[] parameter(1) ROOT sum = s32[] add(a, b) }
ENTRY main {
  x = s32[64,40] parameter(0)
  size = s32[64,40] abs(x)
  zero = s32[] constant(0)
  total = s32[40] reduce(size, zero), dimensions={0}, to_apply=add
  zeros = s32[40] broadcast(zero), dimensions={}
  ROOT below = pred[40] compare(total, zeros), direction=LT
}
"""


def test_a_total_that_is_compared_wraps_around():
    """A compiler takes a sum of numbers that are not negative for one that is not."""
    assert "total = (int)((unsigned)total + (unsigned)abs(x[at]));" in (
        xla2py.emit(LARGE_SUMS, "cupy", style="fused").source
    )


@needs_compiler
def test_a_total_wraps_around_when_it_is_run():
    x = np.full((64, 40), LARGEST // 50, np.int32)
    np.testing.assert_array_equal(checked(xla2py.emit(LARGE_SUMS, "cupy", style="fused"), [x]), np.ones(40, bool))


@needs_compiler
@pytest.mark.parametrize("last", ["pred[5] compare(next, x), direction=GT", "s64[5] convert(next)"])
def test_the_last_number_is_followed_by_the_first(last):
    x, y = np.array([LARGEST, -LARGEST - 1, 0, -1, 7], np.int32), np.zeros(5, np.int32)
    expected = xla2py.emit(steps(last)).load().main(x, y)
    np.testing.assert_array_equal(checked(xla2py.emit(steps(last), "cupy", style="fused"), [x, y]), expected)
