"""A loop that adds rows to a carry, of which only the first is not 0, begins with that row."""

import numpy as np

from xla2py.tests.passes.raising import cases, lacks
from xla2py.tests.recording.lazy_jax import jax, jnp, lax

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
SPECIAL = np.float32([[1, np.nan, 0], [-0.0, 2, np.inf], [3, 0, -np.inf], [-1, 0.5, 2]])


def states(x):
    def step(h, row):
        h = jnp.tanh(h * 0.5 + row)
        return h, h

    return lax.scan(step, jnp.zeros(3), x)[1]


def with_rows_of_a_carry(x):
    def step(i, carried):
        h, row = carried
        return jnp.tanh(h + jnp.pad(row[None], ((0, 3), (0, 0)))[i]), row * 1.5

    return lax.fori_loop(0, 4, step, (x[0], x[1]))[0]


def gradient(loss):
    return jax.grad(lambda x: loss(states(x)))


begun = cases("first_rows", X, inputs=[(X,), (SPECIAL,)])
test_loops_begin_with_the_gradient_of_the_last_state = begun(
    (gradient(lambda hs: (hs[-1] ** 2).sum()), lacks("np.pad(")),
    (gradient(lambda hs: hs[-1] @ hs[-1] * 3), lacks("np.pad(")),
    (jax.grad(lambda x: (jax.vmap(states)(jnp.stack([x, x * 2]))[:, -1] ** 2).sum()), lacks("np.pad(")),
)
test_rows_stay_elsewhere = begun(
    (gradient(lambda hs: (hs[-2] ** 2).sum()), "np.pad("),  # that is not the first
    (gradient(lambda hs: (hs[-2:] ** 2).sum()), "np.pad("),  # more than one
    (gradient(lambda hs: 1 / (hs[-1] ** 2).sum() + (1 / hs).sum()), "np.pad("),  # nor are the others 0
    (with_rows_of_a_carry, "np.pad("),  # which is another row in each iteration
)
