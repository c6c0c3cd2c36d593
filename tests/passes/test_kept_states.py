"""The carry before and behind each round of a loop is stored once."""

import numpy as np
import pytest

from xla2py.tests.passes.raising import cases, lacks
from xla2py.tests.recording.lazy_jax import jax, jnp, lax

X, W = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3), np.linspace(-0.5, 0.7, 9, dtype=np.float32).reshape(3, 3)


def states(x, w, **how):
    def step(h, row):
        h_next = jnp.tanh(w @ h + row)
        return h_next, (h, h_next)

    return lax.scan(step, jnp.full(3, 0.25), x, **how)[1]


def strided(before, behind):
    return behind[::2] - before[1::2]


stored_once = cases("kept_states", X, W, claims=["np.empty((5, 3)", "[i + 1] = ", lacks("(4, 3)")])
test_states_are_stored_once = stored_once(lambda x, w: strided(*states(x, w)))
test_states_of_a_gradient_are_stored_once = pytest.mark.texts_of("0.10")(
    stored_once(lambda x, w: jax.grad(lambda x, w: states(x, w)[1].sum(), 1)(x, w))
)

test_other_stores_stay = cases("kept_states", X, W, claims=[lacks("np.empty((5, 3)")])(
    lambda x, w: states(x, w),  # it gives them
    lambda x, w: states(x, w)[1].sum(),
    lambda x, w: strided(*states(x, w, reverse=True)),
)


test_rows_and_parts_are_read_from_the_array_with_all_states = cases(
    "kept_states", X, W, claims=["np.empty((5, 3)", lacks("[1:]["), lacks("[:-1][")]
)(
    lambda x, w: (lambda before, behind: behind[-1] - before[0])(*states(x, w)),
    lambda x, w: (lambda before, behind: behind[1:3, 0] - before[-2:, 2])(*states(x, w)),
)
