"""What a signature has several times is a constant, and results say which argument they are like."""

import ast
import json
from typing import NamedTuple

import numpy as np
import pytest

import xla2py
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.transpile.emission.trees.shared_trees import like_arguments, signature_constants
from xla2py.transpile.hlo.ir import Built

LAYER = {"bias": "float32[16]", "kernel": "float32[8, 16]"}


def constants(tree, *, are_shared=True):
    """The texts, which give the tree again."""
    found = signature_constants(tree, str, json.dumps, are_shared=are_shared)
    values = {}
    for name, text in found:
        values[name] = eval(text, {"dict": dict, "range": range}, values)
    assert values["SIGNATURE"] == tree
    return dict(found)


def test_a_part_that_stands_twice_is_a_constant():
    found = constants({"params": {"encoder_0": LAYER, "encoder_1": LAYER}, "x": "float32[2, 8]"})
    assert list(found) == ["ENCODER", "SIGNATURE"]
    assert found["SIGNATURE"] == '{"params": {"encoder_0": ENCODER, "encoder_1": ENCODER}, "x": "float32[2, 8]"}'


def test_equal_layers_are_a_row_and_constants_hold_constants():
    params = {"layers": dict.fromkeys(range(4), LAYER), "norm": "float32[16]"}
    found = constants({"params": params, "state": {0: {".mu": params, ".nu": params}}})
    assert list(found) == ["LAYER", "PARAMS", "SIGNATURE"]
    assert found["PARAMS"] == '{"layers": dict.fromkeys(range(4), LAYER), "norm": "float32[16]"}'
    assert found["SIGNATURE"] == '{"params": PARAMS, "state": {0: {".mu": PARAMS, ".nu": PARAMS}}}'


@pytest.mark.parametrize(
    "tree",
    [
        {"a": LAYER, "b": {**LAYER, "bias": "float32[15]"}},  # another size
        {"a": {"w": "int32[2]"}, "b": {"w": "int32[2]"}},  # a name would be no shorter
        {"a": {1: LAYER["bias"], 2: LAYER["bias"], 3: LAYER["bias"]}},  # no list: it begins at 1
        {"a": dict.fromkeys(range(2), "float32[8]")},
    ],
)
def test_near_misses_are_written_out(tree):
    found = constants(tree)
    assert list(found) == ["SIGNATURE"] and "dict.fromkeys" not in found["SIGNATURE"]


def test_nothing_is_shared_where_each_size_has_its_own_name():
    assert list(constants({"a": LAYER, "b": LAYER}, are_shared=False)) == ["SIGNATURE"]


def test_results_are_like_arguments():
    params = {"a": LAYER, "b": {"w": "int32[2]"}}
    state = {0: {".mu": params, ".count": "int32[]"}}
    built = Built("m", "State", ("int32[]", {"b": [None, "x"], "a": None}), ("count", "mu"))
    like = like_arguments((params, [state[0]], built, LAYER), {"params": params, "state": state})
    assert like[:2] == ("like params", "like state")  # a list of one is what the state is
    assert like[2:] == (built, LAYER)  # of two leaves, which say more
    assert like_arguments({"new": state[0]}, {"state": state}) == {"new": "like state[0]"}


def test_objects_without_names_of_their_parts_are_told_in_full():
    parts = ("float32[1]", "float32[2]", "float32[3]")
    given = {"x": {0: parts[0], 1: parts[1], 2: parts[2]}}
    assert like_arguments(parts, given) == "like x"
    assert like_arguments(Built("m", "Node", parts), given) == Built("m", "Node", parts)


class State(NamedTuple):
    mean: dict
    count: jax.Array


def test_a_module_says_the_form_of_a_model_once():
    layers = [{"kernel": np.full((3, 3), 0.1 * k, np.float32), "bias": np.ones(3, np.float32)} for k in range(4)]
    state = State(jax.tree.map(np.zeros_like, layers), np.int32(0))

    def step(layers, state, x):
        def loss(layers):
            y = x
            for layer in layers:
                y = jnp.tanh(y @ layer["kernel"] + layer["bias"])
            return y.sum()

        mean = jax.tree.map(lambda m, g: 0.9 * m + g, state.mean, jax.grad(loss)(layers))
        return jax.tree.map(lambda p, m: p - 0.1 * m, layers, mean), State(mean, state.count + 1)

    x = np.float32([[1, -2, 0.5]])
    emitted = xla2py.emit(xla2py.from_jax(step, layers, state, x))
    found = {
        statement.targets[0].id for statement in ast.parse(emitted.source).body if isinstance(statement, ast.Assign)
    }
    assert {"LAYER", "SIGNATURE"} <= found
    assert "returns like layers, like state" in " ".join(emitted.source.split())
    main = emitted.load().main
    for wanted, result in zip(
        jax.tree.leaves(step(layers, state, x)), jax.tree.leaves(main(layers, state, x)), strict=True
    ):
        np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-6)
    with pytest.raises(TypeError, match=r"layers\[3\]\['bias'\]: expected float32\[3\], got float32\[2\]"):
        main([*layers[:3], {**layers[3], "bias": np.ones(2, np.float32)}], state, x)
