"""Names of gradients after the arguments that they are the gradients of, found by the places that read these."""

import pytest

import xla2py
from xla2py.tests.recording.lazy_jax import jax, jnp


def step(params, x, y):
    def loss(params):
        hidden = jnp.tanh(x @ params["first"] + params["shift"])
        return jnp.mean((hidden @ params["second"] - y) ** 2)

    grads = jax.grad(loss)(params)
    return jax.tree.map(lambda p, g: p - g * jnp.exp(g), params, grads)


def test_gradients_are_called_after_the_arguments():
    params = {"first": jnp.ones((4, 4)), "shift": jnp.ones(4), "second": jnp.ones((4, 4))}
    module = xla2py.from_jax(step, params, jnp.ones((3, 4)), jnp.ones((3, 4)))
    text = xla2py.emit(module).source
    assert "d_first = x.T @ d_hidden" in text  # two of one shape are told apart by their places
    assert "d_second = hidden.T @ " in text
    assert "d_shift = d_hidden.sum(axis=0)" in text


def test_an_argument_that_is_read_at_one_place_with_another_of_its_shape_is_not_guessed():
    def update(w, v):
        gw, gv = jax.grad(lambda w, v: jnp.sum(jnp.sin(w * v)), argnums=(0, 1))(w, v)
        return w - gw * gw, v - gv * gv

    text = xla2py.emit(xla2py.from_jax(update, jnp.ones(5), jnp.ones(5))).source
    assert "d_w" not in text
    assert "d_v" not in text


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_positions_that_a_gradient_makes_are_no_gradient(dtype):
    def loss(table, labels):
        picked = jnp.take_along_axis(table, labels[:, None], axis=1)[:, 0]
        return jnp.sum(picked**2)

    def train(table, labels):
        return table - jax.grad(loss)(table, labels)

    with jax.enable_x64(dtype == "float64"):
        table = jnp.ones((6, 3), dtype)
        text = xla2py.emit(xla2py.from_jax(train, table, jnp.zeros(6, "int32"))).source
    assert "d_labels" not in text


def test_carries_that_become_gradients_are_called_after_the_arguments():
    def loss(params, x):
        def step(h, row):
            h = jnp.tanh(h @ params["cell"]["kernel"] + row @ params["input"]["kernel"] + params["input"]["bias"])
            return h, h

        return (jax.lax.scan(step, jnp.zeros(3), x)[1][-1] ** 2).sum()

    shapes = {"cell": {"kernel": (3, 3)}, "input": {"kernel": (2, 3), "bias": (3,)}}
    params = jax.tree.map(jnp.ones, shapes, is_leaf=lambda shape: isinstance(shape, tuple))
    text = xla2py.emit(xla2py.from_jax(jax.grad(loss), params, jnp.ones((5, 2)))).source
    assert "d_bias = d_bias + " in text
    assert "d_cell_kernel = d_cell_kernel + " in text
    assert "[1:][-1]" not in text  # the last state
