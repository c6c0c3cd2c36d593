"""A loop stores an array, in place of all its elements apart, for the loop of the gradient."""

import re

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.test_call_elements import STEPS, THETA, Y, lotka
from xla2py.tests.recording.lazy_jax import jax, jnp


def three(theta, y, steps):
    """The gradient reads two of three elements."""

    def step(y, dt):
        a, b, c = y
        return y + dt * jnp.stack([a * b * theta[0], jnp.sin(a) * theta[1], b]) + c, None

    return jax.lax.scan(step, jnp.append(y, 1), steps)[0].sum()


def given_back(theta, y, steps):
    """The rows of elements are results, too."""

    def step(y, dt):
        a, b = y
        return y + dt * jnp.stack([a * b * theta[0], jnp.sin(b) * a]), (a, b)

    end, (first, second) = jax.lax.scan(step, y, steps)
    return end.sum() + (first * second).sum()


FUNCTIONS = [lotka, three, given_back]


def test_a_state_that_a_step_takes_apart_is_stored_whole():
    module = xla2py.from_jax(jax.value_and_grad(lotka), THETA, Y, STEPS)
    text = xla2py.emit(module, debug=True).source
    assert "totals[i] = " in text and re.search(r"    prey, predator = \w+\[i\]", text)
    assert "preys[i] = prey" in xla2py.emit(module, disable_passes=["whole_rows"]).source


@pytest.mark.parametrize("function", [three, given_back])
def test_elements_stay_apart(function):
    module = xla2py.from_jax(jax.value_and_grad(function), THETA, Y, STEPS)
    one, other = (xla2py.emit(module, disable_passes=disabled).source for disabled in ([], ["whole_rows"]))
    assert one.partition("def main")[2] == other.partition("def main")[2]


@pytest.mark.parametrize("target", ["numpy", "dask"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_values_are_those_of_jax(function, target):
    both = jax.value_and_grad(function, argnums=(0, 1))
    found = xla2py.emit(xla2py.from_jax(both, THETA, Y, STEPS), target).load().main(THETA, Y, STEPS)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(jax.jit(both)(THETA, Y, STEPS)), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5)
