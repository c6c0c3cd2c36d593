"""Masks of rows and columns."""

import numpy as np
import pytest

from xla2py.tests.passes.raising import EXACT, assert_agrees, hlo, main

jnp = pytest.importorskip("jax.numpy")
SQUARE = np.arange(36, dtype=np.float32).reshape(6, 6) - 9
SQUARE[0, 3], SQUARE[3, 0], SQUARE[2, 2] = np.nan, np.inf, -np.inf
WIDE = np.stack([SQUARE[:4], -SQUARE[:4]])


@pytest.mark.parametrize(
    ("function", "expected"),
    [
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
    ],
)
def test_masks(function, expected):
    text = hlo(function, SQUARE)
    assert expected in main(text)
    assert_agrees(text, SQUARE, without="triangles", budget=EXACT)


@pytest.mark.parametrize("k", [-7, -3, 0, 2, 9])
def test_any_diagonal_of_any_shape(k):
    for function in (jnp.tril, jnp.triu):
        assert_agrees(hlo(lambda x, f=function: f(x, k), WIDE), WIDE, without="triangles", budget=EXACT)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jnp.arange(6) >= jnp.arange(6)[::-1],
        lambda x: jnp.arange(6)[:, None] * 2 >= jnp.arange(6),
        lambda x: jnp.arange(6)[:, None].astype(np.float32) >= x[0],
        lambda x: jnp.where(jnp.arange(6)[:, None] > 2, x, 0),
    ],
)
def test_other_masks_stay(function):
    text = hlo(function, SQUARE)
    assert main(text) == main(text, disable_passes=["triangles"])
    assert_agrees(text, SQUARE, without="triangles", budget=EXACT)


def test_bytes_do_not_wrap():
    """Row numbers that leave their type are no diagonal."""
    text = hlo(lambda: jnp.arange(120, dtype=np.int8)[:, None] + np.int8(100) >= jnp.arange(120, dtype=np.int8))
    assert "tri" not in main(text)
    assert_agrees(text, without="triangles", budget=EXACT)
