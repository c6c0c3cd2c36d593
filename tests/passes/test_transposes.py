"""Transposes that cancel out are not written."""

import numpy as np

from xla2py.tests.passes.raising import EXACT, STAYS, cases, lacks
from xla2py.tests.recording.lazy_jax import jnp

X = np.float32([[0, -0.0, np.inf], [2, np.nan, -3], [-np.inf, 5, 1e-30]])
WIDE = np.arange(6, dtype=np.float32).reshape(2, 3)
CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

test_they_cancel_out = cases("transposes", X, budget=EXACT)(
    (lambda x: (-(x.T)).T, "return -x"),
    (lambda x: (x.T * 2 + 1).T, "return x * 2 + 1"),
    (lambda x: (x.T + jnp.abs(x).T).T, "return x + np.abs(x)"),
    (lambda x: (x + x.T).T, "return x + x.T"),
    (lambda x: (x.T + x).T * 2, "return (x.T + x) * 2"),
    (lambda x: ((x + x.T) / 2).T, "return (x + x.T) / 2"),
    (lambda x: (-(x + x.T) + jnp.eye(3)).T, lacks(").T")),
    (lambda x: x.T.max(0), "return x.max(axis=-1)"),
    (lambda x: x.T.sum(1), WIDE, "return x.sum(axis=0)"),
    (lambda x: x.T.sum((0, 1)), WIDE, "return x.sum()"),
    (lambda x: x.transpose(2, 0, 1).sum(0), CUBE, "return x.sum(axis=-1)"),
    (lambda x: jnp.zeros((3, 3)).at[jnp.arange(3), jnp.arange(3)].add(x[0]).T, lacks(".T")),
    (lambda x: jnp.diagonal(x.T), "return x.diagonal()"),
)
test_others_stay = cases("transposes", X, claims=[STAYS], budget=EXACT)(
    lambda x: (x - x.T).T,
    lambda x: (x + x).T,
    lambda x: (x.T + x[0]).T,
    (lambda x: (x.transpose(1, 2, 0) + 1).transpose(1, 2, 0), CUBE),
    (lambda x: x.transpose(2, 1, 0).sum(0), CUBE),  # what is left is turned
    (lambda x: (x.T.sum(0), x.T @ x), WIDE),
    (lambda x: jnp.diagonal(x.T, 1)),
    (lambda x: jnp.zeros((3, 3)).at[jnp.arange(3), jnp.array([0, 2, 1])].add(x[0]).T),
)
