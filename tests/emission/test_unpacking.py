"""Arrays that their author takes apart in one assignment."""

import pytest

import xla2py
from xla2py.tests.emission.as_xla import emitted
from xla2py.tests.recording.lazy_jax import jax, jnp


def lorenz(state):
    def step(state, _):
        x, y, z = state
        slope = jnp.array([10 * (y - x), x * (28 - z) - y, x * y - 3 * z])
        return state + 0.01 * slope, state

    return jax.lax.scan(step, state, None, length=3)


@pytest.mark.parametrize("target", ["numpy", "cupy"])
def test_a_carry(target):
    source = xla2py.emit(xla2py.from_jax(lorenz, jnp.ones(3)), target=target).source
    assert ("x, y, z = state" in source) == (target == "numpy")  # of CuPy, whose numbers look at their array


def test_the_values_of_a_carry():
    emitted(lorenz, jnp.ones(3))


def test_keys_and_rows():
    def sample(key, x):
        noise_key, drop_key = jax.random.split(key)
        left, right = jnp.sin(x) * 2
        return jax.random.normal(noise_key, (3,)) + left * right, jax.random.uniform(drop_key) * (left - right)

    source = emitted(sample, jax.random.PRNGKey(3), jnp.ones((2, 3))).source
    assert "noise_key, drop_key = split_key(key, 2)" in source
    assert "left, right = np.sin(x) * 2" in source


def test_near_misses():
    def sample(x):
        scaled = jnp.sin(x) * 2
        left, right = scaled  # the rows of an array that is read whole, too, are views of it
        return left * right, scaled + right, scaled[0] - x[0]

    source = emitted(sample, jnp.ones((2, 3))).source
    assert "left, right =" not in source
