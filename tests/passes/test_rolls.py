"""Arrays of which two parts were exchanged."""

import numpy as np

import xla2py
from xla2py.tests.passes.raising import EXACT, cases, lacks
from xla2py.tests.recording.lazy_jax import jax, jnp

X = np.arange(30, dtype=np.float32).reshape(5, 6)

test_rolls = cases("rolls", X, budget=EXACT)(
    (lambda x: jnp.roll(x, 1, axis=0), "return np.roll(x, 1, axis=0)"),
    (lambda x: jnp.roll(x, -2, axis=1), "return np.roll(x, -2, axis=1)"),
    (lambda x: jnp.roll(x, 8, axis=1), "return np.roll(x, 2, axis=1)"),
    (lambda x: jnp.roll(x.reshape(-1), 1), "return np.roll(x.reshape(30), 1)"),
    (lambda x: jnp.roll(x, (1, -1), axis=(0, 1)), "return np.roll(x, (1, -1), axis=(0, 1))"),
    (lambda x: jnp.roll(jnp.roll(x, -2, axis=1), 1, axis=0), "return np.roll(x, (1, -2), axis=(0, 1))"),
    (lambda x: jnp.roll(jnp.roll(x, 2, axis=1), 1, axis=1), "return np.roll(np.roll(x, 2, axis=1), 1, axis=1)"),
    (lambda x: jnp.roll(x, 2, axis=0), np.zeros((5, 0), np.float32)),
)

test_gradients = cases("rolls", X[0])(
    (lambda x: jax.grad(lambda u: jnp.sum(jnp.roll(u, 2) * x))(x), "return np.roll(x, -2)"),
    (lambda x: jax.grad(lambda u: jnp.sum(u * jnp.roll(u, 2)))(x), "return np.roll(x, 2) + np.roll(x, -2)"),
)

test_rolls_of_views = cases("rolls", X, budget=EXACT)(
    (lambda x: jnp.concatenate([x[2:].T, x[:2].T], axis=1), "return np.roll(x.T, 3, axis=1)"),
    (lambda x: jnp.concatenate([x[1, None, 3:], x[1, None, :3]], axis=1), "return np.roll(x[1:2], 3, axis=1)"),
    (lambda x: jnp.concatenate([x[::-1, 4:], x[::-1, :4]], axis=1), "return np.roll(x[::-1], 2, axis=1)"),
    (lambda x: jnp.concatenate([x[2:].T, x[:2].T], axis=1)[:, ::-1], "np.roll("),
)
test_other_views_stay = cases("rolls", X, claims=[lacks("roll")], budget=EXACT)(
    lambda x: jnp.concatenate([x[::-1, 4:], x[:, :4]], axis=1),
    lambda x: jnp.concatenate([x[1:3, 3:], x[2:4, :3]], axis=1),
    lambda x: jnp.concatenate([x[1, 3:], x[1, 1:3]]),
    lambda x: jnp.concatenate([x[2:4].T, x[:2].T], axis=0),  # along another axis
)

test_other_joins_stay = cases("rolls", X, claims=[lacks("roll")], budget=EXACT)(
    lambda x: jnp.concatenate([x[:2], x[2:]]),
    lambda x: jnp.concatenate([x[3:], x[:2]]),
    lambda x: jnp.concatenate([x[2:], x[:3]]),
    lambda x: jnp.concatenate([x[2:], -x[:2]]),
    lambda x: jnp.concatenate([x[::-1], x[:2]]),
)

test_parts_that_turn = cases("rolls", X, budget=EXACT)(
    (lambda x: jnp.roll(x, -1, axis=1)[:, ::2], "return x[:, 1::2]"),
    (lambda x: jnp.roll(x, -3, axis=1)[:, ::2], "return np.roll(x[:, 1::2], -1, axis=1)"),
    (lambda x: jnp.roll(x, 3, axis=1)[1, 1::3], "return np.roll(x[1, 1::3], -1)"),
    (lambda x: jnp.roll(x, 1, axis=1)[::2, ::3], "return np.roll(x[::2, 2::3], -1, axis=1)"),
    (lambda x: jnp.roll(x, -1, axis=0)[::2], "return np.roll(x, -1, axis=0)[::2]"),
    (lambda x: jnp.roll(x, -1, axis=1)[:, :4:2], "return np.roll(x, -1, axis=1)[:, :4:2]"),
    (lambda x: jnp.roll(x, -1, axis=1)[:, ::-1], "return np.roll(x, -1, axis=1)[:, ::-1]"),
)


def test_parts_of_any_size_are_rolled_whole():
    module = xla2py.from_jax(lambda x: jnp.roll(x, -3)[::2], xla2py.array("n", "float32"))
    assert "return np.roll(x, -3)[::2]" in xla2py.emit(module).source
