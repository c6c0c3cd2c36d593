"""Functions take an array whose elements they read themselves; elements that the author reads at the call stay."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.recording.lazy_jax import jax, jnp

THETA, Y = np.float32([0.9, 0.5, 0.3, 0.7]), np.float32([1.5, 0.5])
STEPS = np.float32([0.1, 0.2, 0.1])


def lotka(theta, y, steps):
    def slope(y):
        prey, predator = y
        eaten = prey * predator
        return jnp.stack([theta[0] * prey - theta[1] * eaten, theta[2] * eaten - theta[3] * predator])

    def step(y, dt):
        k1 = slope(y)
        k2 = slope(y + dt * k1)
        k3 = slope(y + dt * k2)
        return y + dt * (k1 + 2 * k2 + k3), None

    return jax.lax.scan(step, y, steps)[0].sum()


def handed(theta, y, steps):
    """Elements that the caller reads."""

    def slope(y, growth, decay):
        prey, predator = y
        return jnp.stack([growth * prey - jnp.tanh(prey) * predator, prey * jnp.sin(predator) - decay * predator])

    def step(y, dt):
        growth, decay = theta[0], theta[3]
        k1 = slope(y, growth, decay)
        k2 = slope(y + dt * k1, growth, decay)
        k3 = slope(y + dt * k2, growth, decay)
        return y + dt * (k1 + 2 * k2 + k3), None

    return jax.lax.scan(step, y, steps)[0].sum()


def direct(theta, y, steps):
    def slope(y, growth, decay):
        prey, predator = y
        return jnp.stack([growth * prey - jnp.tanh(prey) * predator, prey * jnp.sin(predator) - decay * predator])

    return slope(slope(slope(y, theta[0], theta[3]), theta[0], theta[3]), theta[0], theta[3]) * steps[:2]


def others(theta, y, steps):
    """Each call reads other elements."""

    def slope(y, k):
        prey, predator = y
        return jnp.stack([theta[k] * prey - jnp.tanh(prey) * predator, prey * predator - theta[k + 1] * predator])

    def step(y, dt):
        k1 = slope(y, 0)
        k2 = slope(y + dt * k1, 1)
        k3 = slope(y + dt * k2, 2)
        return y + dt * (k1 + 2 * k2 + k3), None

    return jax.lax.scan(step, y, steps)[0].sum()


def test_functions_take_the_array_that_they_read():
    module = xla2py.from_jax(jax.value_and_grad(lotka), THETA, Y, STEPS)
    text = xla2py.emit(module, debug=True).source
    assert "slope(y, theta)" in text
    assert "slope(y, theta)" not in xla2py.emit(module, disable_passes=["call_elements"]).source


@pytest.mark.parametrize(
    ("function", "call"),
    [(handed, "slope(y, growth, decay)"), (direct, "theta[0]"), (others, "theta[0]")],
)
def test_elements_that_are_read_at_the_call_stay(function, call):
    text = xla2py.emit(xla2py.from_jax(function, THETA, Y, STEPS), debug=True).source
    assert call in text.partition("def main")[2].partition("\ndef ")[0]


@pytest.mark.parametrize("style", ["readable", "fast"])
@pytest.mark.parametrize("disabled", [[], ["call_elements"]])
@pytest.mark.parametrize("function", [lotka, handed, direct, others])
def test_the_values_are_those_of_jax(function, disabled, style):
    both = jax.value_and_grad(lambda *given: function(*given).sum(), argnums=(0, 1))
    module = xla2py.from_jax(both, THETA, Y, STEPS)
    found = xla2py.emit(module, style=style, disable_passes=disabled).load().main(THETA, Y, STEPS)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(jax.jit(both)(THETA, Y, STEPS)), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5)
