"""Sums of two choices of which one is 0 are one choice: raised, near misses, values."""

import numpy as np
import pytest

from xla2py.tests.passes.raising import assert_agrees, entry, main

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
    assert expected in main(text)
    assert_agrees(text, M, X, Y, without="choices")
    counted = program(first, second, shape="s32[5]")
    assert expected in main(counted)
    assert_agrees(counted, M, np.arange(5, dtype=np.int32), -np.arange(5, dtype=np.int32), without="choices")


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
