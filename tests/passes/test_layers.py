"""Layers become calls of one function by what they compute, without any word of where they come from."""

import re

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import assert_agrees
from xla2py.tests.recording.lazy_jax import jax, jnp

WIDTH = 4
rng = np.random.default_rng(5)


def parameters(count):
    def array(*shape):
        return (0.5 * rng.normal(size=shape)).astype(np.float32)

    return [[array(WIDTH, WIDTH), array(WIDTH), array(WIDTH), array(WIDTH)] for _ in range(count)]


def layer(x, weight, bias, scale, offset):
    centred = x - x.mean(axis=-1, keepdims=True)
    normal = centred / jnp.sqrt(jnp.square(centred).mean(axis=-1, keepdims=True) + 1e-3) * scale + offset
    return x + jnp.tanh(normal @ weight + bias)


def loss(layers, x):
    for each in layers:
        x = layer(x, *each)
    return jnp.square(x).sum()


def sgd(layers, x):
    return jax.tree.map(lambda p, g: p - 0.1 * g, layers, jax.grad(loss)(layers, x))


def momentum(layers, speeds, x):
    speeds = jax.tree.map(lambda v, g: 0.9 * v + g, speeds, jax.grad(loss)(layers, x))
    return jax.tree.map(lambda p, v: p - 0.1 * v, layers, speeds), speeds


def setting(layers, x):
    for each in layers:
        x = layer(x, *each)
        x = x.at[1, 2].set(2 * x[0, 1])
    return x


def bare(function, *arguments):
    """The text of a program without metadata."""
    return jax.jit(function).lower(*arguments).as_text("hlo")


def statements(text, **options):
    return xla2py.emit(text, checks=False, format=False, **options).source.count(" = ")


X = rng.normal(size=(3, WIDTH)).astype(np.float32)


@pytest.mark.parametrize("function", [loss, sgd])
def test_a_deep_model_is_as_long_as_a_shallow_one(function):
    texts = {depth: bare(function, parameters(depth), X) for depth in (3, 6)}
    more = statements(texts[6]) - statements(texts[3])
    assert more <= 2 * 3 + 6  # a call for each layer, and one for its gradient
    assert statements(texts[6]) < statements(texts[6], disable_passes=["layers"]) / 2


@pytest.mark.parametrize(("function", "count"), [(loss, 1), (sgd, 1), (momentum, 2), (setting, 1)])
def test_values_are_those_of_the_long_form_to_the_bit(function, count):
    text = bare(function, *[parameters(5)] * count, X)
    given = [*[array for each in parameters(5) for array in each] * count, X]
    short = xla2py.emit(text, checks=False).load().main(*given)
    long = xla2py.emit(text, checks=False, disable_passes=["layers"]).load().main(*given)
    for one, other in zip(jax.tree.leaves(short), jax.tree.leaves(long), strict=True):
        np.testing.assert_array_equal(one, other)
    assert_agrees(text, *given, without="layers")


def test_a_layer_is_a_function_that_each_layer_calls():
    source = xla2py.emit(bare(loss, parameters(4), X), checks=False).source
    assert source.count("def layer") == 1
    assert source.count("= layer(") + source.count("return layer(") >= 3
    assert source.count("np.tanh(") == 1


def unlike(layers, x):
    for number, (weight, bias, scale, offset) in enumerate(layers):
        x = jnp.tanh(x @ weight + bias) * scale + offset * number
        x = (jnp.sin, jnp.cos, jnp.exp, jnp.arctan)[number](x)
    return x


def test_layers_that_differ_stay():
    text = bare(unlike, parameters(4), X)
    assert "def layer" not in xla2py.emit(text, checks=False, disable_passes=["repeats"]).source


def crossing(layers, x):
    """A layer that needs the last result of all: no call can stand for it."""
    outs = []
    for each in layers:
        x = layer(x, *each)
        outs.append(x)
    return [layer(out, *each) * outs[-1] for out, each in zip(outs, layers, strict=True)]


@pytest.mark.parametrize("depth", [3, 5])
def test_what_needs_later_layers_is_computed_after_them(depth):
    text = bare(crossing, parameters(depth), X)
    given = [*[array for each in parameters(depth) for array in each], X]
    assert_agrees(text, *given, without="layers")
    xla2py.emit(text, checks=False, debug=True)


def test_a_layer_that_sets_an_element_has_its_place_in_the_function():
    source = xla2py.emit(bare(setting, parameters(4), X), checks=False).source
    assert len(re.findall(r"\blayer\(", source)) == 5
    assert "[1, 2] = " in source


def test_many_results_have_names():
    source = xla2py.emit(bare(momentum, parameters(4), parameters(4), X), checks=False).source
    assert "Results(NamedTuple):" in source
    (name, *_) = [line.split()[1].split("(")[0] for line in source.splitlines() if "(NamedTuple):" in line]
    assert f"-> {name}:" in source and f"return {name}(" in source
    assert re.search(r"\b(layer\w*_0) = layer", source) and re.search(r"\blayer\w*_0\.\w", source)


def test_a_first_layer_that_is_given_one_array_twice():
    """Two values of later layers are one in the first: they stay two arguments of the function."""

    def chain(weights):
        x = weights[0]
        for weight in weights:
            x = jnp.tanh(jnp.sin(x @ weight) + jnp.cos(x) * weight - jnp.exp(weight) / 7)
        return x

    weights = [rng.normal(size=(WIDTH, WIDTH)).astype(np.float32) for _ in range(4)]
    text = bare(chain, weights)
    assert xla2py.emit(text).source.count(" = layer(") + xla2py.emit(text).source.count("return layer(") == 4
    assert_agrees(text, *weights, without="layers")


def test_a_long_chain_of_one_operation_is_a_loop():
    def further(x):
        for _ in range(40):
            x = jnp.nextafter(x, jnp.inf)
        return x

    x = np.linspace(0, 1, 5, dtype=np.float32)
    emitted = xla2py.emit(xla2py.from_jax(further, x))
    np.testing.assert_array_equal(emitted.load().main(x), jax.jit(further)(x))
    assert "for _ in range(40):" in emitted.source and emitted.source.count("np.nextafter(") == 1
