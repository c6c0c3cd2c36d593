"""The parts of an array that are put together again are the array; others stay joined."""

import numpy as np

from xla2py.tests.passes.raising import STAYS, cases, lacks
from xla2py.tests.recording.lazy_jax import jax, jnp

X = np.float32([[1, -2, 3, np.nan], [0.5, -0.0, np.inf, 7]])

test_all_parts_are_the_whole = cases("joins", X, claims=["return x"])(
    lambda x: jnp.concatenate([x[:, :1], x[:, 1:3], x[:, 3:]], axis=1),
    lambda x: jnp.concatenate([x[0][None], x[1:]]),
    lambda x: jnp.stack([x[:, 0], x[:, 1], x[:, 2], x[:, 3]], axis=1),
    lambda x: jnp.concatenate([x[:, 0, None], x[:, 1:2], x[:, 2:]], axis=1),
)

test_parts_that_gradients_pad_and_add = cases("sums_of_pads", X[0])(
    (lambda x: jax.grad(lambda x: x[0] * 3 + x[1:].sum() * 3)(x), lacks("concatenate")),
    (lambda x: jnp.pad(x[:1], (0, 3)) + jnp.pad(x[1:], (1, 0)), "return x"),
    (lambda x: jnp.pad(x[:1], (0, 3)) + jnp.pad(x[:3], (1, 0)), "np.concatenate("),
)

test_other_parts_stay_joined = cases(
    "joins", X, claims=[STAYS]
)(
    lambda x: jnp.concatenate([x[:, :1], x[:, 2:]], axis=1),  # a gap
    lambda x: jnp.concatenate([x[:, :1], x[:, 1:3]], axis=1),  # not all
    lambda x: jnp.concatenate([x[:, 2:], x[:, 1:2], x[:, :1]], axis=1),  # another order
    lambda x: jnp.concatenate([x[:, :2], x[:, 1:]], axis=1),  # what overlaps
    lambda x: jnp.concatenate([x[:, :1], (x * 2)[:, 1:]], axis=1),  # of two arrays
    lambda x: jnp.stack([x[:, 0], x[:, 1], x[:, 2], x[:, 3]]),  # turned
    lambda x: jnp.concatenate([x[:, 0], x[:, 1], x[:, 2], x[:, 3]]),
    lambda x: jnp.concatenate([x[:1, :1], x[:1, 1:]], axis=1),  # of one row
    lambda x: jnp.concatenate([x[:, :2], x[:, 2:]]),  # along the other axis,
)

test_a_key_that_is_split_in_one = cases("joins", np.uint32([0, 7]))(
    (lambda key: jax.random.split(key, 1)[0], "return split_key(key, 1)[0]"),
)
