"""Dimensions of size 1, as a batch of one has: they stay where they are, and what goes along them is recognised."""

from itertools import product

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import cases, entry
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.tests.whole import much

RNG = np.random.default_rng(7)


def layer_norm(x):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)


def numbers(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


test_named_along_them = cases("softmaxes")(
    (layer_norm, numbers(1, 5, 16), "x.var(axis=-1, keepdims=True)"),
    (layer_norm, numbers(1, 1, 16), "x.var(axis=-1, keepdims=True)"),
    (lambda x: jax.nn.softmax(x - 1, axis=1), numbers(1, 5, 1), "softmax(x - 1, axis=1)"),
    (lambda x: x.sum((0, 2), keepdims=True) + x, numbers(1, 4, 6), "x.sum(axis=(0, 2))[:, None] + x"),
)


SHAPES = [(1, 4, 6), (4, 1, 6), (4, 6, 1), (1, 1, 24), (1, 4, 1, 6), (1, 1, 4, 6, 1)]
WANTED = [(4, 6), (1, 4, 6), (4, 1, 6), (1, 1, 4, 1, 1, 6, 1), (24,), (1, 24), (24, 1)]


@pytest.mark.parametrize(("shape", "wanted"), [*product(SHAPES, WANTED)][much(1, 0) :: much(4, 1)])
def test_reshaped(shape, wanted):
    dims, new = (",".join(map(str, sizes)) for sizes in (shape, wanted))
    text = entry(f"x = f32[{dims}] parameter(0)", f"n = f32[{new}] reshape(x)", f"r = f32[{new}] cosine(n)")
    x = numbers(*shape)
    np.testing.assert_array_equal(xla2py.emit(text, format=False).load().main(x), np.cos(x).reshape(wanted))


def test_an_axis_that_only_a_call_needed_is_not_summed_over():
    def program(a, m, y):
        def loss(a, m):
            solution = jax.scipy.linalg.solve_triangular(a, m @ y, lower=True)
            return solution @ solution

        return jax.grad(loss, (0, 1))(a, m)

    given = np.tri(4, dtype=np.float32) + numbers(4, 4) / 8, numbers(4, 3), numbers(3)
    text = jax.jit(program, keep_unused=True).lower(*given).as_text("hlo")
    assert "keepdims" not in xla2py.emit(text).source
    for mine, wanted in zip(xla2py.emit(text).load().main(*given), jax.jit(program)(*given), strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-4, atol=1e-5)
