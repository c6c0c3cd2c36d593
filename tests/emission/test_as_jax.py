"""An emitted module is a function of JAX: in ``jit``, under ``vmap``, with a gradient of its own."""

import ast
import pickle
from typing import NamedTuple

import numpy as np
import pytest

import xla2py
from xla2py.transpile.emission.module.inside_jax import without_checks

jax = pytest.importorskip("jax")
jnp = jax.numpy

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
LONG = np.linspace(-1, 1, 40, dtype=np.float32)
PARAMS = {"w": np.ones((3, 2), np.float32), "b": np.arange(2, dtype=np.float32)}


class State(NamedTuple):
    count: object
    mean: object


def predict(params, x):
    return jnp.tanh(x @ params["w"] + params["b"])


def step(state, x):
    return State(state.count + 1, {"m": state.mean["m"] + x}), (x.sum(), None)


@pytest.mark.parametrize("target", ["numpy", "dask"])
def test_a_module_runs_inside_jit(target):
    function = xla2py.emit(xla2py.from_jax(predict, PARAMS, X), target).as_jax()
    found = jax.jit(lambda x: 2 * function(PARAMS, x).sum(axis=0))(X)
    np.testing.assert_allclose(found, 2 * predict(PARAMS, X).sum(axis=0), rtol=1e-5, atol=1e-6)


def test_trees_and_objects_come_back_as_main_returns_them():
    state = State(np.int32(3), {"m": X})
    module = xla2py.emit(xla2py.from_jax(step, state, X))
    found, (total, nothing) = jax.jit(module.as_jax())(state, X)
    assert type(found).__name__ == "State"
    assert found.count == 4
    np.testing.assert_array_equal(found.mean["m"], 2 * X)
    np.testing.assert_allclose(total, X.sum(), atol=1e-6)
    assert nothing is None


def test_vmap_calls_it_for_each_element():
    function = xla2py.emit(xla2py.from_jax(predict, PARAMS, X)).as_jax()
    many = np.stack([X, 2 * X])
    found = jax.vmap(function, in_axes=(None, 0))(PARAMS, many)
    np.testing.assert_allclose(found, jax.vmap(predict, in_axes=(None, 0))(PARAMS, many), rtol=1e-5, atol=1e-6)


def test_a_second_module_is_its_gradient():
    def pulled(params, x, given):
        return jax.vjp(predict, params, x)[1](given)

    gradient = xla2py.emit(xla2py.from_jax(pulled, PARAMS, X, X[:, :2]))
    function = xla2py.emit(xla2py.from_jax(predict, PARAMS, X)).as_jax(gradient=gradient)
    found = jax.grad(lambda params: (function(params, X) ** 2).sum())(PARAMS)
    expected = jax.grad(lambda params: (predict(params, X) ** 2).sum())(PARAMS)
    for name in PARAMS:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-5, atol=1e-6)


def test_a_gradient_by_the_only_argument():
    gradient = xla2py.emit(xla2py.from_jax(lambda x, given: (jnp.cos(x) * given,), X, X))
    function = xla2py.emit(xla2py.from_jax(jnp.sin, X)).as_jax(gradient=gradient)
    np.testing.assert_allclose(jax.grad(lambda x: function(x).sum())(X), np.cos(X), rtol=1e-5)


def running(decay, x):
    def body(total, each):
        total = jnp.sin(decay * total + each)
        return total, total

    return jax.lax.scan(body, jnp.float32(0), x)


@pytest.mark.compiled
def test_compiled_code_is_called_without_python():
    module = xla2py.emit(xla2py.from_jax(running, np.float32(1), LONG), style="fast")
    function = module.as_jax()
    assert "pure_callback" not in str(jax.make_jaxpr(function)(np.float32(1), LONG))
    for found in (jax.jit(function)(np.float32(0.5), -LONG), function(x=-LONG, decay=np.float32(0.5))):
        for part, expected in zip(found, running(np.float32(0.5), -LONG), strict=True):
            np.testing.assert_allclose(part, expected, rtol=1e-5)
    many = jax.vmap(function, in_axes=(None, 0))(np.float32(0.5), np.stack([LONG, -LONG]))[1]
    np.testing.assert_allclose(many[1], function(np.float32(0.5), -LONG)[1])
    with pytest.raises(TypeError, match=r"x: expected float32\[40\], got float32\[2\]"):
        function(np.float32(1), LONG[:2])


def test_compiled_code_keeps_what_is_called_for_its_effect():
    body = "check_arguments('float32', (1,), x=x)\n    fill(out, x)\n    return out"
    text = f"@np.errstate(all='ignore')\ndef main(x):\n    {body}"
    (function,) = ast.parse(text).body
    assert ast.unparse(without_checks(function)) == "def main(x):\n    fill(out, x)\n    return out"


@pytest.mark.parametrize("made", ["any size", "another process", "several devices"])
def test_unknown_shapes_are_refused(made):
    if made == "any size":
        module = xla2py.emit(xla2py.from_jax(jnp.sin, xla2py.array("N")))
    elif made == "another process":
        module = pickle.loads(pickle.dumps(xla2py.emit(xla2py.from_jax(jnp.sin, X))))
    else:
        module = xla2py.emit("HloModule m, replica_count=2\nENTRY e { ROOT x = f32[2] parameter(0) }")
    with pytest.raises(xla2py.errors.UsageError, match="XP726"):
        module.as_jax()
