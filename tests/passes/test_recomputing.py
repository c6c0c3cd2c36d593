"""Cheap values that two kernels need are computed by both, where no more arrays are read for that."""

import re

import numpy as np
import pytest

from xla2py.tests.recording.lazy_jax import jax, jnp

pytest.importorskip("cupy", reason="CuPy is not installed")


from xla2py.targets.cupy.twin.costs import costs_of
from xla2py.tests.ladder.running import as_jax, needs_compiler

pytestmark = needs_compiler
GENERATOR = np.random.default_rng(5)
X, W = (GENERATOR.standard_normal((64, 64)).astype(np.float32) for _ in range(2))
BIAS = GENERATOR.standard_normal(64).astype(np.float32)


def between(first, second):
    """A function of ``x`` and a bias, then a product, which no kernel has, then one of both."""

    def function(x, w, bias):
        early = first(x, bias)
        return second(early @ w, x, bias, early)

    return function


# Each program has the functions before and behind the product, and the number of results of the first kernel.
PROGRAMS = {
    "a sum": (lambda x, b: jnp.sin((x + b) * 2), lambda y, x, b, _: jnp.sin(y) * (x + b), 1),
    "a chain": (
        lambda x, b: jnp.tanh((x + b) * (x + b) - 1),
        lambda y, x, b, _: jnp.sin(y) * ((x + b) * (x + b) - 1),
        1,
    ),
    "of what is there": (lambda x, b: jnp.tanh(x + b), lambda y, x, b, early: y * (early * early - x - b), 1),
    "costly": (lambda x, b: jnp.exp(x) * 2 + b, lambda y, x, b, _: y * jnp.exp(x), 2),
    "of two other arrays": (
        lambda x, b: jnp.sin(x * jnp.cos(b) + jnp.exp(x)),
        lambda y, x, b, _: jnp.sin(y) - (x * jnp.cos(b) + jnp.exp(x)),
        2,
    ),
}


def emitted(function, *arguments):
    return as_jax(function, *arguments, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_second_kernel_computes_it_again(name):
    first, second, results = PROGRAMS[name]
    function = between(first, second)
    module = emitted(function, X, W, BIAS)
    kernel = module.source[module.source.index("cp.ElementwiseKernel(") :]
    outputs = kernel.split('"')[3]
    assert len(outputs.split(",")) == results


def test_what_is_returned_is_stored_and_read():
    def function(x, w, bias):
        total = x + bias
        return total, jnp.sin(jnp.tanh(total * 2) @ w) * total

    module = emitted(function, X, W, BIAS)
    assert module.source.count("cp.ElementwiseKernel(") == 2
    assert re.search(r'"float32 dot, float32 \w+"', module.source)


def test_what_a_kernel_of_columns_cannot_give_is_not_asked_of_it():
    """A choice by rows within sums of columns: they can give neither a number for each row, nor the rows again."""

    def function(x, bias):
        chosen = jnp.where((bias == 2)[:, None], x, bias[:, None])
        total = chosen.sum(0)
        return (total * x).argmax(0), jnp.maximum(chosen, total.max()) - x

    emitted(function, X, BIAS)


def test_what_is_read_elsewhere_than_the_loop_is_stored():
    """The second kernel reads the sum turned and rolled, too, and what it computes again is at its own place."""

    def function(x, w, bias):
        total = x + bias
        early = jnp.tanh(total * 2)
        return jnp.sin(early @ w) * total + jnp.roll(total, 1, 0) + total.T

    emitted(function, X, W, BIAS)


def test_a_kernel_of_which_all_is_computed_again_is_left_out():
    def function(x, bias):
        total = jnp.abs(x) + bias
        largest = jnp.maximum(jnp.roll(x, 1, 0), total)
        return jnp.sin(largest) * total - largest, (total * total + largest.min()).sum()

    emitted(function, X, BIAS)


def test_gradients_of_a_layer_and_its_norm_move_fewer_bytes():
    def loss(x, w, bias):
        wide = jax.nn.gelu(x @ w + bias)
        centred = wide - wide.mean(-1, keepdims=True)
        return (centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * bias).sum()

    gradient = jax.grad(loss, (0, 1, 2))
    module = emitted(gradient, X, W, BIAS)
    assert costs_of(module.load, [X, W, BIAS]).bytes_moved < 16 * X.nbytes


def test_places_that_several_kernels_gather_at_are_computed_by_each():
    """Edges give to the nodes that they end at, weighted by a softmax over these: places are kept within the array."""
    sources, targets = GENERATOR.integers(-70, 70, (2, 200)).astype(np.int32)

    def function(x, sources, targets, bias):
        score = jnp.tanh(bias[sources] + bias[targets])
        weight = jnp.exp(score - jax.ops.segment_max(score, targets, 64)[targets])
        return jax.ops.segment_sum(weight[:, None] * x[sources], targets, 64)

    module = emitted(function, X, sources, targets, BIAS)
    main = module.source[module.source.index("def main") :]
    assert "clip" not in main and "minimum" not in main[: main.index("\ndef ")]


def test_what_another_kernel_needs_of_what_is_computed_again_is_stored():
    """A place of each row is computed by the sums, and by the sum of what is there; the exponentials read a mask of it,
    and compute that in place of an array.
    """
    labels = GENERATOR.integers(-64, 64, 64).astype(np.int32)

    def function(x, w, labels):
        mask = jnp.where(labels < 0, labels + 64, labels)[:, None] == jnp.arange(64)
        weights = jnp.where(mask, x.shape[0] / 3, 0)
        dot = x @ w
        return jnp.exp(dot) + weights, weights.sum(1), jnp.tanh(weights @ w) * weights

    emitted(function, X, W, labels)


@pytest.mark.parametrize(("scale", "kernels"), [(lambda b: jnp.abs(b * 3) - 2, 2), (lambda b: abs(b * 3) * b - 2, 3)])
def test_few_operations_are_computed_again_for_each_element_of_a_row(scale, kernels):
    def function(x, w, bias):
        return jnp.sin(jnp.tanh(x * scale(bias)) @ w) * scale(bias)

    module = emitted(function, X, W, BIAS)
    assert module.source.count("_kernel = ") == kernels
