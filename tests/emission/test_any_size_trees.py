"""Modules for any size whose ``main`` takes and returns trees."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import xla2py
from xla2py.tests.recording.lazy_jax import jax, jnp


class Layer(NamedTuple):
    w: Any
    b: Any


def mlp(params, x):
    for layer in params["layers"]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return {"out": x, "largest": jnp.abs(x).max()}


def affine(layer, x):
    return x @ layer.w + layer.b * x.shape[0], layer._replace(b=layer.b + 1)


def scaled(params):
    return {"w": params["w"] / jnp.sqrt(params["w"].shape[0]) * jnp.arange(params["w"].shape[1])}


LAYERS = {"layers": [{"w": ("D", "H"), "b": ("H",)}, {"w": ("H", "D"), "b": ("D",)}]}
PROGRAMS = [
    (mlp, (LAYERS, ("B", "D"))),
    (affine, (Layer(("K", "N"), ("N",)), ("B", "K"))),
    (scaled, ({"w": ("N", "M")},)),
]
SIZES = {"B": 11, "D": 5, "H": 7, "K": 5, "N": 7, "M": 6}


def of_shapes(make, tree):
    """The tree with ``make(shape)`` in place of each shape: a plain tuple of names."""
    is_shape = lambda part: type(part) is tuple and all(isinstance(name, str) for name in part)  # noqa: E731
    return jax.tree_util.tree_map(make, tree, is_leaf=is_shape)


def arrays(trees, sizes):
    rng = np.random.default_rng(0)
    return of_shapes(lambda shape: rng.normal(size=[sizes[name] for name in shape]).astype(np.float32), trees)


def emitted(function, trees, **options):
    return xla2py.emit(
        xla2py.from_jax(function, *of_shapes(lambda shape: xla2py.array(", ".join(shape)), trees)), **options
    )


@pytest.mark.parametrize(
    "options", [{}, {"style": "fast"}, {"target": "array-api"}], ids=["readable", "fast", "array_api"]
)
@pytest.mark.parametrize("function, trees", PROGRAMS)
def test_trees_are_taken_and_returned_at_any_size(function, trees, options):
    given = arrays(trees, SIZES)
    result = emitted(function, trees, classes="import", **options).load().main(*given)
    expected = function(*given)
    assert jax.tree_util.tree_structure(result) == jax.tree_util.tree_structure(expected)
    for found, wanted in zip(*map(jax.tree_util.tree_leaves, (result, expected)), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_signature_and_sizes_are_those_of_leaves():
    source = emitted(*PROGRAMS[2]).source
    assert 'SIGNATURE = {"params": {"w": "float32[N, M]"}}' in source
    assert 'n, m = params["w"].shape' in source


@pytest.mark.parametrize(
    "sizes, message",
    [
        ({"B": 11, "D": 5, "H": 1}, r"params\['layers'\]\[0\]\['b'\]: H is 1, must be at least 2"),
        ({"B": 0, "D": 5, "H": 7}, "x: B is 0, must be at least 1"),
    ],
)
def test_sizes_out_of_range_are_refused(sizes, message):
    with pytest.raises(TypeError, match=message):
        emitted(*PROGRAMS[0]).load().main(arrays(LAYERS, sizes), np.ones((sizes["B"], sizes["D"]), np.float32))


def test_leaves_of_other_sizes_and_leaves_that_are_missing_are_refused_by_their_place():
    main = emitted(*PROGRAMS[0]).load().main
    params, x = arrays(PROGRAMS[0][1], SIZES)
    params["layers"][1]["w"] = np.ones((7, 4), np.float32)
    message = r"params\['layers'\]\[1\]\['w'\]: expected float32\[H, D\], H = 7, D = 5, got float32\[7, 4\]"
    with pytest.raises(TypeError, match=message):
        main(params, x)
    del params["layers"][1]
    with pytest.raises(TypeError, match=r"params\['layers'\]\[1\]: missing"):
        main(params, x)


def test_arrays_themselves_are_taken_where_that_is_asked_for():
    params, x = arrays(PROGRAMS[0][1], SIZES)
    leaves = jax.tree_util.tree_leaves((params, x))
    largest, out = emitted(*PROGRAMS[0], nested=False).load().main(*leaves)
    np.testing.assert_allclose(out, mlp(params, x)["out"], rtol=1e-5, atol=1e-6)
    assert largest == np.abs(out).max()


def test_debugging_verifies_the_text_for_any_sizes():
    assert emitted(*PROGRAMS[0], debug=True).source == emitted(*PROGRAMS[0]).source
