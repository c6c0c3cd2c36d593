"""Calls of functions that the passes have left one or two operations of are written in place."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import assert_agrees, hlo, main
from xla2py.tests.recording.lazy_jax import jax, jnp

KEY = np.array([3, 4], np.uint32)
X = np.random.default_rng(5).normal(size=(4, 16)).astype(np.float32)


def dropped(key, x):
    first, second = jax.random.split(key)
    x = jnp.where(jax.random.bernoulli(first, 0.9, x.shape), x, 0)
    return jnp.where(jax.random.bernoulli(second, 0.5, x.shape), x, 0)


@jax.jit
def scaled(x, by):
    x = jnp.tanh(x * by)
    return x / (1 + jnp.sqrt(x * x + by)) - jnp.exp(x)


@jax.jit
def parts(x, by):
    return jax.nn.softmax(x) * by, jax.nn.softmax(x, axis=0)


def test_what_became_a_call_of_the_prelude():
    text = hlo(dropped, KEY, X)
    assert "random_uniform(keys[0], (4, 16)) < 0.9" in main(text)
    assert "def bernoulli" not in xla2py.emit(text).source
    assert "def bernoulli" in xla2py.emit(text, disable_passes=["inlining"]).source
    assert_agrees(text, KEY, X, without="inlining")


def test_a_remainder_by_a_number_is_no_function():
    i = np.array([-5, 7, 3], np.int32)
    text = hlo(lambda x, i: x[i % 4] + x[(i + 1) % 4, 2:3], X, i)
    assert "x[i % 4]" in main(text) and "def remainder" not in xla2py.emit(text).source
    assert_agrees(text, X, i, without="inlining")


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda x: scaled(x, x[0, 0]) + scaled(x + 1, x[1, 0]), "def scaled"),
        (lambda x: jnp.add(*parts(x, x[0, 0])) * jnp.subtract(*parts(x + 1, x[1, 0])), "def parts"),
    ],
)
def test_longer_functions_and_those_of_several_results_stay(function, name):
    text = hlo(function, X)
    assert name in xla2py.emit(text).source
    assert_agrees(text, X, without="inlining")


def test_a_function_that_gives_the_results_of_one_call():
    """They stay results: of the call that the function is."""
    keys = np.stack([KEY, KEY + 1])
    text = hlo(jax.vmap(lambda key: jax.random.bits(key, (5,))), keys)
    assert "first, second = threefry_2x32(" in main(text) and "def threefry2x32" not in xla2py.emit(text).source
    assert_agrees(text, keys, without="inlining")


def test_functions_that_are_given_by_keyword_stay():
    text = """HloModule m
    ge { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=GE }
    last { a = f32[] parameter(0)  ROOT b = f32[] parameter(1) }
    ENTRY main {
      x = f32[6] parameter(0)
      source = f32[3] parameter(1)
      zero = f32[] constant(0)
      ROOT r = f32[6] select-and-scatter(x, source, zero), window={size=2 stride=2}, select=ge, scatter=last
    }
    """
    x, source = np.array([1, 3, 2, 2, 5, 4], np.float32), np.array([7, 8, 9], np.float32)
    assert "combine=last" in xla2py.emit(text).source
    np.testing.assert_array_equal(xla2py.emit(text).load().main(x, source), [0, 7, 8, 0, 9, 0])


@pytest.mark.parametrize(("name", "stays"), [("expm.1", True), ("_interp.2", True), ("expm_of.1", False)])
def test_functions_that_readers_know_stay_where_they_are_called_once(name, stays):
    text = f"""HloModule m
    {name} {{
      a = f32[3] parameter(0)
      b = f32[3] sine(a)
      c = f32[3] exponential(b)
      d = f32[3] add(b, c)
      e = f32[3] cosine(d)
      ROOT f = f32[3] multiply(e, c)
    }}
    ENTRY main {{ x = f32[3] parameter(0)  ROOT r = f32[3] call(x), to_apply={name} }}
    """
    source = xla2py.emit(text).source
    assert (f"def {name.strip('_').split('.')[0]}(" in source) is stays
    assert_agrees(text, X[0, :3], without="inlining")
