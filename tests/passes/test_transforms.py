"""Fourier transforms that convert real numbers, and add zeros at the end, themselves."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import STAYS, Budget, cases, hlo
from xla2py.tests.recording.lazy_jax import jax, jnp

X = np.linspace(-2, 2, 24, dtype=np.float32).reshape(4, 6)
X[0, :2] = np.inf, np.nan
Z = (np.arange(24) % 7 - 2j).astype(np.complex64).reshape(4, 6)
NEAR = Budget(relative=1e-5, absolute=1e-5)

test_zeros_at_the_end = cases("transforms", X, budget=NEAR)(
    (lambda x: jnp.fft.rfft(x, 11), "return np.fft.rfft(x, 11)"),
    (lambda x: jnp.fft.fft(x, 11), "return np.fft.fft(x, 11)"),
    (lambda z: jnp.fft.ifft(z, 8), Z, "return np.fft.ifft(z, 8)"),
    (lambda z: jnp.fft.irfft(z, 20), Z, "return np.fft.irfft(z, 20)"),
    (lambda x: jnp.fft.rfft2(x, (5, 9)), X[1:], "return np.fft.rfft2(x, (5, 9))"),
    (lambda z: jnp.fft.fftn(z, (3, 4, 8)), Z.reshape(2, 3, 4), "return np.fft.fftn(z, (3, 4, 8), axes=(-3, -2, -1))"),
    (lambda x: jnp.fft.rfft(x, 9, axis=0), "return np.fft.rfft(x.T, 9).T"),
)
test_real_numbers = cases("transforms", X, budget=NEAR)(
    (lambda x: jnp.fft.fft(x), "return np.fft.fft(x)"),
    (lambda x: jnp.fft.ifft(x[1:]), "return np.fft.ifft(x[1:])"),
    (lambda x: jnp.fft.fft2(x[1:]), "return np.fft.fft2(x[1:])"),
)
test_others_stay = cases(
    "transforms", X[1:], claims=[STAYS], budget=NEAR
)(
    lambda x: jnp.fft.rfft(jnp.pad(x, ((0, 0), (1, 2)))),  # zeros before
    lambda x: jnp.fft.rfft(jnp.pad(x, ((0, 1), (0, 2)))),  # and along another axis
    lambda x: jnp.fft.rfft(jnp.pad(x, ((0, 0), (0, 2)), constant_values=1)),
    lambda x: (lambda y: (jnp.fft.rfft(y), y * 2))(jnp.pad(x, ((0, 0), (0, 2)))),  # needed elsewhere
    lambda x: jnp.fft.fft(x.astype(jnp.int8)),  # NumPy would compute in float64
    lambda x: jnp.fft.rfft(x[:, :4]),
    (lambda x: jnp.fft.rfft(x, 11), np.zeros((0, 6), np.float32)),
)


def test_in_float64():
    with jax.enable_x64(True):
        text = hlo(lambda x: jnp.fft.fft(x, 8), X.astype(np.float64))
    assert "return np.fft.fft(x, 8)" in xla2py.emit(text).source


@pytest.mark.parametrize(
    ("target", "call"), [("cupy", "cp.fft.fft(x, 8)"), ("array-api", "xp.fft.fft(xp.astype(x, xp.complex64), n=8)")]
)
def test_on_other_targets(target, call):
    assert f"return {call}" in xla2py.emit(hlo(lambda x: jnp.fft.fft(x, 8), X), target).source
