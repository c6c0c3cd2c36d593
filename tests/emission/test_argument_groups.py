"""Functions take trees and objects in place of parts of them."""

import re

import numpy as np
import pytest

from xla2py.tests.emission import as_xla
from xla2py.tests.recording.lazy_jax import jax, jnp

X = np.random.default_rng(11).standard_normal((3, 4)).astype(np.float32)


def numbers(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def emitted(function, *arguments):
    options = {"checks": False, "annotate": "none"}
    return as_xla.emitted(function, *arguments, rtol=2e-5, atol=2e-5, **options).source


def head(text, name):
    return re.search(rf"^def {name}\((.*?)\) ->", text, re.MULTILINE | re.DOTALL)[1]


def block(x, weights):
    hidden = jnp.tanh(jnp.sin(x) @ weights["inner"]["w"] + weights["inner"]["b"]) * 3
    hidden = hidden / (1 + jnp.square(hidden).sum(axis=-1, keepdims=True))
    return jnp.cos(hidden @ weights["outer"]["w"]) + x


def weights():
    return {"inner": {"w": numbers(4, 6), "b": numbers(6)}, "outer": {"w": numbers(6, 4)}}


@pytest.mark.parametrize("places", ["first second", "second first"])
def test_a_function_takes_the_smallest_tree_of_what_it_reads(places):
    one, other = places.split()

    def model(params, x):
        return block(block(x, params[one]) * 2, params[other])

    text = emitted(model, {"first": weights(), "second": weights(), "rest": [numbers(2), numbers(3)]}, X)
    assert head(text, "block") == "x: Array, params: Tree"
    assert f'block(x, params["{one}"])' in text
    assert f'params["{other}"])' in text
    assert 'params["inner"]["w"]' in text


def test_what_stands_at_other_places_stays_an_argument_of_its_own():
    def model(params, x):
        mixed = {"inner": params["second"]["inner"], "outer": params["third"]["outer"]}
        return block(block(x, params["first"]) * 2, mixed)

    text = emitted(model, {name: weights() for name in ("first", "second", "third")}, X)
    assert head(text, "block").count(": Tree") == 1  # both of the inner layer
    assert 'params["third"]["outer"]["w"]' in text


def test_a_whole_argument_is_taken_where_most_of_it_is_read():
    def model(params, x):
        others = [params[name].sum() for name in params if name.startswith("other")]
        return block(block(x, params) * 2, params) + sum(others)

    assert "block(x, params)" in emitted(model, weights(), X)
    others = {f"other_{k}": numbers(k + 1) for k in range(5)}
    few = emitted(model, {**weights(), **others}, X)
    assert "block(x, params)" not in few
    assert 'params["inner"]' in few


def test_functions_hand_parts_of_their_trees_on():
    def part(x, inner):
        return jnp.tanh(jnp.sin(x) @ inner["w"] + inner["b"]) * jnp.cos(inner["b"]).sum()

    def pair(x, params):
        return part(part(x, params["one"]) / 2, params["two"])

    def model(params, x):
        for each in params:
            x = pair(x, each)
        return x

    layer = {name: {"w": numbers(4, 4), "b": numbers(4)} for name in ("one", "two")}
    text = emitted(model, [layer, layer, layer], X)
    assert re.search(r"part\(x, params\[\"one\"\]\)", text)
    assert "pair(x, params[0])" in text


def test_results_of_another_function_are_handed_on_as_an_object():
    def loss(params, x):
        for each in params:
            x = block(x, each)
        return jnp.square(x).sum()

    text = emitted(jax.grad(loss), [weights() for _ in range(4)], X)
    taken = [name for name in re.findall(r"^def (\w+)", text, re.MULTILINE) if "Results" in head(text, name)]
    assert taken
    assert re.search(r"results\.\w+", text)


def test_several_trees_of_one_argument_are_called_after_their_keys():
    def model(variables, x):
        params = variables["params"]
        for k in range(4):
            x = x / (1 + jnp.square(x).sum()) * params[f"LayerNorm_{k}"]["scale"] + params[f"LayerNorm_{k}"]["bias"]
            x = jnp.tanh(jnp.sin(x) @ params[f"SelfAttention_{k}"]["kernel"] + params[f"SelfAttention_{k}"]["bias"])
        return x

    layers = {"LayerNorm": {"scale": numbers(4), "bias": numbers(4)}}
    layers |= {"SelfAttention": {"kernel": numbers(4, 4), "bias": numbers(4)}}
    text = emitted(model, {"params": {f"{name}_{k}": layer for name, layer in layers.items() for k in range(4)}}, X)
    assert re.search(r"^def \w+\(x: Array, norm_params: Tree, attention_params: Tree\) -> Array:$", text, re.MULTILINE)
