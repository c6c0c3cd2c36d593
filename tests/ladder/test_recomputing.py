"""The style ``fast`` of CuPy: cheap values that several kernels compute, each for itself."""

import numpy as np
import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")


import xla2py
from xla2py.tests.ladder.fast_programs import kernels
from xla2py.tests.ladder.running import checked, needs_compiler
from xla2py.tests.recording.lazy_jax import jax, jnp

pytestmark = needs_compiler
GENERATOR = np.random.default_rng(5)


def squares_in_turn(p, row, x, y):
    """The squares are needed by three kernels, by the last two in another order and by way of each other."""
    squares = (row - x) ** 2
    chosen = jnp.where(squares.sum() == 0, p, squares.T)
    return jnp.where(y == chosen.T, x, squares) * chosen.max()


def squares_both_ways(p, row, x, y):
    """A kernel needs the squares where it is, and with rows for columns."""
    squares = (row - x) ** 2
    chosen = jnp.where(squares.sum() == 0, p, squares.T)
    return jnp.where(y == chosen, x, squares) * chosen.max()


@pytest.mark.parametrize(
    ("function", "shape"),
    [(squares_in_turn, (1, 16)), (squares_in_turn, (8, 8)), (squares_both_ways, (8, 8)), (squares_both_ways, (6, 6))],
)
def test_kernels_that_compute_the_same_agree_with_xla(function, shape):
    sizes = (shape[::-1], (1,), shape, shape)
    arguments = [GENERATOR.normal(size=size).astype(np.float32) for size in sizes]
    emitted = xla2py.emit(xla2py.from_jax(function, *arguments), "cupy", style="fast")
    assert len(kernels(emitted)) > 1
    np.testing.assert_allclose(checked(emitted, arguments), jax.jit(function)(*arguments), 2e-6, 2e-6)
