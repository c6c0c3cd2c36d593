"""Sums of two choices of which one is 0 are one choice: raised, near misses, values."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import assert_agrees, entry, main
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


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("select(m, x, o)", "select(m, o, y)", "return np.where(m, x, y)"),
        ("select(m, o, y)", "select(m, x, o)", "return np.where(m, x, y)"),
        ("select(m, o, x)", "select(m, x, o)", "return x"),
        ("select(m, x, o)", "select(m, o, x)", "return x"),
    ],
)
def test_choices(first, second, expected):
    text = program(first, second)
    assert f"{expected} + 0" in main(text)
    assert_agrees(text, M, X, Y, without="choices")
    counted = program(first, second, shape="s32[5]")
    assert main(counted).endswith(expected)
    assert_agrees(counted, M, np.arange(5, dtype=np.int32), -np.arange(5, dtype=np.int32), without="choices")


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("select(m, x, o)", "select(m, o, y)", "return np.where(m, x, 0 - y)"),
        ("select(m, o, y)", "select(m, x, o)", "return np.where(m, 0 - x, y)"),
        ("select(m, x, o)", "select(m, o, x)", "return np.where(m, x, 0 - x)"),
        ("select(m, o, x)", "select(m, x, o)", "return np.where(m, 0 - x, x)"),
    ],
)
def test_differences_of_choices(first, second, expected):
    text = program(first, second).replace("add(a, b)", "subtract(a, b)")
    assert main(text).endswith(expected)
    zeros = np.float32([-0.0, -0.0, 0, 0, -0.0])
    assert_agrees(text, M, X, Y, without="choices")
    assert_agrees(text, M, zeros, -zeros, without="choices")
    counted = program(first, second, shape="s32[5]").replace("add(a, b)", "subtract(a, b)")
    assert_agrees(counted, M, np.arange(5, dtype=np.int32), -np.arange(5, dtype=np.int32), without="choices")


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


@pytest.mark.parametrize(
    ("behind", "expected"),
    [
        ("r = f32[5] exponential(s)", "return np.exp(x)"),
        ("r = f32[5] add(s, one)", "return x + 1"),
        ("r = f32[5] multiply(s, y)", "return (x + 0) * y"),
        ("r = f32[5] add(s, y)", "return x + 0 + y"),
        ("r = f32[5] maximum(s, one)", "return np.maximum(x + 0, 1)"),
    ],
)
def test_zero_is_added_where_a_sign_is_seen(behind, expected):
    text = program("select(m, x, o)", "select(m, o, x)", behind)
    assert expected in main(text)
    assert_agrees(text, M, X, Y, without="choices")


def test_what_has_no_sign_is_only_chosen():
    text = program("select(m, e, o)", "select(m, o, e)").replace("other =", "e = f32[5] exponential(x)\nother =")
    assert main(text) == "return np.exp(x)"
    assert_agrees(text, M, X, Y, without="choices")


def test_minus_zero_beside_a_choice_is_a_near_miss():
    text = program("select(m, x, o)", "select(m, o, x)").replace("constant(0)", "constant(-0)")
    assert main(text) == main(text, disable_passes=["choices"])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("select(m, x, o)", "select(m, y, o)"),  # both are of the same side
        ("select(m, x, one)", "select(m, o, y)"),
        ("select(m, x, o)", "select(other, o, y)"),  # another mask
    ],
)
def test_near_misses(first, second):
    text = program(first, second)
    assert main(text) == main(text, disable_passes=["choices"])
    assert_agrees(text, M, X, Y, without="choices")


def test_a_part_that_is_used_again_stays():
    text = program("select(m, x, o)", "select(m, o, y)", "r = (f32[5], f32[5]) tuple(s, a)")
    assert main(text) == main(text, disable_passes=["choices"])


@pytest.mark.parametrize(
    ("direction", "number", "expected"),
    [
        ("LT", 1, "np.where(m, x, y)"),
        ("GE", 1, "np.where(m, y, x)"),
        ("EQ", 0, "np.where(m, x, y)"),
        ("NE", 0, "np.where(m, y, x)"),
        ("GT", 0, "np.where(m, y, x)"),
        ("LE", 0, "np.where(m, x, y)"),
        ("LT", 2, "y"),
        ("EQ", -1, "x"),
    ],
)
@pytest.mark.parametrize("kind", ["s32", "s4", "f32", "bf16"])
def test_masks_that_were_numbers_choose(direction, number, expected, kind):
    text = entry(
        "m = pred[5] parameter(0)",
        "x = f32[5] parameter(1)",
        "y = f32[5] parameter(2)",
        f"number = {kind}[5] convert(m)",
        f"one = {kind}[] constant({number})",
        f"limit = {kind}[5] broadcast(one), dimensions={{}}",
        f"below = pred[5] compare(number, limit), direction={direction}",
        "chosen = f32[5] select(below, y, x)",
    )
    assert main(text) == f"return {expected}"
    np.testing.assert_array_equal(xla2py.emit(text).load().main(M, X, Y), run_hlo_in_child(text, M, X, Y)[0])


def test_numbers_that_are_no_masks_are_compared():
    text = entry(
        "n = s32[5] parameter(0)",
        "one = s32[] constant(1)",
        "limit = s32[5] broadcast(one), dimensions={}",
        "below = pred[5] compare(n, limit), direction=LT",
    )
    assert main(text) == "return n < 1"
