"""Sums of two choices of which one is 0 are one choice: raised, near misses, values."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import EXACT, STAYS, cases, entry, main
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_in_child

M = np.array([True, False, True, False, False])
X = np.float32([1, -2, np.inf, np.nan, 3])
Y = np.float32([5, np.nan, -7, np.inf, 0])


def program(first, second, *behind, shape="f32[5]"):
    """A sum of two lines, and what is ``behind`` it; ``o`` is 0, ``one`` is 1."""
    return entry(
        "m = pred[5] parameter(0)",
        f"x = {shape} parameter(1)",
        f"y = {shape} parameter(2)",
        f"zero = {shape[: shape.index('[')]}[] constant(0)",
        f"one_of = {shape[: shape.index('[')]}[] constant(1)",
        f"o = {shape} broadcast(zero), dimensions={{}}",
        f"one = {shape} broadcast(one_of), dimensions={{}}",
        "other = pred[5] not(m)",
        f"a = {shape} {first}",
        f"b = {shape} {second}",
        f"s = {shape} add(a, b)",
        *behind,
    )


CHOICES = [
    ("select(m, x, o)", "select(m, o, y)", "return np.where(m, x, y)"),
    ("select(m, o, y)", "select(m, x, o)", "return np.where(m, x, y)"),
    ("select(m, o, x)", "select(m, x, o)", "return x"),
    ("select(m, x, o)", "select(m, o, x)", "return x"),
]
COUNTS = M, np.arange(5, dtype=np.int32), -np.arange(5, dtype=np.int32)
test_choices = cases("choices", M, X, Y)(
    *((program(first, second), f"{expected} + 0") for first, second, expected in CHOICES)
)
test_choices_of_integers = cases("choices", *COUNTS)(
    *((program(first, second, shape="s32[5]"), expected) for first, second, expected in CHOICES)
)


DIFFERENCES = [
    ("select(m, x, o)", "select(m, o, y)", "return np.where(m, x, -y)"),
    ("select(m, o, y)", "select(m, x, o)", "return np.where(m, -x, y)"),
    ("select(m, x, o)", "select(m, o, x)", "return np.where(m, x, -x)"),
    ("select(m, o, x)", "select(m, x, o)", "return np.where(m, -x, x)"),
]
ZEROS = np.float32([-0.0, -0.0, 0, 0, -0.0])
test_differences_of_choices = cases("choices", M, X, Y, inputs=[(M, X, Y), (M, ZEROS, -ZEROS)])(
    *((program(first, second).replace("add(a", "subtract(a"), expected) for first, second, expected in DIFFERENCES)
)
test_differences_of_choices_of_integers = cases("choices", *COUNTS)(
    *(program(first, second, shape="s32[5]").replace("add(a", "subtract(a") for first, second, _ in DIFFERENCES)
)


@pytest.mark.parametrize("shape", ["f32[5]", "c64[5]"])
@pytest.mark.parametrize("second", ["select(m, o, x)", "select(m, o, y)"])
def test_sums_are_never_minus_zero(second, shape):
    text = program("select(m, x, o)", second, shape=shape)
    if shape.startswith("c"):
        text = text.replace("constant(0)", "constant((0, 0))").replace("constant(1)", "constant((1, 0))")
    kind = np.float32 if shape.startswith("f") else np.complex64
    x, y = (np.array(values, kind) for values in ([-0.0, 0, -0.0, 0, -0.0], [0, -0.0, -0.0, 0, -0.0]))
    if shape.startswith("c"):
        x, y = -x, -y.conj()
    (expected,) = run_hlo_in_child(text, M, x, y)
    found = xla2py.emit(text, format=False).load().main(M, x, y)
    for part in ("real", "imag"):
        signs = np.signbit(getattr(np.asarray(expected), part))
        np.testing.assert_array_equal(np.signbit(getattr(found, part)), signs)
        assert not signs.any()


HALVES = "select(m, x, o)", "select(m, o, x)"
EXPONENTIALS = program("select(m, e, o)", "select(m, o, e)").replace("other =", "e = f32[5] exponential(x)\nother =")
test_zero_is_added_where_a_sign_is_seen = cases("choices", M, X, Y)(
    (program(*HALVES, "r = f32[5] exponential(s)"), "return np.exp(x)"),
    (program(*HALVES, "r = f32[5] add(s, one)"), "return x + 1"),
    (program(*HALVES, "r = f32[5] multiply(s, y)"), "return x * y"),
    (program(*HALVES, "r = f32[5] add(s, y)"), "return x + y"),
    (program(*HALVES, "r = f32[5] maximum(s, one)"), "return np.maximum(x + 0, 1)"),
    (EXPONENTIALS, "return np.exp(x)"),  # what has no sign is only chosen
    # near misses
    (program("select(m, x, o)", "select(m, y, o)"), STAYS),  # both are of the same side
    (program("select(m, x, one)", "select(m, o, y)"), STAYS),
    (program("select(m, x, o)", "select(other, o, y)"), STAYS),  # another mask
    (program(*HALVES).replace("constant(0)", "constant(-0)"), STAYS),
    (program("select(m, x, o)", "select(m, o, y)", "r = (f32[5], f32[5]) tuple(s, a)"), STAYS),  # a part is used again
)


HALF = (
    "half_of = f32[] constant(0.5)",
    "half = f32[5] broadcast(half_of), dimensions={}",
    "b2 = f32[5] multiply(b, half)",
)
ELSE = "p = f32[5] multiply(b, y)", "r = f32[5] select(m, x, p)"
EITHER = "select(m, x, o)", "select(m, o, y)"


def before(others, opcode):
    lines = f"others = f32[5] {others}", "t = f32[5] add(others, a)", f"r = f32[5] {opcode}(t, b)"
    return program(*EITHER, *lines)


test_parts_added_one_after_the_other = cases(
    "choices", M, X, Y, inputs=[(M, X, Y), (M, ZEROS, -ZEROS), (M, -ZEROS, ZEROS)]
)(
    (before("abs(y)", "add"), "return np.abs(y) + np.where(m, x, y)"),
    (before("abs(y)", "subtract"), "return np.abs(y) + np.where(m, x, -y)"),
    (before("multiply(x, y)", "add"), "return x * y + np.where(m, x, y) + 0"),
    (before("multiply(x, y)", "subtract"), "return x * y + np.where(m, x, -y)"),
    (program(*EITHER, *HALF, "r = f32[5] add(a, b2)"), "return np.where(m, x, y * 0.5) + 0"),
    (program("convert(m)", "select(m, o, y)"), "return np.where(m, 1, y) + 0"),
    (program(*EITHER, "c = f32[5] multiply(b, y)", "r = f32[5] add(a, c)"), STAYS),  # 0 * y may be NaN
)
test_a_factor_of_the_same_mask = cases("known_choices", M, X, Y)(
    (program(*EITHER, *ELSE), "return np.where(m, x, y * y)"),
    (program("select(m, x, o)", "select(other, o, y)", *ELSE), STAYS),
)


def compared(kind, direction, number):
    return entry(
        *("m = pred[5] parameter(0)", "x = f32[5] parameter(1)", "y = f32[5] parameter(2)"),
        *(f"number = {kind}[5] convert(m)", f"one = {kind}[] constant({number})"),
        f"limit = {kind}[5] broadcast(one), dimensions={{}}",
        f"below = pred[5] compare(number, limit), direction={direction}",
        "chosen = f32[5] select(below, y, x)",
    )


test_masks_that_were_numbers_choose = cases("choices", M, X, Y, budget=EXACT)(
    (compared("s32", "LT", 1), "return np.where(m, x, y)"),
    (compared("s4", "GE", 1), "return np.where(m, y, x)"),
    (compared("f32", "EQ", 0), "return np.where(m, x, y)"),
    (compared("bf16", "NE", 0), "return np.where(m, y, x)"),
    (compared("s32", "GT", 0), "return np.where(m, y, x)"),
    (compared("f32", "LE", 0), "return np.where(m, x, y)"),
    (compared("s4", "LT", 2), "return y"),
    (compared("bf16", "EQ", -1), "return x"),
)


def test_numbers_that_are_no_masks_are_compared():
    text = entry(
        "n = s32[5] parameter(0)",
        "one = s32[] constant(1)",
        "limit = s32[5] broadcast(one), dimensions={}",
        "below = pred[5] compare(n, limit), direction=LT",
    )
    assert main(text) == "return n < 1"
