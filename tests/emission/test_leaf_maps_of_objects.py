"""Leaves of objects, as of models whose layers are dataclasses: ``map_object_leaves``."""

from collections import namedtuple
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import xla2py
from xla2py.templates.prelude.trees import map_object_leaves
from xla2py.tests.emission.test_leaf_maps import main_of, updated
from xla2py.tests.emission.test_result_groups import agree

jax = pytest.importorskip("jax")
jnp = jax.numpy


@partial(jax.tree_util.register_dataclass, data_fields=["w", "b"], meta_fields=["rate"])
@dataclass(frozen=True)
class Dense:
    w: Any
    b: Any
    rate: float


@partial(jax.tree_util.register_dataclass, data_fields=["layers", "head"], meta_fields=["name"])
@dataclass(frozen=True)
class Model:
    layers: Any
    head: Any
    name: str


NamedDense = namedtuple("NamedDense", "w b")
NamedModel = namedtuple("NamedModel", "layers head")


def model(count, width=3):
    rng = np.random.default_rng(2)

    def dense(size):
        return Dense(rng.normal(size=(width, size)).astype(np.float32), np.zeros(size, np.float32), 0.5)

    return Model([dense(width) for _ in range(count)], dense(2), "model")


def loss(params, x, y):
    for each in params.layers:
        x = jnp.tanh(x @ each.w + each.b) * each.rate
    return ((x @ params.head.w + params.head.b - y) ** 2).mean()


def step(params, mu, nu, count, x, y):
    return updated(params, mu, nu, jax.grad(loss)(params, x, y), count, jax.tree)


X, Y = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3), np.ones((4, 2), np.float32)


@pytest.mark.parametrize("count", [1, 2, 6])
def test_an_optimiser_is_one_call_and_gives_objects(count):
    params = model(count)
    zeros = jax.tree.map(np.zeros_like, params)
    given = params, zeros, zeros, np.float32(1), X, Y
    emitted = xla2py.emit(xla2py.from_jax(step, *given))
    found = emitted.load().main(*given)
    agree(found, jax.jit(step)(*given), jax.tree)
    assert all(isinstance(each, Model) and each.name == "model" for each in found)
    assert found[0].layers[0].rate == 0.5
    text = emitted.source
    assert "new_mu, new_nu, new_params = map_object_leaves(\n        adam, [params, mu, nu, d_params]" in main_of(text)
    assert "import_module" not in text and "class " not in text  # objects are like those that are given


def test_what_has_the_same_fields_will_do():
    """The classes need not be there: results are like the arguments."""
    params = model(2)
    zeros = jax.tree.map(np.zeros_like, params)
    text = xla2py.emit(xla2py.from_jax(step, params, zeros, zeros, np.float32(1), X, Y))

    def plain(tree):
        layers = [SimpleNamespace(w=each.w, b=each.b) for each in (*tree.layers, tree.head)]
        return SimpleNamespace(layers=layers[:-1], head=layers[-1])

    def named(tree):
        """The tree in named tuples, such as the module's own classes are."""
        layers = [NamedDense(each.w, each.b) for each in (*tree.layers, tree.head)]
        return NamedModel(layers[:-1], layers[-1])

    wanted, *_ = jax.jit(step)(params, zeros, zeros, np.float32(1), X, Y)
    for form in (plain, named):
        new_params, *_ = text.load().main(form(params), form(zeros), form(zeros), np.float32(1), X, Y)
        np.testing.assert_allclose(new_params.layers[1].w, wanted.layers[1].w, rtol=2e-4, atol=2e-5)
        assert isinstance(new_params, type(form(params)))


def test_parts_of_objects_that_cannot_be_made():
    """Where a class cannot be imported, one with its fields is returned, and taken."""

    @partial(jax.tree_util.register_dataclass, data_fields=["layers", "head"], meta_fields=["scale"])
    @dataclass(frozen=True)
    class Scaled:
        layers: Any
        head: Any
        scale: Any

    params = Scaled(model(3).layers, model(1).head, np.tanh)  # a function has no literal
    zeros = jax.tree.map(np.zeros_like, params)
    given = params, zeros, zeros, np.float32(1), X, Y
    emitted = xla2py.emit(xla2py.from_jax(step, *given))
    found, wanted = emitted.load().main(*given), jax.jit(step)(*given)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-5)


def test_fields_are_set_on_copies():
    dense = Dense(np.ones(2), np.zeros(2), 0.1)
    doubled, halved = map_object_leaves(
        lambda a, b: (a + b, a - b), [{"one": (dense,)}, {"one": ({"w": np.ones(2), "b": np.ones(2)},)}]
    )
    assert doubled["one"][0].w.tolist() == [2, 2] and halved["one"][0].b.tolist() == [-1, -1]
    assert doubled["one"][0].rate == 0.1 and dense.w.tolist() == [1, 1]


def test_types_are_those_that_mypy_infers(tmp_path, wrong_types):
    params = model(3)
    zeros = jax.tree.map(np.zeros_like, params)
    emitted = xla2py.emit(xla2py.from_jax(step, params, zeros, zeros, np.float32(1), X, Y))
    (tmp_path / "step.py").write_text(emitted.source, "utf-8")
    assert wrong_types(tmp_path, "step.py") == ""
