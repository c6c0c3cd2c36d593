"""Results of a layer that are a part of the tree that main returns: handed over as that part, or one by one."""

import re

import numpy as np
import pytest

import xla2py
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.transpile.emission.naming.identifiers import common_start, outer_words

WIDTH = 4


def layer(params, x):
    hidden = jax.nn.gelu(x @ params["dense"]["w"] + params["dense"]["b"])
    centred = hidden - hidden.mean(-1, keepdims=True)
    normal = centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return x + normal * params["norm"]["scale"] + params["norm"]["bias"]


def step(params, momentum, x, y):
    def loss(params):
        h = x
        for each in params["layers"]:
            h = layer(each, h)
        return ((h @ params["head"] - y) ** 2).mean()

    grads = jax.grad(loss)(params)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
    return jax.tree.map(lambda p, m: p - 0.1 * m, params, momentum), momentum


def parameters(count):
    rng = np.random.default_rng(3)

    def array(*shape):
        return rng.normal(size=shape).astype(np.float32)

    def one():
        dense = {"w": array(WIDTH, WIDTH), "b": array(WIDTH)}
        return {"dense": dense, "norm": {"scale": array(WIDTH), "bias": array(WIDTH)}}

    return {"layers": [one() for _ in range(count)], "head": array(WIDTH, 2)}


X, Y = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, WIDTH), np.ones((3, 2), np.float32)


def returned_by_main(text):
    """The last statement of main."""
    lines = text[text.index("def main") :]
    return lines[lines.index("\n    return ") : lines.index("\n\n\ndef ")]


def agree(found, wanted, tree=jax.tree):
    assert tree.structure(found) == tree.structure(wanted)
    for one, other in zip(tree.leaves(found), tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-5)


def emitted(function, given):
    """The text of a function, whose values are XLA's."""
    module = xla2py.emit(xla2py.from_jax(function, *given))
    agree(module.load().main(*given), jax.jit(function)(*given))
    return module.source


def test_a_training_step_hands_new_weights_over_by_the_layer():
    given = parameters(3), parameters(3), X, Y
    text = emitted(step, given)
    assert "    new_params_layers: dict[str, dict[str, Array]]\n" in text
    returned = returned_by_main(text)
    handed_over = [len(re.findall(rf"^ +\w+\.new_{each}_layers,$", returned, re.M)) for each in ("params", "momentum")]
    assert handed_over == [3, 3]
    assert '"dense": {' not in returned


@pytest.mark.parametrize("count", [4, 7])
def test_a_training_step_of_any_number_of_layers_is_as_long(count):
    given = parameters(count), parameters(count), X, Y
    text = emitted(step, given)
    main = text[text.index("def main") : text.index("\n\n\ndef d_layer")]
    assert '"layers": new_params_layers' in main and '"layers": new_momentum_layers' in main
    assert f"for i in range({count}):" in main and f"for i in reversed(range({count})):" in main
    assert main.count("layer(") == 1 and main.count("d_layer_2(") == 1
    assert len(main.splitlines()) == 23


def test_what_is_read_again_is_given_one_by_one():
    def with_norm(params, momentum, x, y):
        new, momentum = step(params, momentum, x, y)
        return new, momentum, new["layers"][1]["norm"]["bias"] * 2

    given = parameters(3), parameters(3), X, Y
    returned = returned_by_main(emitted(with_norm, given))
    assert ".new_momentum_layers," in returned
    assert ".new_params_layers," not in returned  # one of its leaves is read once more
    assert re.search(r'"dense": \w+_1\.new_params_layers_dense,', returned)


def test_words_in_common():
    assert common_start(["new_norm_0_bias", "new_norm_0_scale"]) == "new_norm_0"
    assert common_start(["a_b", "c_b"]) == ""
    assert outer_words(["new_block_1_norm_0", "new_block_2_norm_0"]) == "new_block_norm_0"
    assert outer_words(["new_norm_0", "new_norm_1"]) == "new_norm"
    assert outer_words(["new_norm"]) == "new_norm"
