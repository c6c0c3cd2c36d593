"""Sums with what has a minus are differences, the same in every bit."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import EXACT, STAYS, assert_agrees, cases, entry, hlo, main
from xla2py.tests.recording.lazy_jax import jax, jnp

SPECIAL = np.float32([0, -0.0, 1.5, -2.25, np.inf, -np.inf, np.nan, 1e-45, 3e38])
X, Y = (part.ravel() for part in np.meshgrid(SPECIAL, SPECIAL))
SMALL = np.linspace(-2, 3, X.size, dtype=np.float32)


def assert_same_bits(text):
    """XLA may round products and sums at once: what it gives is no measure of last bits."""
    with np.errstate(all="ignore"):
        found, plain = (
            xla2py.emit(text, format=False, disable_passes=disabled).load().main(X, Y) for disabled in ([], ["signs"])
        )
    for one, other in zip(np.atleast_2d(found), np.atleast_2d(plain), strict=True):
        np.testing.assert_array_equal(one, other, strict=True)
        np.testing.assert_array_equal(np.signbit(one[one == 0]), np.signbit(other[one == 0]))
    assert_agrees(text, SMALL, SMALL[::-1], without="signs")


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x, y: x - np.float32(-3), "return x + 3"),
        (lambda x, y: x + np.float32(-3), "return x - 3"),
        (lambda x, y: x + y * np.float32(-3), "return x - y * 3"),
        (lambda x, y: y * np.float32(-3) + x, "return x - y * 3"),
        (lambda x, y: x - y * np.float32(-3), "return x + y * 3"),
        (lambda x, y: x * y + -x * jnp.exp(y) + -x * jnp.sin(y), "return x * y - x * np.exp(y) - x * np.sin(y)"),
        (lambda x, y: x + np.float32(-3) / y, "return x - 3 / y"),
        (lambda x, y: x - np.float32(-3) / y, "return x + 3 / y"),
        (lambda x, y: x + -y * x, "return x - y * x"),
        (lambda x, y: 1 + y * np.float32(-2), "return 1 - y * 2"),
        (lambda x, y: x * np.float32(-1) * y, "return -x * y"),
        (lambda x, y: (-(x - y)) * np.float32(-1), "return x - y"),
        (lambda x, y: x + (y + 2) * np.float32(-1), "return x - (y + 2)"),
    ],
)
def test_differences(function, expected):
    text = hlo(function, X, Y)
    body = main(text).replace("x_2", "y")
    assert expected in body
    assert_same_bits(text)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: -((x > 0).astype(np.float32) / (1 + y * y)),  # a mask has no minus
        lambda x, y: -((x + 3).astype(np.uint8) / (1 + y * y)),  # and an unsigned integer wraps
        lambda x, y: -((x > 0).astype(np.float32) / jnp.where(y > 0, 3.0, 0.5)),
        lambda x, y: y + (-(x + 3).astype(np.uint8)).astype(np.float32),
        lambda x, y: y - (-(x - 100).astype(np.int8)).astype(np.float32),
    ],
)
def test_what_only_a_quotient_or_a_sum_converts_has_no_minus(function):
    assert_agrees(hlo(function, SMALL, SMALL), SMALL, SMALL[::-1], without="signs")


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: x - np.float32(0.0),
        lambda x, y: x + np.float32(-0.0),
        lambda x, y: x + y * np.float32(3),
        lambda x, y: (x + y * np.float32(-3), y * np.float32(-3)),  # which has a name
        lambda x, y: x * np.float32(-3),
        lambda x, y: x + y * np.float32(np.nan),
        lambda x, y: jnp.sign(x) < 0.5,
        lambda x, y: jnp.sign(x) < jnp.sign(y),
    ],
)
def test_near_misses(function):
    text = hlo(function, X, Y)
    assert main(text) == main(text, disable_passes=["signs"])
    assert_same_bits(text)


test_integers_stay = cases("signs", np.int32([0, 5, -(2**31), 2**31 - 1]), budget=EXACT)(
    (lambda x: x - np.int32(-(2**31)), STAYS),  # the least of them has no opposite
)


def test_numbers_stay_where_they_were_written():
    text = entry(
        *("x = f32[81] parameter(0)", "y = f32[81] parameter(1)", "c = f32[] constant(-3)"),
        *("b = f32[81] broadcast(c), dimensions={}", "z = f32[81] multiply(b, y)", "s = f32[81] add(x, z)"),
    )
    assert main(text) == "return x - 3 * y"
    assert_same_bits(text)


@pytest.mark.parametrize("compare", [jnp.less, jnp.less_equal, jnp.greater, jnp.equal, jnp.not_equal])
def test_signs_that_are_compared_with_zero(compare):
    text = hlo(lambda x, y: (compare(jnp.sign(x), 0), y), X, Y)
    assert "sign" not in main(text)
    assert_same_bits(text)


test_turned_numbers_whose_zeros_have_either_sign = cases("signed_zeros", np.float32([0, -0.0, 1, -3, np.inf, np.nan]))(
    (lambda x: jnp.exp(-2j * x) * (1 + 1j), "return np.exp(x * -2j) * (1 + 1j)"),
    (lambda x: (turned := jnp.exp(-2j * x)) * jnp.conj(turned), "exp = np.exp(x * -2j)"),
    (lambda x: jnp.abs(jnp.exp(-2j * x) - 1).sum(), "np.exp(x * -2j)"),
    (lambda x: jnp.exp(-2j * x), "return np.exp(x * -2j + 0)"),
    (lambda x: jnp.conj(jnp.exp(-2j * x)), "return np.conj(np.exp(x * -2j + 0))"),
    (lambda x: jnp.log(-jnp.exp(-2j * x)), "np.exp(x * -2j + 0)"),  # the side of the cut
)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x, y: y + (-y).sum() * x, "return y - y.sum() * x"),
        (lambda x, y: y + (-y).sum() / jnp.abs(x) * x, "return y - y.sum() / np.abs(x) * x"),
        (lambda x, y: x / jnp.abs((-y).sum()), "return x / np.abs(-y.sum())"),
        (lambda x, y: x + (-y).mean(), "return x - y.mean()"),
        (lambda x, y: x / (-y).mean(), "return x / (-y).mean()"),
        (lambda x, y: x / (-y).sum(), "return x / (-y).sum()"),  # by the sign of a zero
        (lambda x, y: jnp.arctan2(x, (-y).sum()), "np.arctan2(x, (-y).sum())"),
    ],
)
def test_sums_of_negatives(function, expected):
    text = hlo(function, X, Y)
    assert expected in main(text).replace("x_2", "y")
    assert_agrees(text, SMALL, SMALL[::-1], without="signed_zeros")


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jax.lax.bitcast_convert_type(jnp.zeros(8).at[np.arange(8)[::-1]].add(x), jnp.int32),
        lambda x: jnp.arctan2(
            jnp.zeros(8).at[1].set(x[0]).at[2:].set(x[2:]) + jax.lax.pad(x[:2], 0.0, [(0, 6, 0)]), -1
        ),
    ],
)
def test_signs_that_are_told_stay(function):
    signed = np.float32([-0.0, 0, -0.0, 1, -2.5, -0.0, 4, -0.0])
    found = xla2py.emit(hlo(function, signed)).load().main(signed)
    np.testing.assert_allclose(found, jax.jit(function)(signed), rtol=1e-6)
