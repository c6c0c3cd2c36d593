"""A layer hands on the results of a call inside it as one object: ``block_0.norm.root``."""

import re

import numpy as np
import pytest

from xla2py.tests.emission.as_xla import emitted
from xla2py.tests.recording.lazy_jax import jax, jnp

WIDTH = 4
X, Y = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, WIDTH), np.ones((3, WIDTH), np.float32)


def norm(params, x):
    centred = x - x.mean(-1, keepdims=True)
    root = jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1)
    normal = centred / root
    return jnp.tanh(normal * params["scale"] + params["bias"]) * jnp.exp(normal)


def block(params, x):
    x = x + jnp.sin(norm(params["norm_0"], x) @ params["w"])
    return x + norm(params["norm_1"], x) * x


def gradient(params, x, y):
    def loss(params, h):
        for k in range(len(params)):
            h = block(params[f"block_{k}"], h)
        return ((h - y) ** 2).mean()

    return jax.grad(loss, (0, 1))(params, x)


def parameters(count):
    rng = np.random.default_rng(5)

    def norm_of():
        return {each: rng.normal(size=WIDTH).astype(np.float32) for each in ("scale", "bias")}

    return {
        f"block_{k}": {
            "norm_0": norm_of(),
            "norm_1": norm_of(),
            "w": rng.normal(size=(WIDTH, WIDTH)).astype(np.float32),
        }
        for k in range(count)
    }


def text_of_blocks(count):
    return emitted(gradient, parameters(count), X, Y, rtol=2e-3, atol=2e-5).source


@pytest.mark.parametrize("count", [3, 6])
def test_a_layer_hands_on_all_that_a_call_in_it_gave(count):
    text = text_of_blocks(count)
    fields = text[text.index("class BlockResults(NamedTuple)") :].split("\n\n\n")[0]
    assert sorted(re.findall(r"^    (norm_\d): NormResults$", fields, re.M)) == ["norm_0", "norm_1"]
    assert len(fields.splitlines()) < 10
    assert re.search(r"d_norm\(\s+block_results\.norm_1,", text[text.index("def d_block(") :])
    assert re.search(r"return BlockResults\(.*\bnorm_0,", text)


def test_loops_give_arrays_that_a_call_handed_on_a_name():
    def value(x, y):
        x = jnp.interp(x.max(axis=-1), y, y * 2)
        x = jax.lax.fori_loop(0, 3, lambda i, x: x.at[i % x.shape[0]].add(i), x)
        return (x / (1 + abs(x).max())).sum()

    emitted(jax.value_and_grad(value, (0, 1)), X[:1, :1], Y[0, :3], rtol=1e-5, atol=1e-6)


def test_backward_calls_have_the_numbers_of_what_they_go_back_through():
    text = text_of_blocks(3)
    for number in range(3):
        assert re.search(rf"^    block_{number} = block\(", text, re.M)
        assert re.search(rf"^    d_block_{number} = d_block\(.*\bblock_{number}\b", text, re.M | re.S)
        assert f'"block_{number}": d_block_{number}.' in text


def test_gradients_are_no_parameters_of_the_author():
    text = text_of_blocks(3)
    for head in re.findall(r"^def d_norm\w*\((.*?)\) ->", text, re.M | re.S):
        assert "params: Array" not in head
