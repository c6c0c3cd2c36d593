"""Masks of rows and columns."""

import numpy as np
import pytest

from xla2py.tests.passes.raising import EXACT, STAYS, assert_agrees, cases, hlo, lacks, optimised
from xla2py.tests.recording.lazy_jax import jnp

SQUARE = np.arange(36, dtype=np.float32).reshape(6, 6) - 9
SQUARE[0, 3], SQUARE[3, 0], SQUARE[2, 2] = np.nan, np.inf, -np.inf
WIDE = np.stack([SQUARE[:4], -SQUARE[:4]])

test_masks = cases("triangles", SQUARE, budget=EXACT)(
    (lambda x: jnp.tril(x), "return np.tril(x)"),
    (lambda x: jnp.tril(x, 1), "return np.tril(x, 1)"),
    (lambda x: jnp.triu(x), "return np.triu(x)"),
    (lambda x: jnp.triu(x, -2), "return np.triu(x, -2)"),
    (lambda x: jnp.diagonal(x), "return x.diagonal()"),
    (lambda x: jnp.eye(6), "np.eye(6, dtype=np.float32)"),
    (lambda x: jnp.eye(4, 6, 1, dtype=np.int32), "np.eye(4, 6, k=1, dtype=np.int32)"),
    (lambda x: jnp.tri(5), "np.tri(5, dtype=np.float32)"),
    (lambda x: jnp.arange(4)[:, None] > jnp.arange(6), "np.tri(4, 6, k=-1, dtype=bool)"),
    (lambda x: jnp.arange(4) < jnp.arange(6)[:, None], "np.tri(6, 4, k=-1, dtype=bool)"),
    (lambda x: jnp.arange(4)[:, None] < jnp.arange(6), "~np.tri(4, 6, dtype=bool)"),
    (lambda x: jnp.arange(4)[:, None] != jnp.arange(4), "~np.eye(4, dtype=bool)"),
    (lambda x: jnp.where(jnp.arange(6)[:, None] >= jnp.arange(6), x, -np.inf), "np.where(np.tri(6, dtype=bool), x"),
)


@pytest.mark.parametrize("k", [-7, -3, 0, 2, 9])
def test_any_diagonal_of_any_shape(k):
    for function in (jnp.tril, jnp.triu):
        assert_agrees(hlo(lambda x, f=function: f(x, k), WIDE), WIDE, without="triangles", budget=EXACT)


test_other_masks_stay = cases("triangles", SQUARE, claims=[STAYS], budget=EXACT)(
    lambda x: jnp.arange(6) >= jnp.arange(6)[::-1],
    lambda x: jnp.arange(6)[:, None] * 2 >= jnp.arange(6),
    lambda x: jnp.arange(6)[:, None].astype(np.float32) >= x[0],
    lambda x: jnp.where(jnp.arange(6)[:, None] > 2, x, 0),
    # row numbers that leave their type are no diagonal
    (lambda: jnp.arange(120, dtype=np.int8)[:, None] + np.int8(100) >= jnp.arange(120, dtype=np.int8), ()),
)


LINE = np.array([1, -2, np.nan, np.inf], np.float32)
WHOLE = np.arange(36, dtype=np.int32).reshape(6, 6) + 2**29
MANY = np.stack([SQUARE, -SQUARE])

test_diagonals = cases("triangles", forms=(hlo, optimised))(
    (lambda x: jnp.diagonal(x, 2), SQUARE, "return x.diagonal(2)"),
    (lambda x: jnp.diagonal(x, -1), SQUARE[:4], "return x.diagonal(-1)"),
    (lambda x: jnp.diagonal(x, 3), SQUARE[:, :5], "return x.diagonal(3)"),
    (lambda x: jnp.diagonal(x, axis1=1, axis2=2), MANY, "return x.diagonal(axis1=1, axis2=2)"),
    (lambda x: jnp.diagonal(x, 1, axis1=-2, axis2=-1), MANY, "return x.diagonal(1, axis1=1, axis2=2)"),
    (lambda x: jnp.diag(x), LINE, "return np.diag(x)"),
    (lambda x: jnp.diag(x, 2), LINE, "return np.diag(x, 2)"),
    (lambda x: jnp.diag(x, -1), LINE, "return np.diag(x, -1)"),
    (lambda x: jnp.eye(4) * x[:, None], LINE[:2].repeat(2)),
    (lambda x: jnp.trace(x), WHOLE, "return np.trace(x, dtype=np.int32)"),
    (lambda x: jnp.trace(x), SQUARE[:4], "return np.trace(x)"),
    (lambda x: jnp.trace(x, 2), SQUARE, "return np.trace(x, 2)"),
    (lambda x: jnp.trace(x, axis1=1, axis2=2), MANY, "return np.trace(x, axis1=1, axis2=2)"),
    (lambda x: x + 0.5 * jnp.eye(6), SQUARE, "x + np.eye(6, dtype=np.float32) * 0.5"),
    (lambda x: jnp.where(x > 0, 1.0, 0.0), SQUARE, "return (x > 0).astype(np.float32)"),
    (lambda x: jnp.where(x > 0, 1.0, 0.0) != 0, SQUARE, "return x > 0"),
)

test_what_is_no_diagonal = cases("triangles", says=lacks)(
    (lambda x: x[jnp.arange(6), jnp.arange(6)[::-1]], SQUARE, "diagonal"),
    (lambda x: x[jnp.arange(4), jnp.arange(4)], SQUARE, "diagonal"),  # not the whole of it
    (lambda x: x[jnp.arange(4) + 1, jnp.arange(4) + 1], SQUARE, "diagonal"),
    (lambda x: x[jnp.arange(2), jnp.arange(2)], MANY, "diagonal"),  # of other axes
    (lambda x: jnp.where(jnp.eye(4, dtype=bool), x[:, None], 1), LINE, "np.diag("),
    (lambda x: jnp.where(jnp.eye(4, dtype=bool), x[:, None], -0.0), LINE, "np.diag("),
    (lambda x: jnp.where(jnp.eye(4, k=1, dtype=bool), x[:, None], 0), LINE, "np.diag("),
    (lambda x: jnp.where(jnp.eye(6, dtype=bool), x, 0).sum(0), SQUARE, "np.trace"),
    (lambda x: jnp.where(jnp.eye(6, dtype=bool), x, 0).max(), SQUARE, "np.trace"),
    (lambda x: jnp.where(jnp.eye(6, dtype=bool), x, 1).sum(), SQUARE, "np.trace"),
    (lambda x: x + jnp.where(jnp.eye(6, dtype=bool), -0.5, 0.0), SQUARE, "* -0.5"),  # -0 beside the diagonal
    (lambda x: jnp.where(x > 0, 1.0, -0.0), SQUARE, "astype"),
    (lambda x: jnp.where(x > 0, 2.0, 0.0), SQUARE, "astype"),
    (lambda x: jnp.where(x > 0, 2.0, 0.0) != 1, SQUARE, "return x > 0"),
)
