"""Results of a program that came as text are given as the trees among the arguments that they are like."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.emission.as_xla import agree
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.transpile.emission.trees.argument_trees import leaf_paths

W, B = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3), np.ones(3, np.float32)
X = np.linspace(0, 1, 8, dtype=np.float32).reshape(2, 4)
SCALE = np.float32(2)


def text_of(function, *arguments):
    return jax.jit(function).lower(*arguments).as_text("hlo", debug_info=True)


def results(function, *arguments):
    """Return what main of the nested module gives; its leaves must be those that the function gives."""
    emitted = xla2py.emit(text_of(function, *arguments), nested=True)
    found = emitted.load().main(*arguments)
    agree(found, jax.jit(function)(*arguments))
    return found, emitted.source


def loss(params, x):
    return ((x @ params["dense"]["w"] + params["dense"]["b"]) ** 2).sum() * params["scale"]


PARAMS = {"dense": {"b": B, "w": W}, "scale": SCALE}


def test_gradients_come_as_the_argument_that_they_are_of():
    found, text = results(jax.grad(loss), PARAMS, X)
    assert jax.tree.structure(found) == jax.tree.structure(PARAMS)
    assert "returns like params" in text.splitlines()[0]


def test_a_step_gives_its_trees_beside_other_results():
    def step(params, state, x):
        value, grads = jax.value_and_grad(loss)(params, x)
        moments = jax.tree.map(lambda m, g: 0.9 * m + g, state["m"], grads)
        return jax.tree.map(lambda p, m: p - 0.1 * m, params, moments), {"m": moments}, value

    found, _ = results(step, PARAMS, {"m": PARAMS}, X)
    new_params, moments, value = found
    assert jax.tree.structure(new_params) == jax.tree.structure(moments) == jax.tree.structure(PARAMS)
    assert value.shape == ()


def test_lists_come_as_lists():
    found, _ = results(lambda layers: [layer * 2 for layer in layers], [W, B, SCALE])
    assert isinstance(found, list) and len(found) == 3


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (lambda p: (p["a"] + 1, p["b"] * 2, p["c"]), ({"a": B, "b": B, "c": B},)),  # any three vectors
        (lambda p: (p["a"] + 1, p["b"] * 2), ({"a": B, "b": W},)),  # two are few
        (lambda p: (p["b"] + 1, p["a"] * 2, p["c"]), ({"a": B, "b": W, "c": SCALE},)),  # in another order
    ],
)
def test_what_is_like_no_tree_stays_a_tuple(function, arguments):
    found, _ = results(function, *arguments)
    assert isinstance(found, tuple) and all(np.ndim(each) < 3 for each in found)


def test_objects_are_not_made_anew():
    import collections

    Point = collections.namedtuple("Point", "x y z")
    point = Point(B, W, SCALE)
    text = text_of(lambda p: (p.x + 1, p.y * 2, p.z), point)
    assert any(path is not None for path in leaf_paths(xla2py.load(text)))
    assert isinstance(xla2py.emit(text, nested=True).load().main(point), tuple)


def test_without_trees_the_results_stay_as_they_were():
    emitted = xla2py.emit(text_of(jax.grad(loss), PARAMS, X))
    found = emitted.load().main(B, W, SCALE, X)
    assert isinstance(found, tuple) and jnp.shape(found[1]) == W.shape
