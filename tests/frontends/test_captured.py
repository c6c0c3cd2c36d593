"""Constants are called after the arrays that a function closes over."""

import sys
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import xla2py

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

generator = np.random.default_rng(0)


def numbers(*shape):
    """Short numbers: a text has all of them."""
    return generator.integers(-99, 99, shape).astype(np.float32)


MASK = numbers(5, 100)
PARAMS = {"layers": [{"w": numbers(100, 100)}]}
ROW = numbers(100)


class Model:
    def __init__(self):
        self.scale = numbers(100, 100)

    def apply(self, x):
        return x @ self.scale


def named_constants(function):
    found = xla2py.emit(function, examples=[np.ones((5, 100), np.float32)], constants="npz")
    return set(found.constants), found.source


def test_constants_are_called_after_globals_and_leaves_of_trees():
    names, source = named_constants(lambda x: x * MASK @ PARAMS["layers"][0]["w"])
    assert names == {"MASK", "PARAMS.layers.0.w"}
    assert 'mask = constant("MASK"' in source and '    layers_0_w = constant("PARAMS.layers.0.w"' in source


def test_attributes_arguments_that_are_bound_and_functions_that_are_called():
    names, _ = named_constants(Model().apply)
    assert names == {"scale"}
    names, _ = named_constants(partial(lambda w, x: x @ w, PARAMS["layers"][0]["w"]))
    assert names == {"argument_0"}
    inner = Model().apply
    assert named_constants(lambda x: inner(x) + 1)[0] == {"scale"}


class Filter:
    """A Kalman filter of a position and a velocity."""

    def __init__(self):
        self.F = np.array([[1, 1], [0, 1]], np.float32)
        self.Q = np.diag(np.array([0.01, 0.02], np.float32))
        self.H = np.array([[1, 0.5]], np.float32)

    def update(self, state, z):
        m, P = state
        m, P = self.F @ m, self.F @ P @ self.F.T + self.Q
        S = self.H @ P @ self.H.T + 0.1
        K = jnp.linalg.solve(S, self.H @ P).T
        return (m + K @ (z - self.H @ m), P - K @ self.H @ P), jnp.linalg.slogdet(S)[1]


TRACKER = Filter()


def track(state, zs):
    return jax.lax.scan(TRACKER.update, state, zs)


def test_attributes_of_objects_have_names_also_transposed_and_inside_loops():
    start = np.zeros(2, np.float32), np.eye(2, dtype=np.float32)
    zs = np.random.default_rng(2).standard_normal((9, 1)).astype(np.float32)
    found = xla2py.emit(track, examples=[start, zs])
    for line in ("P = F @ P @ F.T + Q", "S = H_dot_P @ H.T + 0.1", "ratio = H_dot_P / S"):
        assert line in found.source
    expected = jax.tree.leaves(track(start, zs))
    for ours, theirs in zip(jax.tree.leaves(found.load().main(start, zs)), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def test_objects_may_refuse_to_be_asked_for_attributes():
    class Lazy:
        def __init__(self):
            self.row = ROW

        def __getattr__(self, name):
            raise (RuntimeError if name.startswith("__array") else AttributeError)(name)

    lazy = Lazy()
    assert named_constants(lambda x: x + lazy.row)[0] == {"lazy.row"}


def test_names_begin_with_no_underscore():
    _hidden = {"w": PARAMS["layers"][0]["w"]}
    assert named_constants(lambda x: x @ _hidden["w"])[0] == {"hidden.w"}


def test_variables_of_keras_have_their_paths():
    """JAX takes a model, a layer and a variable each for one leaf."""

    class Variable:
        def __init__(self, path, value):
            self.path, self.value = path, jnp.asarray(value)

    class Network:
        def __init__(self):
            self.variables = [Variable("dense/kernel", PARAMS["layers"][0]["w"]), Variable("dense/bias", ROW)]

    Variable.__module__ = Network.__module__ = "keras.models"
    network, alone = Network(), Variable("offset", MASK)
    names, _ = named_constants(lambda x: x @ network.variables[0].value + network.variables[1].value + alone.value)
    assert names == {"network.dense.kernel", "network.dense.bias", "alone"}


def test_small_tables_have_names_too(monkeypatch):
    """Whatever else is among the modules of Python."""
    monkeypatch.setitem(sys.modules, "odd", SimpleNamespace(__file__=[]))
    table = numbers(60)
    _, source = named_constants(lambda x: x[:, :60] * table)
    assert "\nTABLE = np.array(" in source


def test_equal_arrays_are_one_constant_and_what_is_computed_has_no_name():
    copy = MASK.copy()
    names, _ = named_constants(lambda x: x * MASK + copy)
    assert names == {"copy"}
    doubled = 2 * MASK
    names, _ = named_constants(lambda x: x * jnp.asarray(doubled * 3))
    assert names == {"constant_1"}


def test_an_array_that_is_used_as_it_is_and_transposed_is_one_constant():
    names, source = named_constants(lambda x: x @ jnp.asarray(MASK).T @ MASK)
    assert names == {"MASK"} and ".T" in source


def test_an_array_that_is_reshaped_is_the_array_and_functions_inside_read_globals():
    def outer(x):
        def inner(y):
            return y * jnp.asarray(ROW).reshape(1, 100)

        return inner(x)

    found = xla2py.emit(outer, examples=[np.ones((5, 100), np.float32)])
    assert found.constants["ROW"].shape == (100,)
    assert "x * row" in found.source


def test_a_variable_of_flax_is_its_array():
    @partial(jax.tree_util.register_dataclass, data_fields=["value"], meta_fields=[])
    @dataclass
    class Variable:
        value: np.ndarray

    tree = {"kernel": Variable(PARAMS["layers"][0]["w"])}
    assert named_constants(lambda x: x @ tree["kernel"].value)[0] == {"tree.kernel"}


def test_of_long_paths_the_end_that_tells_them_apart_is_the_name():
    layers = [{"weight": numbers(100, 100)} for _ in range(2)]
    flow = {"bijections_of_a_flow": [{"conditioner": {"layers_of_it": layers}, "scale_of_the_transformer": ROW * 9}]}

    def apply(x):
        (bijection,) = flow["bijections_of_a_flow"]
        for layer in bijection["conditioner"]["layers_of_it"]:
            x = x @ layer["weight"]
        return x * bijection["scale_of_the_transformer"]

    names, source = named_constants(apply)
    assert "flow.bijections_of_a_flow.0.conditioner.layers_of_it.1.weight" in names
    assert "    layers_of_it_0_weight = constant(" in source
    assert "    layers_of_it_1_weight = constant(" in source
    assert "    scale_of_the_transformer = " in source


GATES = numbers(100, 60)
STACK = numbers(2, 100, 30)


def test_parts_of_an_array_are_slices_of_it():
    params = {"gates": GATES, "stack": STACK}

    def cut(x):
        one, other = jnp.split(jnp.asarray(params["gates"]), [40], axis=1)
        stack = jnp.asarray(params["stack"])
        return x @ one, x @ other, x @ stack[0] + x @ stack[1]

    names, source = named_constants(cut)
    assert names == {"params.gates", "params.stack"}
    assert "[:, :40]" in source and "[:, 40:]" in source


def test_arrays_of_which_little_is_used_and_parts_with_few_numbers_are_not_stored_whole():
    narrow = np.tile(np.float32([1, 2, 1]), (100, 30))

    def cut(x):
        return x @ jnp.asarray(GATES)[:, :20], x @ jnp.asarray(narrow)[:, :60]

    assert not named_constants(cut)[0] & {"GATES", "narrow"}


def test_constants_and_values_of_a_function_have_different_names():
    x, s = numbers(3, 5), (numbers(5, 7), numbers(5, 7))

    def product(S_1):
        return S_1 @ s[1] + (S_1 @ s[0]).sum()

    found = xla2py.emit(product, examples=[x])
    assert "S_1=S_1)" in found.source
    np.testing.assert_array_equal(found.load().main(x), jax.jit(product)(x))
