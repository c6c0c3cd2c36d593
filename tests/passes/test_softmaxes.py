"""softmaxes and gelus: what is raised, near-misses, and bits that stay as they are."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import STAYS, assert_agrees, called, cases, hlo, main, optimised
from xla2py.tests.recording.lazy_jax import jax, jnp

erfc = jax.lax.erfc
FORMS = pytest.mark.parametrize("form", [hlo, optimised])
HALF = np.sqrt(np.float32(0.5))
X = np.random.default_rng(0).normal(size=(6, 8)).astype(np.float32) * 30
X[1], X[2, 0], X[3, 3], X[4, 5] = np.inf, -np.inf, np.nan, np.inf


def assert_same_bits(text, without):
    """The raised program computes what the one that spells it out does, bit for bit, NaN and infinities too."""
    results = [
        xla2py.emit(text, format=False, disable_passes=disabled).load().main(X.copy()) for disabled in ([], [without])
    ]
    assert results[0].dtype == results[1].dtype
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (jax.nn.softmax, "return softmax(-x)"),
        (lambda x: jax.nn.softmax(x, axis=0), "return softmax(-x, axis=0)"),
        (lambda x: jax.nn.softmax(x, axis=(0, 1)), "return softmax(-x, axis=(0, 1))"),
        (lambda x: jax.nn.softmax(x) + 1, "return softmax(-x) + 1"),
        (jax.nn.log_softmax, "return log_softmax(-x)"),
        (lambda x: jax.nn.log_softmax(x, axis=0), "return log_softmax(-x, axis=0)"),
        (lambda x: jax.nn.logsumexp(x), "return logsumexp(-x)"),
        (lambda x: jax.nn.logsumexp(x, axis=1), "return logsumexp(-x, axis=-1)"),
        (lambda x: jax.nn.logsumexp(x, axis=0), "return logsumexp(-x, axis=0)"),
        (lambda x: jax.nn.logsumexp(x, axis=1, keepdims=True), "return logsumexp(-x, axis=-1, keepdims=True)"),
    ],
)
def test_softmaxes(function, expected):
    assert main(optimised(lambda x: function(-x), X)) == expected
    text = hlo(lambda x: function(-x), X)
    assert main(text) == expected
    assert_agrees(text, X, without="softmaxes")
    assert_same_bits(text, "softmaxes")


test_what_is_no_softmax = cases(
    "softmaxes", X, claims=[STAYS], budget=None
)(
    lambda x: jnp.exp(x - x.max(1, keepdims=True)) / jnp.exp(x - x.max(1, keepdims=True)).sum(0, keepdims=True),
    lambda x: jnp.exp(x - x.max(0)) / jnp.exp(x - x.max(0)).sum(1, keepdims=True),
    lambda x: jnp.exp(x - x.min(1, keepdims=True)) / jnp.exp(x - x.min(1, keepdims=True)).sum(1, keepdims=True),
    lambda x: jax.nn.softmax(x, where=x > 0),
    lambda x: (lambda e: e / e.sum(1, keepdims=True) + e)(jnp.exp(x - x.max(1, keepdims=True))),  # e is read again
    lambda x: (x - x.max(1, keepdims=True)) - jnp.log(jnp.exp(x - x.min(1, keepdims=True)).sum(1, keepdims=True)),
    lambda x: jnp.log(jnp.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)) + x.max(1, keepdims=True),
    jax.grad(lambda x: jax.nn.logsumexp(x)),
    lambda x: jax.nn.softmax(x.astype(jnp.float16)),
    jax.nn.softmax,  # a program that is nothing else
    (lambda x: jnp.exp(x - x.max(1)) / jnp.exp(x - x.max(1)).sum(1), X[:, :6]),  # without keepdims, of a square
)


def slope(x, g, axis=-1, along=-1, shift=True):
    """The gradient of a softmax as JAX writes it."""
    e = jnp.exp(x - x.max(axis, keepdims=True)) if shift else jnp.exp(x)
    s = e.sum(axis, keepdims=True)
    return (g / s - (g / (s * s) * e).sum(along, keepdims=True)) * e


FEW = np.random.default_rng(1).normal(size=(6, 6)).astype(np.float32) * 9

test_gradients_of_softmaxes = cases("softmaxes", FEW, FEW.T.copy(), forms=(hlo,))(
    (lambda x, g: jax.vjp(jax.nn.softmax, x)[1](g)[0], "(g - (g * weights).sum(axis=-1, keepdims=True))"),
    (lambda x, g: slope(x, g) * 2, "(g - (g * weights).sum(axis=-1, keepdims=True)) * 2"),
    (lambda x, g: slope(x, g, 0, 0), "weights = softmax(x, axis=0)"),
    (
        lambda x, g: jax.vjp(jax.nn.log_softmax, x)[1](g)[0],
        "return g - g.sum(axis=-1, keepdims=True) * softmax(x)",
    ),
    (
        lambda x, g: jax.grad(lambda x: -jax.nn.log_softmax(x)[2])(x[0]) * g,
        "(np.array([0, 0, -1, 0, 0, 0], dtype=np.float32) + softmax(x[0])) * g",
    ),
    (lambda x, g: jnp.exp(x) * (g / jnp.exp(x).sum(1, keepdims=True)), STAYS),  # the quotient may overflow
    (lambda x, g: slope(x, g, 0, 1), STAYS),  # the sum is along the other axis
    (lambda x, g: slope(x, g, shift=False), STAYS),  # a sum of exponentials that may overflow when squared
)

EXTREME = np.float32([[0, -np.inf, 3, 80], [1, 2, np.nan, 0], [np.inf, 0, 0, 0], [-1e30, 0, 1e30, 2]])


def test_gradients_of_softmaxes_are_nan_where_they_are_in_xla():
    for g in (np.ones((4, 4), np.float32), np.float32([[np.inf, 0, 1, 2]] * 4), np.float32([[0, np.nan, 1, 2]] * 4)):
        for function in (slope, lambda x, g: jax.vjp(jax.nn.log_softmax, x)[1](g)[0]):
            assert_agrees(hlo(function, EXTREME, g), EXTREME, g, without="softmaxes")


@pytest.mark.parametrize("function", [jax.nn.softmax, jax.nn.log_softmax])
def test_a_function_that_is_nothing_else_is_the_same_as_elsewhere(function):
    """It is written where it is called, once and for all."""
    text = hlo(lambda x: function(x) * function(x + 1), X)
    name = function.__name__
    assert main(text) == f"return {name}(x) * {name}(x + 1)"
    assert xla2py.emit(text).source.count(f"def {name}") == 1
    assert_agrees(text, X, without="softmaxes")


def test_softmaxes_in_chunks_stay_written_out():
    assert "softmax" not in main(hlo(lambda x: jax.nn.softmax(x) + 1, X), target="dask")


test_gelus = cases("gelus", X, claims=["return gelu(x)"], forms=(hlo, optimised))(
    lambda x: jax.nn.gelu(x),
    lambda x: 0.5 * x * (1 + jnp.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x * x * x))),
    lambda x: 0.5 * x * (1 + jnp.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
)


# They keep parts of the function, which is a call beside them. Far from 0 they hang on the last bit of tanh.
SMALL = np.tanh(X) * 2
test_slopes_of_gelus = cases("gelus", SMALL, inputs=[(SMALL,), (X * np.float32(1e30),)])(
    (lambda x: jax.grad(lambda x: jax.nn.gelu(x).sum())(x), "return gelu_slope(x)"),
    (lambda x: jax.grad(lambda x: jnp.square(jax.nn.gelu(x)).sum())(x), "gelu(x)", "* gelu_slope(x)"),
    (lambda x: jax.vjp(jax.nn.gelu, x)[1](x)[0], "return x * gelu_slope(x)"),
)


@FORMS
@pytest.mark.parametrize(
    "function",
    [
        lambda x: jax.nn.gelu(x, approximate=False),
        lambda x: 0.5 * x * erfc(x * -HALF),
        lambda x: x * (0.5 * erfc(-x * HALF)),
    ],
)
def test_exact_gelus(form, function):
    text = form(lambda x: function(x), X)
    assert main(text) == "return exact_gelu(x)"
    assert "gelu" not in main(text, disable_passes=["gelus"])
    assert called(text, lambda node: "not here" if "exact_gelu" in node.parameters.values() else None) == {"erfc"}
    assert_agrees(text, X, without="gelus")
    assert_agrees(text.replace("[6,8]", "[0,8]"), X[:0], without="gelus")
    assert_same_bits(text, "gelus")


test_what_is_no_gelu = cases("gelus", X, claims=[STAYS], budget=None)(
    lambda x: x * 0.5 * (1 + jnp.tanh(0.8 * (x + 0.044715 * x * x * x))),
    lambda x: x * 0.5 * (1 + jnp.tanh(0.7978845608028654 * (x + 0.05 * x * x * x))),
    lambda x: x * 0.5 * (1 + jnp.tanh(0.7978845608028654 * (x + 0.044715 * x * x))),
    jax.grad(lambda x: jax.nn.gelu(x, approximate=False).sum()),
    lambda x: x * 0.5 * erfc(x * HALF),
    lambda x: x * 0.5 * erfc(-x * np.float32(0.7)),
    lambda x: x * 0.4 * erfc(-x * HALF),
    lambda x: x * 0.5 * erfc(-abs(x) * HALF),
    lambda x: (lambda tail: x * 0.5 * tail + tail)(erfc(-x * HALF)),  # the tail is read again
    lambda x: jax.nn.gelu(x.astype(jnp.bfloat16), approximate=False),
)
