"""Products of the rows that a loop goes through, computed before it."""

import numpy as np
import pytest

from xla2py.tests.passes.raising import STAYS, assert_agrees, cases, hlo, main
from xla2py.tests.recording.lazy_jax import jax

jnp, lax = jax.numpy, jax.lax
RNG = np.random.default_rng(2)
X, V = RNG.normal(size=(6, 3, 4)).astype(np.float32), RNG.normal(size=(6, 4)).astype(np.float32)
W, U = RNG.normal(size=(4, 5)).astype(np.float32), RNG.normal(size=(5, 5)).astype(np.float32)


def recurrent(xs, w, u, product=lambda x, w: x @ w, **options):
    start = jnp.zeros((*xs.shape[1:-1], 5), xs.dtype)
    return lax.scan(lambda h, x: (jnp.tanh(product(x, w) + h @ u),) * 2, start, xs, **options)


@pytest.mark.parametrize(
    ("function", "x", "product"),
    [
        (recurrent, X, "xs_dot_w = xs @ w"),
        (lambda xs, w, u: recurrent(xs, w, u, reverse=True), X, "xs_dot_w = xs @ w"),
        (recurrent, V, "xs_dot_w = xs @ w"),
        (lambda xs, w, u: recurrent(xs, w, u, lambda x, w: w.T @ x), V, "xs_dot_w = xs @ w"),
        (lambda xs, w, u: recurrent(xs, w, u, lambda x, w: (x @ w) * jnp.sum(x)), X, "xs_dot_w = xs @ w"),
    ],
)
def test_products_of_rows_stand_before_the_loop(function, x, product):
    text = hlo(function, x, W, U)
    before, inside = main(text).split("for ")
    assert product in before
    assert "xs_dot_w[i]" in inside
    assert inside.count("@") == 1
    assert_agrees(text, x, W, U, without="projections")


def weights_that_change(xs, w, u):
    return lax.scan(lambda w, x: (w * 1.1, x @ w), w, xs)[1] @ u


def few_rows(xs, w, u):
    return lax.fori_loop(0, 2, lambda i, h: jnp.tanh(xs[i] @ w + h @ u), jnp.zeros((3, 5), xs.dtype))


def rows_that_are_looked_up(xs, w, u):
    order = jnp.array([3, 1, 0, 5, 2, 2])
    return lax.scan(lambda h, i: (jnp.tanh(xs[i] @ w + h @ u),) * 2, jnp.zeros((3, 5), xs.dtype), order)


def rows_of_the_state(xs, w, u):
    def step(i, carry):
        xs, total = carry
        return xs * 0.5, total + xs[i] @ w

    return lax.fori_loop(0, 6, step, (xs, jnp.zeros((3, 5), xs.dtype)))[1] @ u


test_products_that_stay = cases("projections", X, W, U, claims=[STAYS])(
    weights_that_change, few_rows, rows_that_are_looked_up, rows_of_the_state
)


def test_products_of_all_rounds_that_would_be_large_stay():
    x, w, u = (jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((3000, 8, 4), (4, 1000), (1000, 1000)))

    def step(h, x, w, u):
        return (jnp.tanh(x @ w + h @ u),) * 2

    text = hlo(lambda x, w, u: lax.scan(lambda h, x: step(h, x, w, u), jnp.zeros((8, 1000)), x)[0], x, w, u)
    assert main(text) == main(text, disable_passes=["projections"])
