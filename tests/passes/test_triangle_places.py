"""Positions of all elements of a triangle, and what is stored at constant positions in gradients."""

import numpy as np

from xla2py.tests.passes.raising import EXACT, cases, lacks
from xla2py.tests.recording.lazy_jax import jax, jnp

SQUARE = np.arange(16, dtype=np.float32).reshape(4, 4) - 5
SQUARE[0, 3], SQUARE[3, 0], SQUARE[2, 2], SQUARE[1, 1] = np.nan, np.inf, -np.inf, -0.0
WIDE = np.arange(24, dtype=np.float32).reshape(4, 6)
TEN = np.array([1, -2, np.nan, np.inf, -0.0, 0, 7, 8, -np.inf, 3], np.float32)
POINTS = np.arange(18, dtype=np.float32).reshape(6, 3)[:4]

test_triangles = cases(
    "triangle_places", SQUARE, budget=EXACT
)(
    (lambda x: x[jnp.triu_indices(4, 1)], "rows, columns = np.triu_indices(4, 1)"),
    (lambda x: x[jnp.triu_indices(4)], "np.triu_indices(4)\nreturn x[rows, columns]"),
    (lambda x: x[jnp.triu_indices(4, -1)], "np.triu_indices(4, -1)"),
    (lambda x: x[jnp.tril_indices(4, -1)], "np.tril_indices(4, -1)"),
    (lambda x: x[np.tril_indices(3, -1)], SQUARE[:3, :3], "np.tril_indices(3, -1)"),  # a table of the program's
    (lambda x: x[jnp.tril_indices(4, 2, 6)], WIDE, "np.tril_indices(4, 2, 6)"),
    (lambda x: x[jnp.triu_indices(4, 1, 6)], WIDE, "np.triu_indices(4, 1, 6)"),
    (lambda x: jnp.zeros((4, 4)).at[jnp.tril_indices(4)].set(x), TEN, "np.tril_indices(4)"),
    (lambda x: jnp.zeros((4, 4)).at[jnp.tril_indices(4)].add(x), TEN, "[rows, columns]"),
    (lambda x: jnp.zeros((2, 3, 3)).at[:, *jnp.tril_indices(3)].set(x[:6]), TEN, "[rows, columns]"),
    (lambda x: x[jnp.triu_indices(4, 1)[0]] - x[jnp.triu_indices(4, 1)[1]], POINTS, "x[rows] - x[columns]"),
    (lambda x: x[np.array([0, 0, 1]), np.array([1, 2, 3])], "return x[[0, 0, 1], [1, 2, 3]]"),
)

test_other_positions_stay = cases(
    "triangle_places", SQUARE, claims=[lacks("tri")], budget=EXACT
)(
    lambda x: x[jnp.tril_indices(3)],  # of a part
    lambda x: x[jnp.tril_indices(4, -1)[::-1]],  # columns first
    lambda x: x[jnp.array([0, 1, 1, 2]), jnp.array([0, 0, 1, 0])],
    lambda x: x[jnp.array([0, 0, -4]), jnp.array([0, 1, 2])],
    lambda x: x[jnp.arange(4), jnp.arange(4)],
    lambda x: x[jnp.array([0, 0]), jnp.array([2, 3])],
    lambda x: x[np.array([0, 1, 3])] + x[np.array([1, 2, 3])],
    lambda x: x[np.array([2])[::-1], np.array([0])[::-1]],
    lambda x: x[jnp.array([[2, 0]])[0, 0], jnp.array([[2, 0]])[:, 1]],
    (lambda x: x[:, jnp.triu_indices(4, 1)[0][:5], jnp.triu_indices(4, 1)[1][:5]], SQUARE[None]),
)

I = jnp.arange(4)  # noqa: E741
T = np.array([0, 2])
NEW = np.array([np.nan, -0.0, 5, -3], np.float32)


def _gradients(update):
    """Of the squares of an updated array."""
    return lambda x, y: jax.grad(lambda x, y: jnp.nan_to_num(update(x, y) ** 2).sum(), argnums=(0, 1))(x, y)


test_gradients_of_assignments = cases("constant_places", SQUARE, NEW)(
    (_gradients(lambda x, y: x.at[I, I].set(y)), "= np.arange(4", lacks("np.diag(", "np.where(mask")),
    (_gradients(lambda x, y: x.at[T].set(y)), "= 0"),
    (_gradients(lambda x, y: x.at[I, I].add(y)), "] += y"),
    (_gradients(lambda x, y: x.at[jnp.array([0, 2, 2])].set(y)), "] = 0"),
    (_gradients(lambda x, y: x.at[:, T].set(y[:2])),),
    (
        jax.grad(lambda x: (jnp.zeros((4, 4)).at[jnp.tril_indices(4)].set(x) ** 2).sum()),
        TEN,
        lacks("np.where", "np.add.at"),
    ),
)

test_numbers_that_are_no_places = cases("constant_places", SQUARE, NEW, says=lacks, budget=EXACT)(
    # some values are 0, and others may be
    (lambda x, y: jnp.where(jnp.zeros((4, 4), int).at[I, I].set(jnp.array([1, 0, 2, 3])) == 0, x, 0), "] = 0"),
    (lambda x, y: jnp.where(jnp.ones((4, 4), int).at[I, I].set(2) == 0, x, 0), "] = 0"),
    (lambda x, y: jnp.where(jnp.zeros((4, 4), int).at[I, I].set(jnp.array([1, 4, 2, 3])) == 0, x, -0.0), "] = 0"),
    (lambda x, y: jnp.where(jnp.zeros((4, 4), int).at[I, I].set(jnp.array([1, 4, 2, 3])) == 1, x, 0), "] = 0"),
)
