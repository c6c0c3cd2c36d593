"""What is done to every leaf of trees, as by an optimiser, is one call: ``map_leaves(update, params, d_params)``."""

from typing import NamedTuple

import numpy as np
import pytest

import xla2py
from xla2py.templates.prelude.trees import map_leaves
from xla2py.tests.emission.test_result_groups import X, Y, agree, layer, parameters
from xla2py.tests.recording.lazy_jax import jax, jnp

ZEROS = jax.tree.map(np.zeros_like, parameters(3))


def loss(params, x, y):
    for each in params["layers"]:
        x = layer(each, x)
    return ((x @ params["head"] - y) ** 2).mean()


def adam(p, m, v, g, count):
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    return p - 0.1 * (m / (1 - 0.9**count)) / (jnp.sqrt(v / (1 - 0.99**count)) + 1), m, v


def updated(params, mu, nu, grads, count, tree=jax.tree):
    """Three trees like ``params``, by functions of ``tree``."""
    leaves = [*map(tree.leaves, (params, mu, nu, grads))]
    found = [adam(*each, count) for each in zip(*leaves, strict=True)]
    return [tree.unflatten(tree.structure(params), column) for column in zip(*found, strict=True)]


def step(params, mu, nu, count, x, y):
    grads = jax.grad(loss)(params, x, y)
    return updated(params, mu, nu, grads, count), count + 1


def emitted(function, *given, target="numpy"):
    source = xla2py.emit(xla2py.from_jax(function, *given), target, classes="import")
    if target == "numpy":
        agree(source.load().main(*given), jax.jit(function)(*given))
    return source.source


def main_of(text):
    return text[text.index("def main") :].split("\n\n\n")[0]


@pytest.mark.parametrize("count", [2, 3, 8])
def test_an_optimiser_is_one_call(count):
    params = parameters(count)
    zeros = jax.tree.map(np.zeros_like, params)
    text = emitted(step, params, zeros, zeros, np.float32(1), X, Y)
    assert "new_mu, new_nu, new_params = map_leaves(" in main_of(text)
    assert main_of(text).count("map_leaves(") == 1
    assert "map_leaves(\n        adam, [params, mu, nu, d_params], " in main_of(text)
    assert "return [new_params, new_mu, new_nu], count + 1" in main_of(text)


def lion(p, m, g):
    return p - 0.1 * (jnp.sign(0.9 * m + 0.1 * g) + 0.01 * p), 0.99 * m + 0.01 * g


def adagrad(p, s, g):
    s = s + g * g
    return p - 0.1 * g * jnp.where(s > 0, jax.lax.rsqrt(s + 1e-7), 0), s


@pytest.mark.parametrize("update", [lion, adagrad])
def test_results_that_share_what_they_read_are_one_call(update):
    """The new weights and the new momentum have nothing else in common, or a mask between them."""

    def step(params, state, x, y):
        grads = jax.grad(loss)(params, x, y)
        leaves = [*map(jax.tree.leaves, (params, state, grads))]
        found = [update(*each) for each in zip(*leaves, strict=True)]
        return [jax.tree.unflatten(jax.tree.structure(params), column) for column in zip(*found, strict=True)]

    text = emitted(step, parameters(3), ZEROS, X, Y)
    assert f" = map_leaves({update.__name__}, [params, state, d_params])" in main_of(text)
    assert "return [new_params, new_state]" in main_of(text)


def test_a_step_is_as_long_for_any_number_of_layers():
    lengths = []
    for count in (4, 9):
        params = parameters(count)
        zeros = jax.tree.map(np.zeros_like, params)
        lengths.append(emitted(step, params, zeros, zeros, np.float32(1), X, Y).count("\n"))
    assert lengths[0] == lengths[1]


def test_gradients_of_layers_are_parts_of_a_tree():
    text = emitted(step, parameters(3), ZEROS, ZEROS, np.float32(1), X, Y)
    assert '"layers": [' in main_of(text)
    assert 'd_params = {\n        "head": ' in main_of(text)
    assert "def adam(\n    params: Array,\n    mu: Array,\n    nu: Array,\n    d_params: Array,\n" in text
    assert "mu" not in text[text.index("def d_layer") :].split(":\n")[0]  # layers are not given what they need not


class Weights(NamedTuple):
    w: np.ndarray
    b: np.ndarray


def of_leaves(p, g):
    """Six operations and two results."""
    return p - 0.1 * g / (jax.lax.sqrt(g * g + 1e-3) + 1), g * g * jax.lax.tanh(p)


def on_leaves(params, grads):
    found = jax.tree.map(of_leaves, params, grads)
    return jax.tree.transpose(jax.tree.structure(params), None, found)


TREES = {
    "dicts": {"a": {"w": X, "b": Y}, "c": X + 1, "d": Y + 2},
    "lists": [X, [Y, X * 2], Y * 3],
    "tuples": (X, (Y, X * 2), {"w": Y * 3}),
}


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_trees_of_any_kind(tree):
    def changed(params, x):
        return on_leaves(params, jax.tree.map(lambda p: jnp.cumsum(p * x, -1), params))

    text = emitted(changed, tree, np.float32(2))
    assert "leaves_1, leaves_2 = map_leaves(of_leaves, [params, params_values])" in main_of(text)


def as_named(params, x):
    params = [Weights(*params[:2]), Weights(*params[2:])]
    return on_leaves(params, jax.tree.map(lambda p: jnp.cumsum(p * x, -1), params))


def read_again(params, x):
    new, other = on_leaves(params, jax.tree.map(lambda p: jnp.cumsum(p * x, -1), params))
    return new, other, new[0].sum()


def with_one_more(params, x):
    new, other = on_leaves(params, jax.tree.map(lambda p: jnp.cumsum(p * x, -1), params))
    return [*new, x], other


def few(params, x):
    return on_leaves(params[:2], jax.tree.map(lambda p: jnp.cumsum(p * x, -1), params[:2]))


@pytest.mark.parametrize("function", [as_named, read_again, with_one_more, few])
def test_near_misses(function):
    text = emitted(function, [X, Y, X * 2, Y * 3], np.float32(2))
    assert "map_leaves" not in text


def test_leaves_of_two_kinds_are_two_calls():
    """Weights decay, and biases do not."""

    def changed(params, x):
        values = jax.tree.map(lambda p: jnp.cumsum(p * x, -1), params)
        new = {
            name: {k: of_leaves(p - 0.01 * p if k == "w" else p, values[name][k]) for k, p in own.items()}
            for name, own in params.items()
        }
        return jax.tree.transpose(jax.tree.structure(params), None, new)

    given = {name: {"w": X + k, "b": Y - k} for k, name in enumerate("efgh")}
    body = main_of(emitted(changed, given, np.float32(2)))
    assert body.count("map_leaves(") == 2
    assert '"e": {"b": leaves_1["e"]["b"], "w": leaves_1_2["e"]["w"]}' in body


def test_flat_arguments_stay_with_their_layers():
    given = parameters(3), ZEROS, ZEROS, np.float32(1), X, Y
    generated = xla2py.emit(xla2py.from_jax(step, *given), nested=False)
    assert "map_leaves" not in generated.source
    flat = [*jax.tree.leaves(given)]
    for one, other in zip(generated.load().main(*flat), jax.tree.leaves(jax.jit(step)(*given)), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-5)


def test_keys_that_are_keywords_are_no_names():
    tree = {"class": {"def": X, "lambda": Y}, "None": X * 2, "import": Y * 3}

    def changed(state, x):
        values = jax.tree.map(lambda p: jnp.cumsum(p * x, -1), state["class"])
        return on_leaves(state["class"], values)

    assert "map_leaves(" in main_of(emitted(changed, {"class": tree}, np.float32(2)))


def test_cupy_has_the_same_text():
    given = parameters(3), ZEROS, ZEROS, np.float32(1), X, Y
    assert "new_mu, new_nu, new_params = map_leaves(" in main_of(emitted(step, *given, target="cupy"))


def test_leaves_are_those_of_the_last_tree():
    one, other = {"a": [1, 2], "b": (3,), "more": 5}, {"b": (10,), "a": [20, 30]}
    sums, products = map_leaves(lambda x, y, k: (x + y, x * y * k), [one, other], 1)
    assert sums == {"b": (13,), "a": [21, 32]} and products == {"b": (30,), "a": [20, 60]}


def test_types_are_those_that_mypy_infers(tmp_path, wrong_types):
    zeros = jax.tree.map(np.zeros_like, parameters(8))
    for count in (3, 8):
        params = parameters(count)
        source = emitted(
            step, params, zeros if count == 8 else ZEROS, zeros if count == 8 else ZEROS, np.float32(1), X, Y
        )
        (tmp_path / f"step_{count}.py").write_text(source, "utf-8")
    assert wrong_types(tmp_path, "step_3.py", "step_8.py") == ""
