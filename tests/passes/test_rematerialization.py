"""Rows that a loop stores, computed again where they are read."""

import re

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import EXACT, STAYS, assert_agrees, cases, hlo, main
from xla2py.tests.recording.lazy_jax import jax
from xla2py.transpile.equivalence.verdicts.comparison import Status, compare

jnp, lax = jax.numpy, jax.lax
RNG = np.random.default_rng(4)
X = RNG.normal(size=(7, 3, 5)).astype(np.float32)
W = (RNG.normal(size=(5, 5)) * 0.3).astype(np.float32)
WITHOUT = "rematerialization"


def recurrent(xs, w):
    return lax.scan(lambda h, x: (jnp.tanh(x + h @ w),) * 2, jnp.zeros(xs.shape[1:], xs.dtype), xs)[1].sum()


def gated(xs, w):
    def step(h, x):
        gate, new = jax.nn.sigmoid(x @ w), jnp.tanh(x + h)
        h = gate * h + (1 - gate) * new
        return h, h

    return lax.scan(step, jnp.ones(xs.shape[1:], xs.dtype), xs)[1].sum()


def buffers(text, **options):
    return main(text, **options).count("np.empty(")


@pytest.mark.texts_of("0.10")
@pytest.mark.parametrize(("function", "fewer"), [(recurrent, 1), (gated, 3)])
def test_rows_are_computed_where_they_are_read(function, fewer):
    text = hlo(jax.grad(function, (0, 1)), X, W)
    assert buffers(text) == buffers(text, disable_passes=[WITHOUT]) - fewer
    assert_agrees(text, X, W, without=WITHOUT)
    ways = (xla2py.emit(text, disable_passes=each).load().main(X, W) for each in ((), [WITHOUT]))
    assert {result.status for result in compare(*map(list, ways), EXACT)} == {Status.EQUAL}


def seen_otherwise(xs, w):
    """The gradient needs the carry as a row and as a column."""

    def step(h, x):
        return jnp.tanh((jnp.outer(h, h) * w) @ x[0]), h.sum()

    return lax.scan(step, w[0], xs)[1].sum()


@pytest.mark.texts_of("0.10")
def test_a_loop_stores_what_is_seen_in_several_ways_once():
    text = hlo(jax.grad(seen_otherwise, (0, 1)), X, W)
    assert not re.search(r"\[i\] = (\w+\.T|\w+\[[:, ]*None\]|xs\[i\])$", main(text), re.MULTILINE)
    assert buffers(text) < buffers(text, disable_passes=[WITHOUT])
    assert_agrees(text, X, W, without=WITHOUT)


def all_of_them(xs, w):
    return lax.scan(lambda h, x: (jnp.tanh(x + h @ w), (h, 1 - h)), jnp.zeros(xs.shape[1:], xs.dtype), xs)


def other_rows(xs, w):
    """They are read in another order."""
    hs, rest = all_of_them(xs, w)[1]
    order = jnp.array([3, 1, 0, 5, 2, 2, 6])
    return lax.scan(lambda h, i: (jnp.sin(h + hs[i] * rest[i]), 0), hs[0], order)


def costly(xs, w):
    """To compute a sine once more takes longer than to read it."""
    _, (hs, rest) = lax.scan(lambda h, x: (jnp.tanh(x + h @ w), (h, jnp.sin(h))), jnp.zeros(xs.shape[1:]), xs)
    return lax.scan(lambda h, row: (jnp.sin(h + row[0] * row[1]), 0), hs[0], (hs, rest))


test_outputs_that_stay = cases(WITHOUT, X, W, claims=[STAYS])(all_of_them, costly)


def test_rows_in_another_order():
    assert_agrees(hlo(other_rows, X, W), X, W, without=WITHOUT)


@pytest.mark.live_xla
def test_names_of_what_a_loop_carries_stay(tmp_path, live_xla):
    source = tmp_path / "model.py"
    source.write_text(
        "import jax.numpy as jnp\nfrom jax import lax, nn\n\n\ndef loss(xs, w):\n    def step(state, x):\n"
        "        hidden, cell = state\n        cell = nn.sigmoid(x @ w) * cell + hidden\n"
        "        hidden = jnp.tanh(cell)\n        return (hidden, cell), hidden\n\n"
        "    start = jnp.ones(xs.shape[1:])\n    return lax.scan(step, (start, start), xs)[1].sum()\n"
    )
    names = {}
    exec(compile(source.read_text(), source, "exec"), names)
    text = xla2py.emit(jax.jit(jax.grad(names["loss"], 1)).lower(X, W)).source
    assert "hidden, cell = " in text


def columns(x, w):
    def step(h, column):
        h = column[:, None] * h + (1 - column)[:, None] * w
        return jnp.tanh(h), h

    return (lax.scan(step, jnp.ones(w.shape, w.dtype), x.T)[1] ** 2).sum()


@pytest.mark.texts_of("0.10")
@pytest.mark.parametrize("width", [7, 1, 0])
def test_columns_of_what_a_loop_reads_are_not_stored(width):
    x, w = X[:, 0, :3].T[:, :width], W[:3]
    text = hlo(jax.grad(columns, (0, 1)), x, w)
    if width > 1:
        assert buffers(text) < buffers(text, disable_passes=[WITHOUT])
    assert_agrees(text, x, w, without=WITHOUT)


@pytest.mark.texts_of("0.10")
def test_what_a_function_gives_its_gradient_is_computed_from_rows():
    def speed(state, a, b):
        x, y, z = state
        return jnp.array([a * (y - x) - z * z, x * (b - z) - y * y, x * y - a * z])

    def loss(state, a, b):
        def step(state, dt):
            one = speed(state, a, b)
            two = speed(state + dt * one, a, b)
            three = speed(state + dt * two, a, b)
            return state + dt * (one + two + three + speed(state + dt * three, a, b)), None

        return (lax.scan(step, state, X[:, 0, 0] * 0.1)[0] ** 2).sum()

    given = np.float32([0.3, 0.7, 0.2]), np.float32(1.5), np.float32(0.5)
    text = jax.jit(jax.grad(loss, (0, 1, 2))).lower(*given).as_text("hlo", debug_info=True)
    assert "speed_out = speed(state, a, b)" in main(text)
    assert ", stacked = speed(state, a, b)" in main(text, disable_passes=[WITHOUT])
    assert buffers(text) < buffers(text, disable_passes=[WITHOUT])
    assert_agrees(text, *given, without=WITHOUT)
