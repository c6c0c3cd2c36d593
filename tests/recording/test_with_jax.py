"""The lazy JAX gives what JAX gives; these ask it."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.recording.lazy_jax import jax, jnp

real = pytest.importorskip("jax")
X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)


def model(x):
    return jnp.tanh(x).sum(axis=0)


def test_values(live_xla):
    for ours, theirs in (
        (model(X), real.numpy.tanh(X).sum(axis=0)),
        (jax.jit(model)(X), real.numpy.tanh(X).sum(axis=0)),
        (jax.grad(lambda x: model(x).sum())(X), 1 - np.tanh(X) ** 2),
    ):
        assert isinstance(ours, np.ndarray)
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_types_of_64_bits(live_xla):
    x = np.float64([1, 2])
    assert jax.jit(jnp.sin)(x).dtype == np.float32
    with jax.enable_x64(True):
        assert jax.jit(jnp.sin)(x).dtype == np.float64


def test_programs(live_xla):
    text = jax.jit(model).lower(X).as_text("hlo", debug_info=True)
    assert text.startswith("HloModule jit_model") and __file__ in text
    assert "fusion" in jax.jit(model).lower(X).compile().as_text()
    emitted = xla2py.emit(xla2py.from_jax(model, X))
    assert emitted.source == xla2py.emit(jax.jit(model).lower(X)).source
    np.testing.assert_allclose(emitted.load().main(X), np.tanh(X).sum(0), rtol=1e-6)


def test_errors_of_tracing(live_xla):
    with pytest.raises(TypeError):
        jax.jit(lambda x: x + "a").lower(X).as_text("hlo")


def test_tracers_pass_through_to_jax():
    """A function of the tests that JAX itself traces."""
    np.testing.assert_allclose(real.jit(lambda x: jnp.exp(x))(X), np.exp(X), rtol=1e-6)
