"""Functions of JAX as functions of an array library: decorators by the names of targets."""

import dataclasses
import functools
from typing import NamedTuple

import dask.array as da
import numpy as np
import pytest

import xla2py

jax = pytest.importorskip("jax")
jnp = jax.numpy

X = np.arange(12, dtype=np.float32).reshape(4, 3)


class Moments(NamedTuple):
    mean: object
    square: object


@functools.partial(jax.tree_util.register_dataclass, data_fields=["_w", "b"], meta_fields=["depth"])
@dataclasses.dataclass
class Model:
    _w: object
    b: object
    depth: int = 2


@jax.tree_util.register_pytree_node_class
class Box:
    def __init__(self, inside, label):
        self.inside, self.label = inside, label

    def tree_flatten(self):
        return (self.inside,), (self.label,)

    @classmethod
    def tree_unflatten(cls, static, parts):
        return cls(*parts, *static)


def step(model, moments, x, *rest, rate=0.1, **more):
    grad = x.mean(0)
    model = Model(model._w - rate * grad, model.b + rest[1]["u"], 5)
    return {"model": model, "box": Box(moments.mean * more["scale"], "a")}, Moments(grad, grad**2), {3: grad}


ROW = X[0]
ARGUMENTS = (Model(ROW, ROW), Moments(ROW, ROW), X, ROW, {"u": ROW})
KEYWORDS = {"rate": 0.5, "scale": ROW, "unread": ROW}


def agree(found, wanted):
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-6)


@pytest.mark.parametrize("name", ["numpy", "dask", "array_api"])
def test_a_function_takes_and_returns_its_trees(name):
    made = getattr(xla2py, name)(step)
    assert repr(made).endswith("traced for 0 shapes>")
    found = made(*ARGUMENTS, **KEYWORDS)
    agree(found, jax.jit(step)(*ARGUMENTS, **KEYWORDS))
    assert (found[0]["model"].depth, found[0]["box"].label) == (5, "a")
    assert made.__name__ == "step"
    assert "model._w" in made.source
    assert "return Model(" in made.source or "Model(_w=" in made.source


def test_each_shape_is_traced_once():
    traced = []

    @xla2py.numpy
    def total(x, scale):
        traced.append(x.shape)
        return (x * scale).sum()

    for given in (X, X + 1, X[:2], X):
        np.testing.assert_allclose(total(given, 2.0), 2 * given.sum(), rtol=1e-6)
    assert traced == [(4, 3), (2, 3)]
    assert total.module(X, 1.0).source != total.source
    assert traced == [(4, 3), (2, 3)]


def test_options_and_static_arguments():
    @xla2py.numpy(annotate="none", static_argnames="power")
    def raised(x, power):
        return x**power

    np.testing.assert_allclose(raised(X, 2), X**2)
    np.testing.assert_allclose(raised(X, power=3), X**3)
    assert "# test_array" not in raised.source
    of_jit = xla2py.numpy(jax.jit(lambda x, n: x * n, static_argnames="n"))
    np.testing.assert_allclose(of_jit(X, n=3), X * 3)
    with pytest.raises(xla2py.errors.UsageError, match="static_argnames") as refused:
        of_jit(X, 3)
    assert refused.value.diagnostics[0].code == "XP722"


def test_arguments_are_cast_as_jax_casts_them():
    @xla2py.numpy
    def halves(x, n):
        return x / 2, n + 1

    for given in (X.astype(np.float64), jnp.asarray(X), X):
        half, n = halves(given, 3)
        assert half.dtype == np.float32
        np.testing.assert_allclose(half, X / 2)
        assert (n, n.dtype) == (4, np.int32)


def test_flat_modules_work_too():
    made = xla2py.numpy(step, nested=False)
    agree(made(*ARGUMENTS, **KEYWORDS), jax.jit(step)(*ARGUMENTS, **KEYWORDS))
    assert "model__w" in made.source or "model_w" in made.source


def test_sizes_of_dask_must_be_known():
    numbers = np.linspace(-1, 1, 12, dtype=np.float32)
    x = da.from_array(numbers, chunks=4)
    positive, centred = x[x > 0], xla2py.dask(lambda x: x - x.max())
    with pytest.raises(xla2py.errors.UsageError, match=r"XP722: an array of shape \(nan,\)[\s\S]*compute_chunk_sizes"):
        centred(positive)
    expected = numbers[numbers > 0] - 1
    np.testing.assert_array_equal(centred(positive.compute_chunk_sizes()), expected)


def test_without_shapes_there_is_no_source():
    with pytest.raises(xla2py.errors.UsageError, match="XP724"):
        _ = xla2py.numpy(step).source


def test_other_names_are_no_decorators():
    with pytest.raises(AttributeError, match="no attribute 'array-api'"):
        getattr(xla2py, "array-api")


# -- from_jax, load and emit


@pytest.mark.parametrize("made", [xla2py.load, xla2py.from_jax, lambda program: xla2py.emit(program).program.original])
def test_programs_of_jax_are_taken_as_they_are(made):
    def scaled(p, unread):
        return {"w": p["w"] * 2}

    given = ({"w": X}, X)
    jitted = jax.jit(scaled)
    lowered = jitted.lower(*given)
    exported = jax.export.export(jitted)(*given)
    for program in (lowered, lowered.compile(), exported, jitted.trace(*given)):
        module = made(program)
        assert module.trees.results == {"w": 0}
        main = xla2py.emit(module).load().main
        np.testing.assert_allclose(main({"w": X})["w"], X * 2)


def test_functions_are_traced_for_examples():
    np.testing.assert_allclose(xla2py.emit(jnp.sin, examples=[X]).load().main(X), np.sin(X), rtol=1e-6)
    assert xla2py.load(jnp.sin, examples=[X]).name == xla2py.from_jax(jnp.sin, X).name
    for source, message in ((jnp.sin, "missing"), (3, "an object of type int is not a program")):
        with pytest.raises(xla2py.errors.UsageError, match=message):
            xla2py.emit(source)


# -- results


def test_modules_need_no_class_of_the_program():
    source = xla2py.emit(xla2py.from_jax(step, *ARGUMENTS, **KEYWORDS)).source
    assert "import_module" not in source
    space = {}
    exec(source, space)
    results, moments, _ = space["main"](*ARGUMENTS, **{**KEYWORDS, "rate": np.float32(0.5)})
    assert isinstance(moments, space["Moments"]) and isinstance(results["model"], space["Model"])
    np.testing.assert_allclose(results["box"][0], ROW * ROW)


def test_functions_show_the_source_that_was_emitted_last():
    made = xla2py.numpy(jnp.sin)
    assert made._repr_markdown_() == f"`{made!r}`"
    made(X)
    assert repr(made).endswith("traced for 1 shape>")
    assert made._repr_markdown_() == f"```python\n{made.source}```\n"


def test_modules_and_errors_show_themselves():
    emitted = xla2py.emit(xla2py.from_jax(jnp.sin, X))
    assert repr(emitted).startswith("<GeneratedModule jit_sin for numpy: ")
    assert len(repr(emitted)) < 80
    assert emitted._repr_markdown_() == f"```python\n{emitted.source}```\n"
    with pytest.raises(xla2py.errors.UsageError, match="help: one of: none, short, full"):
        xla2py.emit(emitted.program.original, annotate="x")


@pytest.mark.parametrize("wrong", ["keepdims", 3, (3,)])
def test_words_are_refused_where_several_are_expected(wrong):
    with pytest.raises(xla2py.errors.UsageError, match="disable_passes: expected several words"):
        xla2py.emit(xla2py.from_jax(jnp.sin, X), disable_passes=wrong)


def test_trees_are_no_hindrance_to_checks():
    def chosen(p, x):
        return {"w": jax.lax.cond(x.sum() > 1e30, lambda x: x * p["a"], lambda x: x - p["b"], x)}

    report = xla2py.check(xla2py.from_jax(chosen, {"a": ROW, "b": ROW}, ROW))
    assert report.is_good
    assert len(report.programs[0].unreached) == 1


def test_collected_arguments_are_given_as_the_function_takes_them():
    def collecting(a, *rest, scale, **more):
        return a - rest[0] * more["gain"] + more["nested"]["c"] * scale + rest[1][0]

    x = np.float32([1, 2])
    args, kwargs = (x, 3 * x, (5 * x,)), {"scale": 7 * x, "gain": 11 * x, "nested": {"c": 13 * x}}
    np.testing.assert_allclose(xla2py.numpy(collecting)(*args, **kwargs), collecting(*args, **kwargs))


@pytest.mark.parametrize("target", ["numpy", "dask"])
def test_random_keys_are_taken_and_returned_as_their_data(target):
    def draw(keys, x):
        key, own = jax.random.split(keys["key"])
        return {"key": key}, x + jax.random.uniform(own, x.shape)

    of_arrays = getattr(xla2py, target)(draw)
    keys = {"key": jax.random.key(3)}
    wanted, noisy = draw(keys, X)
    found, values = of_arrays(keys, X)
    np.testing.assert_array_equal(np.asarray(found["key"]), jax.random.key_data(wanted["key"]))
    np.testing.assert_array_equal(np.asarray(values), noisy)
    again, _ = of_arrays(found, X)  # the data of a key in place of one
    np.testing.assert_array_equal(np.asarray(again["key"]), jax.random.key_data(draw(wanted, X)[0]["key"]))
