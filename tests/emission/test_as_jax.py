"""An emitted module is a function of JAX: in ``jit``, under ``vmap``, with a gradient of its own."""

import pickle
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest

import xla2py
from xla2py.transpile.emission.module import inside_jax
from xla2py.transpile.errors import UsageError

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


@partial(jax.tree_util.register_dataclass, data_fields=["_sum", "parts"], meta_fields=[])
@dataclass
class Hidden:
    _sum: object
    parts: object


def test_objects_with_hidden_fields_have_leaves():
    module = xla2py.emit(xla2py.from_jax(lambda x: [Hidden(x.sum(), (Hidden(x + 1, None),))], X))
    for _ in range(2):
        (found,) = jax.jit(module.as_jax())(X)
        np.testing.assert_allclose(found._sum, X.sum(), atol=1e-6)
        np.testing.assert_array_equal(found.parts[0]._sum, X + 1)


def test_a_tuple_of_one_stays_one():
    module = xla2py.emit(xla2py.from_jax(lambda x: (jnp.sin(x),), X))
    for found in (module.load().main(X), jax.jit(module.as_jax())(X)):
        assert isinstance(found, tuple)
        np.testing.assert_allclose(found[0], np.sin(X), rtol=1e-6)


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


def test_a_gradient_without_cotangents_is_refused():
    gradient = xla2py.emit(xla2py.from_jax(jnp.cos, X))
    with pytest.raises(UsageError, match=r"XP726.*\(x\)"):
        xla2py.emit(xla2py.from_jax(jnp.sin, X)).as_jax(gradient=gradient)


def running(decay, x):
    def body(total, each):
        total = jnp.sin(decay * total + each)
        return total, total

    return jax.lax.scan(body, jnp.float32(0), x)


@pytest.mark.compiled
def test_compiled_code_is_called_without_python(monkeypatch):
    module = xla2py.emit(xla2py.from_jax(running, np.float32(1), LONG), style="fast")
    monkeypatch.setattr(inside_jax, "python_handler", None)
    function = module.as_jax()
    for found in (jax.jit(function)(np.float32(0.5), -LONG), function(x=-LONG, decay=np.float32(0.5))):
        for part, expected in zip(found, running(np.float32(0.5), -LONG), strict=True):
            np.testing.assert_allclose(part, expected, rtol=1e-5)
    many = jax.vmap(function, in_axes=(None, 0))(np.float32(0.5), np.stack([LONG, -LONG]))[1]
    np.testing.assert_allclose(many[1], function(np.float32(0.5), -LONG)[1])
    with pytest.raises(TypeError, match=r"x: expected float32\[40\], got float32\[2\]"):
        function(np.float32(1), LONG[:2])


@pytest.mark.compiled
def test_arithmetic_beside_kernels_has_the_types_of_numpy():
    def with_integers(decay, x, n):
        return running(decay, x)[1], n * 2000000000 // 3

    arguments = np.float32(1), LONG, np.arange(12, dtype=np.int32)
    function = xla2py.emit(xla2py.from_jax(with_integers, *arguments), style="fast").as_jax()
    np.testing.assert_array_equal(function(*arguments)[1], with_integers(*arguments)[1])


@pytest.mark.parametrize("dtype", ["bool", "int4", "int8", "bfloat16", "float8_e4m3fn", "complex64"])
def test_xla_calls_python_with_arrays_of_any_type(dtype):
    x = jnp.arange(6).reshape(2, 3).astype(dtype)
    for part in (x, x[:0], x[0, 0]):
        function = xla2py.emit(xla2py.from_jax(lambda x: (x.T, x == x), part)).as_jax()
        is_called_back = "callback" in jax.jit(function).lower(part).as_text()
        assert is_called_back == (dtype == "int4")  # XLA packs two of them into a byte
        turned, same = function(part)
        assert turned.dtype == part.dtype
        np.testing.assert_array_equal(turned.astype("complex64"), part.T.astype("complex64"))
        assert bool(same.all())


def test_an_error_of_a_module_is_an_error_of_xla():
    function = xla2py.emit(xla2py.from_jax(predict, PARAMS, X)).as_jax()
    with pytest.raises(
        jax.errors.JaxRuntimeError, match=r"params\['w'\]: expected float32\[3, 2\], got float32\[2, 2\]"
    ):
        jax.block_until_ready(function({**PARAMS, "w": PARAMS["w"][:2]}, X))
    np.testing.assert_allclose(function(PARAMS, X), predict(PARAMS, X), rtol=1e-5)


def test_other_devices_call_it_back(monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    function = xla2py.emit(xla2py.from_jax(predict, PARAMS, X)).as_jax()
    assert "callback" in function.lower(PARAMS, X).as_text()
    np.testing.assert_allclose(function(PARAMS, X), predict(PARAMS, X), rtol=1e-5)


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
