"""Special functions that are given numbers, of which JAX works out what it can, are calls, too."""

from __future__ import annotations

import re

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import hlo, main
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.tests.targets.running import on_device, on_numpy
from xla2py.tests.whole import crossed, is_whole
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_in_child

pytestmark = pytest.mark.texts_of("0.10")  # what newer versions write: test_newer_texts.py

special, stats = jax.scipy.special, jax.scipy.stats

X = "x"  # the argument that is none
CALLS = [  # the function, its arguments, and the call
    (special.gammainc, (2.5, X), "gammainc(2.5, x)"),
    (special.gammainc, (1.0, X), "gammainc(1, x)"),
    (special.gammainc, (X, 0.25), "gammainc(x, 0.25)"),
    (special.gammainc, (X, 17.5), "gammainc(x, 17.5)"),
    (special.gammaincc, (0.5, X), "gammaincc(0.5, x)"),
    (special.gammaincc, (X, 2.0), "gammaincc(x, 2)"),
    (special.betainc, (1.5, 2.0, X), "betainc(1.5, 2, x)"),
    (special.betainc, (0.5, 0.5, X), "betainc(0.5, 0.5, x)"),
    (special.betainc, (X, 3.0, 0.5), "betainc(x, 3, 0.5)"),
    (special.betainc, (7.0, X, 0.125), "betainc(7, x, 0.125)"),
    (special.betaln, (X, 2.5), "betaln(x, 2.5)"),
    (special.zeta, (3.0, X), "zeta(3, x)"),
    (special.zeta, (X, 1.0), "zeta(x, 1)"),
    (special.polygamma, (0, X), "digamma(x)"),
    (special.polygamma, (1, X), "trigamma(x)"),
    (special.polygamma, (2, X), "polygamma(2, x)"),
    (special.polygamma, (7, X), "polygamma(7, x)"),
    (jnp.nextafter, (X, np.inf), "np.nextafter(x, np.inf)"),
    (jnp.nextafter, (X, 0.0), "np.nextafter(x, 0)"),
    (jnp.nextafter, (1.0, X), "np.nextafter(1, x)"),
    (jax.lax.random_gamma_grad, (2.5, X), "random_gamma_grad(2.5, x)"),
    (jax.grad(lambda a, x: special.gammainc(a, x).sum()), (X, 2.0), "igamma_grad_a(x, 2)"),
]


def of_one(function, arguments, dtype):
    return lambda x: function(*(x if a is X else a if isinstance(a, int) else dtype(a) for a in arguments))


def given(call, dtype):
    x = np.array([1e-3, 0.2, 0.25, 0.5, 0.75, 0.999, 1.25, 2.0, 3.5, 8.0, 17.5, 40.0], dtype)
    if call.startswith("zeta(x"):
        return x[6:]
    return x[:6] if call.startswith("betainc") and call.endswith(", x)") else x


def plain(text):
    """A call without the types of its numbers."""
    return re.sub(r"np\.float\d\d\(([^)]*)\)", r"\1", text)


@pytest.mark.parametrize(("row", "dtype"), crossed(CALLS, [np.float32, np.float64]))
def test_a_function_of_numbers_is_a_call(row, dtype):
    function, arguments, call = row
    x = given(call, dtype)
    with jax.enable_x64(dtype is np.float64):
        text = hlo(of_one(function, arguments, dtype), x)
    assert plain(main(text)) == f"return {call}"
    (found,), (expected,) = on_numpy(text, [x]), run_hlo_in_child(text, x)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(found, expected, rtol=4e3 * eps, atol=400 * eps)
    if dtype is np.float64 or is_whole():  # float32 is run there in test_special_functions.py
        np.testing.assert_allclose(on_device(text, [x])[0], found, rtol=100 * eps, atol=eps)


@pytest.mark.parametrize(("function", "arguments", "call"), CALLS[::6], ids=[call for _, _, call in CALLS[::6]])
def test_of_one_element_and_in_chunks(function, arguments, call):
    da = pytest.importorskip("dask.array")
    x = given(call, np.float32)
    text = hlo(of_one(function, arguments, np.float32), x[1])
    assert plain(main(text)) == f"return {call}"
    np.testing.assert_allclose(on_numpy(text, [x[1]])[0], run_hlo_in_child(text, x[1])[0], rtol=1e-4, atol=1e-6)
    text = hlo(of_one(function, arguments, np.float32), x)
    found = xla2py.emit(text, "dask").load().main(da.from_array(x, chunks=4)).compute(scheduler="sync")
    np.testing.assert_array_max_ulp(found, on_numpy(text, [x])[0], 4)


DISTRIBUTIONS = [
    (lambda x: stats.gamma.cdf(x, 2.5), "gammainc("),
    (lambda x: stats.gamma.sf(x, 2.5), "gammaincc("),
    (lambda x: stats.beta.cdf(x, 2.0, 3.0), "betainc("),
    (lambda x: stats.chi2.cdf(x, 3.0), "gammainc("),
    (lambda x: stats.poisson.cdf(jnp.floor(4 * x), 2.0), "gammaincc("),
    (jax.grad(lambda x: special.polygamma(2, x).sum()), "polygamma("),
    (lambda x: stats.norm.ppf(x, 1.0, 2.0), "ndtri("),
    (lambda x: stats.norm.logsf(x), "log_ndtr("),
    (jax.grad(lambda x: stats.norm.logcdf(x).sum()), "log_ndtr("),
]


@pytest.mark.parametrize(("function", "call"), DISTRIBUTIONS)
def test_in_distributions_and_gradients(function, call):
    x = np.linspace(0.05, 0.95, 9, dtype=np.float32)
    text = hlo(function, x)
    assert call in main(text) and "while" not in main(text)
    np.testing.assert_allclose(on_numpy(text, [x])[0], run_hlo_in_child(text, x)[0], rtol=1e-4, atol=1e-6)


NEARLY = [  # numbers that do not go together
    (lambda x: special.gammainc(2.5, x), "constant(-1.5)", "constant(-1.25)", "gammainc("),
    (lambda x: special.gammainc(2.5, x), "constant(2.5)", "constant(2.25)", "gammainc("),
    (lambda x: special.betainc(1.5, 2.0, x), "constant(0.454545468)", "constant(0.45)", "betainc("),
    (lambda x: special.polygamma(2, x), "constant(-3)", "constant(-4)", "polygamma("),
    (lambda x: special.polygamma(2, x), "constant(-1)", "constant(-1.001)", "polygamma("),
    (lambda x: jnp.nextafter(x, np.inf), "direction=GT", "direction=GE", "nextafter("),
]


@pytest.mark.parametrize(("function", "old", "new", "call"), NEARLY)
def test_what_is_nearly_a_function_of_a_number_stays(function, old, new, call):
    x = np.array([0.1, 0.3, 0.8], np.float32)
    text = hlo(function, x)
    assert old in text and call in main(text)
    changed = text.replace(old, new)
    assert call not in main(changed)
    np.testing.assert_allclose(on_numpy(changed, [x])[0], run_hlo_in_child(changed, x)[0], rtol=1e-3, atol=1e-6)


def test_products_with_logarithms_are_no_functions_of_numbers():
    assert main(hlo(lambda x: 2 * jnp.log(x), np.float32([1, 2]))) == "return np.log(x) * 2"


def test_deep_loops_of_numbers_are_read():
    """A loop with a number that it hands on, and more steps than Python has room for calls."""

    def step(carry):
        n, x, a = carry
        for _ in range(350):
            x = jnp.sin(x) + a
        return n + 1, x, a

    def run(x):
        return jax.lax.while_loop(lambda carry: carry[0] < 3, step, (0, jax.lax.digamma(x), jnp.float32(0.5)))[1]

    x = np.float32(1.5)
    text = hlo(run, x)
    np.testing.assert_allclose(on_numpy(text, [x])[0], run_hlo_in_child(text, x)[0], rtol=1e-5)


@pytest.mark.parametrize("kind", ["f8e4m3fnuz", "f8e5m2", "f4e2m1fn", "s4", "bf16"])
def test_numbers_of_narrow_types_are_read(kind):
    lines = f"c = {kind}[] constant(1)", "w = f32[] convert(c)", "ROOT r = f32[] negate(w)"
    text = "\n".join(["HloModule m", "ENTRY e {", *lines, "}"])
    np.testing.assert_array_equal(xla2py.emit(text).load().main(), np.float32(-1))
