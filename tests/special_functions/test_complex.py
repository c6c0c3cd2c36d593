"""Functions of complex numbers, which JAX writes out in their parts, are functions again."""

from __future__ import annotations

import re

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import hlo, main
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.tests.special_functions.functions import COMPLEX
from xla2py.tests.targets.running import on_device, on_numpy
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_in_child

DTYPES = [np.complex64, np.complex128]
CALLS = {"log": "np.log(z)", "log-plus-one": "complex_log1p(z)"}
each_function = pytest.mark.parametrize("name", COMPLEX, scope="module")


def numbers(dtype: type, *, with_large: bool = True) -> np.ndarray:
    """All pairs of edges: both sides of the branch cuts, next to 1, large and infinite; and some drawn ones."""
    real = np.empty(0, dtype).real.dtype
    eps, largest = np.finfo(real).eps, np.finfo(real).max
    edges = [0.0, -0.0, 0.5, -0.5, 1, -1, 1 + eps, 1 - eps, -2, 3, 1e-3, -1e-10]
    edges += [1e10, -largest, largest, np.inf, -np.inf] if with_large else []
    pairs = np.array(np.meshgrid(edges, edges), real).reshape(2, -1)
    drawn = np.random.default_rng(0).standard_normal((2, 40)).astype(real) * 3
    joined = np.empty(pairs.shape[1] + 40, dtype)
    joined.real, joined.imag = np.concatenate([pairs, drawn], 1)
    return joined


def text_of(function, z):
    with jax.enable_x64(z.dtype == np.complex128):
        return hlo(lambda z: function(z), z)


def assert_near(found, expected, units=64, size=0):
    """Both parts agree, with the signs of what is not small; a zero of the wrong sign is one. ``size`` is that of terms
    that cancel out."""
    info = np.finfo(expected.dtype)
    for mine, other in ((found.real, expected.real), (found.imag, expected.imag)):
        np.testing.assert_allclose(mine, other, rtol=units * info.eps, atol=2 * info.tiny + size * info.eps)


@each_function
@pytest.mark.parametrize("dtype", DTYPES)
def test_one_call_gives_what_xla_gives(name, dtype):
    z = numbers(dtype, with_large=not name.startswith("np."))  # which do not lose the sign of 0 beside large numbers
    text = text_of(COMPLEX[name], z)
    assert main(text) == "return " + CALLS.get(name, f"{name}(z)")
    found = xla2py.emit(text).load().main(z)
    assert found.dtype == dtype
    assert_near(found, run_hlo_in_child(text, z)[0])


@each_function
def test_on_other_targets(name):
    z = numbers(np.complex64, with_large=False)
    text = text_of(COMPLEX[name], z)
    expected = on_numpy(text, [z])[0]
    assert_near(np.asarray(on_device(text, [z])[0]), expected)
    assert_near(xla2py.emit(text, style="fast").load().main(z), expected)


PARTS = [
    (lambda z: jnp.log(z).real, "return np.log(z).real"),
    (lambda z: jnp.log(z).imag, "return np.angle(z)"),
    (lambda z: jnp.sqrt(z).imag, "return complex_sqrt(z).imag"),
    (lambda z: jax.lax.acosh(z).real + 1, "return complex_arccosh(z).real + 1"),
    (lambda z: jnp.log1p(z).real * jnp.log(z).real, "return complex_log1p(z).real * np.log(z).real"),
    (lambda z: jnp.log(jnp.conj(z) * 2).real, "return np.log(np.conj(z) * 2).real"),
]


@pytest.mark.parametrize(("function", "expected"), PARTS)
def test_parts(function, expected):
    z = numbers(np.complex64, with_large=False)
    text = text_of(function, z)
    assert main(text) == expected
    assert_near(on_numpy(text, [z])[0], run_hlo_in_child(text, z)[0])


def test_of_parts_that_are_computed_alone():
    """The number that a function is given is put together where the program has its parts alone."""

    def log_of_turned(x, y):
        return jnp.log(jax.lax.complex(x * 2, y + 1)).real

    x, y = np.float32([0.5, 2, -1]), np.float32([1, -2, 0])
    text = hlo(log_of_turned, x, y)
    assert main(text) == "return np.log(complex_from_parts(x * 2, y + 1)).real"
    np.testing.assert_allclose(on_numpy(text, [x, y])[0], run_hlo_in_child(text, x, y)[0], rtol=1e-6)


COMPOSED = {
    "np.log2(z)": jnp.log2,
    "np.log10(z)": jnp.log10,
    "complex_sinh(z)": jnp.sinh,
    "complex_cosh(z)": jnp.cosh,
    "complex_logaddexp(z, 0)": jax.nn.softplus,
    "complex_logaddexp(z, z[::-1])": lambda z: jnp.logaddexp(z, z[::-1]),
}


@pytest.mark.parametrize("call", COMPOSED)
@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_logarithms_and_exponentials(call, dtype):
    z = numbers(dtype)
    text = text_of(COMPOSED[call], z)
    assert main(text) == f"return {call}"
    expected = run_hlo_in_child(text, z)[0]
    for found in (xla2py.emit(text).load().main(z), np.asarray(on_device(text, [z])[0])):
        assert found.dtype == dtype
        assert_near(found, expected, 128, size=4)


COMPOSED_NEARLY = [
    (jnp.log2, r"0\.693147182|1\.44269502", "0.7", "np.log2"),  # JAX 0.12 multiplies
    (jnp.sinh, r"\(0\.5, 0\)", "(0.25, 0)", "complex_sinh"),
    (jax.nn.softplus, r"6\.28318548", "6.5", "complex_logaddexp"),
    (jax.nn.softplus, "direction=GT", "direction=GE", "complex_logaddexp"),
]


@pytest.mark.parametrize(("function", "old", "new", "call"), COMPOSED_NEARLY)
def test_what_is_nearly_such_a_function_stays(function, old, new, call):
    z = numbers(np.complex64, with_large=False)[-40:]
    text = text_of(function, z)
    changed = re.sub(old, new, text)
    assert changed != text
    assert call not in main(changed)
    assert_near(on_numpy(changed, [z])[0], run_hlo_in_child(changed, z)[0], 256)


GRADIENTS = {"sqrt": 3, "arcsin": 3, "log": 2, "arctan": 2, "arccosh": 4, "arctanh": 2}


@pytest.mark.parametrize(("name", "lines"), GRADIENTS.items())
def test_gradients(name, lines):
    z = numbers(np.complex64, with_large=False)[-40:]
    text = text_of(jax.grad(lambda z: getattr(jnp, name)(z).real.sum()), z)
    assert len(main(text).splitlines()) <= lines
    assert_near(on_numpy(text, [z])[0], run_hlo_in_child(text, z)[0], 512)


NEARLY = [
    ("log", "constant(4097)", "constant(4096)"),
    ("complex_sqrt", "constant(1.41421354)", "constant(1.5)"),
    ("complex_arcsin", "direction=GE", "direction=GT"),
    ("complex_square", "constant(2)", "constant(3)"),
    ("complex_sin", "constant(2)", "constant(4)"),
]


@pytest.mark.parametrize(("name", "old", "new"), NEARLY)
def test_what_is_nearly_a_function_stays(name, old, new):
    z = numbers(np.complex64, with_large=False)[-40:]
    text = text_of(COMPLEX[name], z)
    assert old in text
    changed = text.replace(old, new)
    assert main(changed) != "return " + CALLS.get(name, f"{name}(z)")
    assert_near(on_numpy(changed, [z])[0], run_hlo_in_child(changed, z)[0], 256)
