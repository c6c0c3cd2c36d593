"""What derivatives are made of, by its rule; values as XLA's where numbers are equal, infinite or NaN."""

from __future__ import annotations

import numpy as np
import pytest

from xla2py.tests.passes.raising import assert_agrees, hlo, main
from xla2py.tests.recording.lazy_jax import jax, jnp

X = np.float32([1, -2, 3, 0, -0.0, 88, -88])
Y = np.float32([1, 2, -3, 0, 0, 2, 2])
WILD = np.float32([np.inf, -np.inf, np.nan, 1e30, -1e30, 0, 100])


def slope(function):
    """The gradient of the sum, of the first argument."""
    return jax.grad(lambda *arrays: jnp.sum(function(*arrays)))


RAISED = {
    "larger": (lambda x, y: jnp.maximum(x, y), (X, Y), "return tie_share(x, y, np.maximum(x, y))"),
    "smaller": (lambda x, y: jnp.minimum(x, y), (X, Y), "return tie_share(x, y, np.minimum(x, y))"),
    "above 0": (lambda x: jnp.maximum(x, 0), (X,), "return tie_share(x, 0, np.maximum(x, 0))"),
    "softplus": (jax.nn.softplus, (X,), "return 1 / (1 + np.exp(-x))"),
    "softplus, wild": (jax.nn.softplus, (WILD,), "return 1 / (1 + np.exp(-x))"),
}


@pytest.mark.texts_of("0.10")
@pytest.mark.parametrize(("function", "arrays", "expected"), RAISED.values(), ids=RAISED)
def test_rules(function, arrays, expected):
    gradient = slope(function)
    text = hlo((lambda x: gradient(x)) if len(arrays) == 1 else (lambda x, y: gradient(x, y)), *arrays)
    assert main(text) == expected
    assert_agrees(text, *arrays, without="derivatives")


def test_weights_of_a_logarithm_of_a_sum():
    text = hlo(lambda x: jax.grad(jax.nn.logsumexp)(x), X)
    assert main(text).endswith("return exp / exp.sum()")
    assert_agrees(text, X, without="derivatives")
    assert_agrees(text, np.full(7, -np.inf, np.float32), without="derivatives")


def test_near_misses_stay():
    """The slope of the logarithm of a sum of two exponentials is no sigmoid where both may be infinite."""
    gradient = slope(jnp.logaddexp)
    text = hlo(lambda x, y: gradient(x, y), WILD, WILD[::-1].copy())
    assert "np.logaddexp(x, y)" in main(text)
    assert_agrees(text, WILD, WILD[::-1].copy(), without="derivatives")
    text = hlo(lambda x, y: jnp.where(x == jnp.maximum(x, y), 1, 0) / jnp.where(y == jnp.maximum(x, y), 3, 1), X, Y)
    assert "tie_share" not in main(text)


def test_what_is_close_to_0():
    text = hlo(lambda x: jnp.isclose(x, 0), X)
    assert main(text) == "return np.abs(x) <= 1e-8"
    assert_agrees(text, WILD, without="masks")
