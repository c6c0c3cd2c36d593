"""What derivatives are made of, by its rule; values as XLA's where numbers are equal, infinite or NaN."""

from __future__ import annotations

import numpy as np
import pytest

from xla2py.tests.passes.raising import cases, lacks
from xla2py.tests.recording.lazy_jax import jax, jnp

X = np.float32([1, -2, 3, 0, -0.0, 88, -88])
Y = np.float32([1, 2, -3, 0, 0, 2, 2])
WILD = np.float32([np.inf, -np.inf, np.nan, 1e30, -1e30, 0, 100])


def slope(function):
    """The gradient of the sum, of the first argument."""
    return jax.grad(lambda *arrays: jnp.sum(function(*arrays)))


LARGER = "return greater_or_half({0}, {1})"

test_rules = pytest.mark.texts_of("0.10")(
    cases("derivatives", X)(
        (lambda x, y: slope(jnp.maximum)(x, y), (X, Y), LARGER.format("x", "y")),
        (lambda x, y: slope(jnp.minimum)(x, y), (X, Y), LARGER.format("y", "x")),
        (lambda x: slope(lambda x: jnp.maximum(x, 0))(x), LARGER.format("x", 0)),
        (lambda x, y: slope(jnp.maximum)(x, y), (WILD, WILD[::-1].copy()), LARGER.format("x", "y")),
        (lambda x, y: slope(jnp.minimum)(x, y), (X, np.full(7, np.nan, np.float32)), LARGER.format("y", "x")),
        (lambda x, y: jax.grad(jnp.maximum)(x[0], y[0]), (X, Y), LARGER.format("x[0]", "y[0]")),
        (lambda x: slope(jax.nn.softplus)(x), "return 1 / (1 + np.exp(-x))"),
        (lambda x: slope(jax.nn.softplus)(x), WILD, "return 1 / (1 + np.exp(-x))"),
        (lambda x: slope(jax.nn.selu)(x), lacks("+ 0")),
    )
)

test_weights_of_a_logarithm_of_a_sum = cases("derivatives", X, inputs=[(X,), (np.full(7, -np.inf, np.float32),)])(
    (lambda x: jax.grad(jax.nn.logsumexp)(x), "\nreturn exp / exp.sum()")
)

test_slopes_of_logaddexp = cases("derivatives", X, Y)(
    (lambda x, y: slope(jnp.logaddexp)(x, y), "return logaddexp_slope(x, np.logaddexp(x, y))"),
    (lambda x, y: slope(jnp.logaddexp)(x, y), (WILD, WILD[::-1].copy()), "logaddexp_slope(x, "),
    (lambda x, y: slope(jnp.logaddexp)(x, y), (WILD, np.full(7, np.inf, np.float32)), "logaddexp_slope(x, "),
    (lambda x, y: jax.grad(jnp.logaddexp)(x[0], y[1]), "logaddexp_slope(x[0], "),
    (lambda x, y: jax.grad(lambda y: jnp.logaddexp(x, y).sum())(y[0]), "logaddexp_slope(y[0], "),
)

CLIPPED = (
    lambda x: slope(lambda x: jnp.clip(x, -0.5, 2) ** 2)(x),
    lambda x: slope(lambda x: jnp.minimum(6, jnp.maximum(x, 0)) ** 2)(x),
)

test_slopes_of_clips = pytest.mark.texts_of("0.10")(
    cases("derivatives", X, inputs=[(X,), (WILD,), (np.float32([2, -0.5, 6, 0, -0.0, 1, 7]),)])(
        (CLIPPED[0], "np.clip(x, -0.5, 2)", "greater_or_half(2, x)", "greater_or_half(x, -0.5)"),
        (CLIPPED[1], "np.clip(x, 0, 6)", "greater_or_half(6, x)", "greater_or_half(x, 0)"),
        (lambda x: slope(lambda x: jnp.minimum(jnp.maximum(x, 3), 2))(x), "greater_or_half(2, np.maximum(x, 3))"),
        (lambda x: slope(lambda x: jnp.minimum(jnp.maximum(x, x[0]), 2))(x), "np.maximum(x, x[0])"),
    )
)

HALF = np.float32(0.5)

test_twice_a_multiple_is_one = cases("derivatives", X, Y, inputs=[(WILD, X)])(
    (lambda x, y: x * HALF + x * HALF, "return x"),
    (lambda x, y: jnp.exp(x * 3 + x * 3), "return np.exp(x * 6)"),
    (lambda x, y: x * 3 + y * 3, "return x * 3 + y * 3"),
    (lambda x, y: (x * 3 + x * 3, x * 3), "\nreturn product + product, product"),
    (lambda x, y: (x[None] @ y[:, None]) + (x[None] @ y[:, None]), lacks("+")),
)

test_near_misses_stay = cases("derivatives", X, Y)(
    (lambda x, y: x * np.float32(2e38) + x * np.float32(2e38), lacks("inf")),
    (lambda x, y: jnp.exp(jnp.where(x == jnp.inf, 1, x) - jnp.logaddexp(x, y)), lacks("slope")),
    (
        lambda x, y: jnp.where(x == jnp.maximum(x, y), 1, 0) / jnp.where(y == jnp.maximum(x, y), 3, 1),
        lacks("greater_or_half"),
    ),
)

test_what_is_close_to_0 = cases("masks", X, inputs=[(WILD,)])(
    (lambda x: jnp.isclose(x, 0), "return np.abs(x) <= 1e-8"),
)
