"""Objects among the results: of small classes of the module's own, which ``main`` takes again, or imported ones."""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

import xla2py
from xla2py.targets.cupy.twin.modules import to_device, to_host, twin
from xla2py.transpile.frontends.trees import trees_of
from xla2py.transpile.hlo.ir import Built

jax = pytest.importorskip("jax")


class State(NamedTuple):
    count: Any
    index: Any


class Empty(NamedTuple):
    pass


@partial(jax.tree_util.register_dataclass, data_fields=["w", "b"], meta_fields=["rate", "act"])
@dataclass(frozen=True)
class Dense:
    w: Any
    b: Any
    rate: float = 0.5
    act: Any = None


@partial(jax.tree_util.register_dataclass, data_fields=["layers", "_norm"], meta_fields=[])
@dataclass
class Hidden:
    layers: Any
    _norm: Any


@jax.tree_util.register_pytree_node_class
class Scaled:
    """Its parts have no names for JAX, but are attributes."""

    def __init__(self, x, factor):
        self.x, self.factor = x, factor

    def tree_flatten(self):
        return (self.x,), self.factor

    @classmethod
    def tree_unflatten(cls, factor, parts):
        return cls(*parts, factor)


@jax.tree_util.register_pytree_node_class
class Bag:
    """Its parts are no attributes."""

    def __init__(self, parts):
        self.parts = list(parts)

    def tree_flatten(self):
        return tuple(self.parts), 3

    @classmethod
    def tree_unflatten(cls, count, parts):
        assert count == 3
        return cls(parts)


W, B, X = np.eye(3, dtype=np.float32), np.float32([1, 2, 3]), np.float32([0.5, 1, 2])
MODELS = {
    "fields": Dense(W, B),
    "a function that has no literal": Dense(W, B, act=np.tanh),
    "a named tuple": State(np.int32(1), {"m": W, "e": Empty()}),
    "None in it": Dense(W, None),
    "an underscore": Hidden([Dense(W, B), Dense(B, W)], B),
    "attributes without keys": Scaled(Scaled(W, 2), 257),
    "two of one name": (Dense(W, B), type("Dense", (State,), {})(W, B)),
    "all together": {"state": State(W, Scaled(B, 0)), "model": [Hidden((), Dense(W, None))]},
}


def step(model, x):
    return jax.tree.map(lambda leaf: (leaf * 2 + x.sum()).astype(leaf.dtype), model)


def arrays(tree):
    """The leaves of what ``main`` gives, in order."""
    if isinstance(tree, dict):
        parts = [tree[key] for key in sorted(tree)]
    elif hasattr(tree, "__dataclass_fields__"):
        parts = [getattr(tree, name) for name in tree.__dataclass_fields__]
    elif isinstance(tree, list | tuple):
        parts = tree
    else:
        return [] if tree is None else [tree]
    return [array for part in parts for array in arrays(part)]


@pytest.mark.parametrize("name", MODELS)
def test_main_takes_what_it_gives(name):
    model = MODELS[name]
    emitted = xla2py.emit(xla2py.from_jax(step, model, X))
    assert "import_module" not in emitted.source and "tuple of its parts" not in emitted.source
    main = emitted.load().main
    found, wanted = model, model
    for _ in range(3):
        found, wanted = main(found, X), jax.jit(step)(wanted, X)
    for one, other in zip(arrays(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("name", ["an underscore", "a named tuple"])
def test_cupy_has_the_classes(name):
    leaves, tree = jax.tree.flatten(MODELS[name])

    def steps(x, *leaves):
        return step(jax.tree.unflatten(tree, leaves), x)

    with twin():
        main = xla2py.emit(xla2py.from_jax(steps, X, *leaves), "cupy").load().main
        found = to_host(arrays(main(*to_device([X, *leaves]))))
    for one, other in zip(found, jax.tree.leaves(jax.jit(steps)(X, *leaves)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("a function that has no literal",)])
def test_classes_are_imported_on_request(name):
    model = MODELS[name] if name != "two of one name" else MODELS[name][0]
    emitted = xla2py.emit(xla2py.from_jax(step, model, X), classes="import")
    assert "--classes import" in emitted.source
    found, wanted = emitted.load().main(model, X), jax.jit(step)(model, X)
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_what_cannot_be_imported_is_said():
    emitted = xla2py.emit(xla2py.from_jax(step, Dense(W, B, act=np.tanh), X), classes="import")
    assert "Dense cannot be imported: objects with its fields are returned" in emitted.source.split('"""')[1]
    assert type(emitted.load().main(Dense(W, B), X)).__name__ == "Dense"


def test_a_missing_class_is_an_error_of_the_import():
    text = xla2py.emit(xla2py.from_jax(step, Dense(W, B), X), classes="import").source
    with pytest.raises(ModuleNotFoundError):
        exec(text.replace(__name__, "no_such_module"), {"__name__": "made"})


@pytest.mark.parametrize("classes", ["own", "import"])
def test_parts_without_names_are_a_tuple_unless_their_class_is_there(classes):
    emitted = xla2py.emit(xla2py.from_jax(lambda x: Bag([x, x + 1, x]), X), classes=classes)
    found = emitted.load().main(X)
    assert ("Bag is returned as a plain tuple of its parts" in emitted.source) == isinstance(found, tuple)
    assert isinstance(found, tuple if classes == "own" else Bag)


@pytest.mark.parametrize("results", [(0, None), (None, 0, 1), ((), 0)])
def test_none_beside_arrays_stays_in_its_place(results):
    def function(x):
        return jax.tree.map(lambda k: x + k, results)

    found, expected = xla2py.emit(xla2py.from_jax(function, X)).load().main(X), function(X)
    assert [type(part) for part in found] == [np.ndarray if isinstance(k, int) else type(k) for k in results]
    for one, other in zip(arrays(found), arrays(expected), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_classes_read_like_the_program():
    source = xla2py.emit(xla2py.from_jax(step, MODELS["all together"], X)).source
    assert 'class State(NamedTuple):\n    """The fields of' in source
    assert "    count: Tree\n    index: Tree\n" in source
    assert "@dataclass\nclass Hidden:" in source and "    layers: Tree\n    _norm: Tree\n" in source
    assert source.count("class Dense") == 1 and "Dense(w=" in source


def test_jax_sees_the_leaves_of_own_classes():
    main = xla2py.emit(xla2py.from_jax(step, MODELS["two of one name"], X)).load().main
    assert len(jax.tree.leaves(main(MODELS["two of one name"], X))) == 4


def test_a_decorated_function_returns_the_classes_of_the_program():
    model = MODELS["an underscore"]
    found = xla2py.numpy(step)(model, X)
    assert jax.tree.structure(found) == jax.tree.structure(model)
    np.testing.assert_allclose(found._norm, 2 * B + X.sum(), rtol=1e-6)


def test_a_class_may_be_called_like_a_word_of_the_module():
    made = {name: type(name, (State,), {}) for name in ("Tree", "NamedTuple", "Array", "main", "np", "check_trees")}
    model = {name: kind(W, B) for name, kind in made.items()}
    main = xla2py.emit(xla2py.from_jax(step, model, X)).load().main
    np.testing.assert_allclose(main(main(model, X), X)["np"].count, 4 * W + 3 * X.sum(), rtol=1e-6)


def test_trees_of_keys_that_are_numbers_know_their_attributes():
    """A number that is as large as a leaf's is another attribute."""
    lowered = jax.jit(lambda x: Scaled(x, 0)).lower(X)
    assert trees_of(jax, lowered, 1).results == Built(__name__, "Scaled", (0,), ("x",), "unflatten", "0")


def test_types_are_those_that_mypy_infers(tmp_path, wrong_types):
    for number, name in enumerate(("an underscore", "a named tuple")):
        text = xla2py.emit(xla2py.from_jax(step, MODELS[name], X)).source
        (tmp_path / f"step_{number}.py").write_text(text, "utf-8")
        assert wrong_types(tmp_path, f"step_{number}.py") == ""
