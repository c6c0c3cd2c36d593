"""Dimensions of size 1, as a batch of one has: they stay where they are, and what goes along them is recognised."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import assert_agrees, entry, hlo, main
from xla2py.tests.recording.lazy_jax import jax, jnp

RNG = np.random.default_rng(7)


def layer_norm(x):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)


@pytest.mark.parametrize(
    ("function", "shape", "written"),
    [
        (layer_norm, (1, 5, 16), "x.var(axis=-1, keepdims=True)"),
        (layer_norm, (1, 1, 16), "x.var(axis=-1, keepdims=True)"),
        (lambda x: jax.nn.softmax(x - 1, axis=1), (1, 5, 1), "softmax(x - 1, axis=1)"),
        (lambda x: x.sum((0, 2), keepdims=True) + x, (1, 4, 6), "x.sum(axis=(0, 2))[:, None] + x"),
        (lambda x: jnp.sin(x).sum((0, 2)), (1, 4, 1), "np.sin(x).sum(axis=(0, 2))"),
        (lambda x: x.max(0) * 2.0, (1, 4), "x.max(axis=0) * 2"),
    ],
)
def test_named_along_them(function, shape, written):
    x = RNG.standard_normal(shape).astype(np.float32)
    text = hlo(function, x)
    assert written in main(text)
    assert_agrees(text, x, without="softmaxes")


@pytest.mark.parametrize("shape", [(1, 4, 6), (4, 1, 6), (4, 6, 1), (1, 1, 24), (1, 4, 1, 6), (1, 1, 4, 6, 1)])
@pytest.mark.parametrize("wanted", [(4, 6), (1, 4, 6), (4, 1, 6), (1, 1, 4, 1, 1, 6, 1), (24,), (1, 24), (24, 1)])
def test_reshaped(shape, wanted):
    x = RNG.standard_normal(shape).astype(np.float32)
    dims, new = (",".join(map(str, sizes)) for sizes in (shape, wanted))
    text = entry(f"x = f32[{dims}] parameter(0)", f"n = f32[{new}] reshape(x)", f"r = f32[{new}] cosine(n)")
    np.testing.assert_array_equal(xla2py.emit(text, format=False).load().main(x), np.cos(x).reshape(wanted))
