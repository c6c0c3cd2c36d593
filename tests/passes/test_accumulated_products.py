"""Sums of products over the rounds of a loop, computed behind it."""

import re
from itertools import takewhile

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import STAYS, assert_agrees, cases, hlo, main
from xla2py.tests.recording.lazy_jax import jax

jnp, lax = jax.numpy, jax.lax
RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(7, 3, 4)).astype(np.float32), RNG.normal(size=(7, 3, 5)).astype(np.float32)
W, U = RNG.normal(size=(4, 5)).astype(np.float32), RNG.normal(size=(5, 5)).astype(np.float32)
FIVE = RNG.normal(size=(7, 2, 3, 5)).astype(np.float32)
WITHOUT = "accumulated_products"


def recurrent(xs, w, u, **options):
    start = jnp.zeros((*xs.shape[1:-1], 5), xs.dtype)
    return lax.scan(lambda h, x: (jnp.tanh(x @ w + h @ u),) * 2, start, xs, **options)[1].sum()


gradients = jax.grad(recurrent, (1, 2))


def of_other_rows(xs, ys):
    """The factors are rows, from the last on."""
    return lax.fori_loop(0, 7, lambda i, total: total + xs[6 - i].T @ jnp.sin(ys[6 - i]), jnp.ones((4, 5), xs.dtype))


def of_two_axes(xs, ys):
    """The products sum up two axes; what they add to is not zero."""

    def step(carry, row):
        total, state = carry
        x, y = row
        state = jnp.tanh(state + y)
        return (total + jnp.tensordot(x, state, ((0, 1), (0, 1))), state), state

    start = jnp.ones((xs.shape[-1], 5), xs.dtype), jnp.zeros(ys.shape[1:], xs.dtype)
    return lax.scan(step, start, (xs, ys))


PRODUCTS = re.compile(r"@|np\.tensordot\(")


def last_loop(text):
    """The body of the last loop, and what stands behind it."""
    lines = text.rpartition("for i in ")[2].splitlines()[1:]
    body = list(takewhile(lambda line: line.startswith(" "), lines))
    return "\n".join(body), "\n".join(lines[len(body) :])


@pytest.mark.parametrize(
    ("function", "given", "products"),
    [
        (gradients, (X, W, U), 2),
        (lambda *given: jax.grad(lambda *g: recurrent(*g, reverse=True), (1, 2))(*given), (X, W, U), 2),
        (of_other_rows, (X, Y), 1),
        (of_two_axes, (RNG.normal(size=(7, 2, 3, 8)).astype(np.float32), FIVE), 1),
    ],
    ids=["gradients", "backwards", "rows", "two axes"],
)
def test_products_of_all_rounds_stand_behind_the_loop(function, given, products):
    text = hlo(function, *given)
    inside, behind = last_loop(main(text))
    inside_before, behind_before = last_loop(main(text, disable_passes=[WITHOUT]))
    assert len(PRODUCTS.findall(behind)) == len(PRODUCTS.findall(behind_before)) + products
    assert len(PRODUCTS.findall(inside)) == len(PRODUCTS.findall(inside_before)) - products
    assert_agrees(text, *given, without=WITHOUT)


def sums_that_are_read(xs, ys):
    return lax.scan(lambda total, row: (total + row[0].T @ row[1], total[0]), jnp.zeros((4, 5), xs.dtype), (xs, ys))


def sums_of_changed_sums(xs, ys):
    return lax.scan(lambda total, row: (total * 0.5 + row[0].T @ row[1], 0), jnp.zeros((4, 5), xs.dtype), (xs, ys))


def some_rows(xs, ys):
    return lax.fori_loop(0, 6, lambda i, total: total + xs[i].T @ jnp.sin(ys[i]), jnp.zeros((4, 5), xs.dtype))


def as_long_as_it_is_small(xs, ys):
    def step(state):
        i, total = state
        return i + 1, total + xs[i].T @ ys[i]

    start = 0, jnp.zeros((4, 5), xs.dtype)
    return lax.while_loop(lambda state: (state[0] < 7) & (state[0] < ys[0, 0, 0] + 3), step, start)


test_sums_that_stay = cases(WITHOUT, X, Y, claims=[STAYS])(
    sums_that_are_read, sums_of_changed_sums, some_rows, as_long_as_it_is_small
)


def test_what_a_loop_would_store_is_no_more_than_the_product():
    """A product of few columns of many rows is smaller than its factors."""
    many = jax.ShapeDtypeStruct((7, 300, 4), jnp.float32), jax.ShapeDtypeStruct((7, 300, 5), jnp.float32)
    text = hlo(
        lambda xs, ys: lax.scan(
            lambda c, r: ((c[0] + r[0].T @ c[1], jnp.sin(c[1] + r[1])), 0),
            (jnp.zeros((4, 5)), jnp.zeros((300, 5))),
            (xs, ys),
        ),
        *many,
    )
    assert "np.tensordot" not in main(text)


@pytest.mark.parametrize(("target", "style"), [("numpy", "fast"), ("cupy", "readable"), ("cupy", "fast")])
def test_other_styles(target, style):
    text = hlo(gradients, X, W, U)
    assert "tensordot(" in xla2py.emit(text, target, style=style, disable_passes=["whole_functions"]).source


def test_any_size():
    module = xla2py.from_jax(gradients, *map(xla2py.array, ("T, B, I", "I, 5", "5, 5")))
    assert "np.tensordot(" in xla2py.emit(module).source
