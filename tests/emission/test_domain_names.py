"""Words that a field has for values, by what they are computed from."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.emission.as_xla import text_of
from xla2py.tests.recording.lazy_jax import jax, jnp

A = np.linspace(0.5, 2, 12, dtype=np.float32).reshape(3, 4)
X, Y = np.linspace(1, 2, 4, dtype=np.float32), np.linspace(2, 1, 3, dtype=np.float32)


def names_of(function, *arguments):
    """The names that ``main`` binds, of a function without its source."""
    source = text_of(function, *arguments, annotate="none")
    return {line.split(" = ")[0].strip() for line in source.splitlines() if " = " in line}


def fitted(a, x, y):
    error = a @ x - y
    return error @ error, error


def rank(y):
    order = jnp.argsort(y)
    ordered = y[order]
    starts = jnp.concatenate([jnp.ones(1, bool), ordered[1:] != ordered[:-1]])
    places = jnp.zeros(len(y), jnp.int32).at[order].set(jnp.arange(len(y), dtype=jnp.int32))
    return jnp.cumsum(starts)[places], starts, ordered, places


@pytest.mark.parametrize(
    ("function", "arguments", "name"),
    [
        (fitted, (A, X, Y), "residual"),
        (lambda a, x, y: (jnp.square(y - a @ x).mean() ** 2, y - a @ x), (A, X, Y), "residual"),
        (lambda weights: jnp.square(weights).sum() * 2 + jnp.square(weights).sum() ** 2, (X,), "weights_squared_norm"),
        (
            lambda yield_, z: (z / (jnp.abs(yield_) * 1e-4 + 1e-3)) ** (jnp.abs(yield_) * 1e-4 + 1e-3),
            (X, X),
            "tolerance",
        ),
        (
            lambda n, z: z / (1 - 0.9 ** n.astype(jnp.float32)) - 0.9 * (1 - 0.9 ** n.astype(jnp.float32)),
            (np.int32(3), X),
            "bias_correction",
        ),
        (rank, (Y,), "is_first"),
        (rank, (Y,), "inverse_order"),
    ],
)
def test_a_value_has_the_word_of_the_field(function, arguments, name):
    assert name in names_of(function, *arguments)


def test_what_a_filter_takes_away_is_no_residual():
    def corrected(a, x, y):
        less = y - a @ x
        return less * 2 + jnp.sin(less)

    assert "residual" not in names_of(corrected, A, X, Y)


def test_a_geometric_sum_of_a_float_corrects_no_bias():
    assert "bias_correction" not in names_of(lambda n, z: z / (1 - 0.9**n) - (1 - 0.9**n), np.float32(3), X)


def test_the_gradient_of_what_is_squared_and_of_what_passes_a_relu():
    def loss(params, x, y):
        hidden = jax.nn.relu(x @ params["w"])
        return jnp.square(hidden @ params["v"] - y).mean()

    params = {"w": A, "v": A.T}
    arguments = params, np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3), np.ones((2, 3), np.float32)
    text = xla2py.emit(xla2py.from_jax(jax.value_and_grad(loss), *arguments), annotate="none").source
    assert "d_residual = residual * " in text
    assert "d_x_dot_w = np.where(x_dot_w > 0, d_residual @ params" in text
