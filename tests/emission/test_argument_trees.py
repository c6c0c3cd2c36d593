"""``--nested``: main takes and returns the trees that the traced function did, and nothing in a name becomes code."""

import ast
import re
from typing import NamedTuple

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import entry, main
from xla2py.transpile.errors import UnsupportedError

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")


class State(NamedTuple):
    mean: list
    step: np.ndarray


def train(params, state, x):
    for layer in params["layers"]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])

    def body(step, carry):
        mean, total = carry
        return 0.9 * mean + 0.1 * x[step], total + mean.sum()

    mean, total = jax.lax.fori_loop(0, 3, body, (state.mean[0], state.step))
    return x, mean, total


RNG = np.random.default_rng(0)
PARAMS = {
    "layers": [
        {"w": RNG.normal(size=(4, 4)).astype(np.float32), "b": RNG.normal(size=4).astype(np.float32)} for _ in range(2)
    ]
}
GIVEN = (PARAMS, State([np.ones(4, np.float32)], np.float32(2)), RNG.normal(size=(3, 4)).astype(np.float32))
TEXT = jax.jit(train).lower(*GIVEN).as_text("hlo", debug_info=True)


def heads(source):
    function = next(node for node in ast.parse(source).body if getattr(node, "name", "") == "main")
    return [argument.arg for argument in function.args.args]


@pytest.mark.parametrize("target", ["numpy", "dask"])
def test_main_takes_the_trees_of_the_function(target):
    emitted = xla2py.emit(TEXT, target, nested=True)
    assert heads(emitted.source) == ["params", "state", "x"]
    before = jax.tree.map(np.copy, GIVEN)
    results = emitted.load().main(*GIVEN)
    for wanted, found in zip(train(*GIVEN), results, strict=True):
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-5, atol=1e-6)
    for old, new in zip(jax.tree.leaves(before), jax.tree.leaves(GIVEN), strict=True):
        np.testing.assert_array_equal(old, new)
    assert emitted.source.count(" --nested") == 1  # in the command that emits it again


def test_leaves_are_read_where_they_are_used():
    source = xla2py.emit(TEXT, nested=True).source
    assert '@ params["layers"][0]["w"] + params["layers"][0]["b"]' in source
    assert re.search(r"^    state_mean_0, \w+ = state\.mean\[0\], state\.step", source, re.MULTILINE)
    assert heads(xla2py.emit(TEXT).source)[:2] == ["params_layers_0_b", "params_layers_0_w"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda params: {"layers": params["layers"][:1]}, r"params\['layers'\]\[1\]: missing"),
        (
            lambda params: {"layers": [{"w": np.ones(3), "b": 1}] * 2},
            r"params\['layers'\]\[0\]\['b'\]: expected float32",
        ),
        (lambda params: None, r"params\['layers'\]: missing"),
    ],
)
def test_what_is_not_such_a_tree_is_refused(change, message):
    module = xla2py.emit(TEXT, nested=True).load()
    with pytest.raises(TypeError, match=message):
        module.main(change(PARAMS), *GIVEN[1:])


def test_modules_pass_strict_type_checks(tmp_path, wrong_types):
    """The types of arguments and results in trees are strict; ``tests/test_gallery.py`` checks modules for Dask."""
    for name, module in (("arguments", TEXT), ("results", xla2py.from_jax(step, *STEP))):
        (tmp_path / f"{name}.py").write_text(xla2py.emit(module, nested=True).source)
    assert wrong_types(tmp_path, "arguments.py", "results.py") == ""


@pytest.mark.parametrize(
    "path",
    [
        "p['a']] + __import__('os')",
        "p.__class__",
        "p.import",
        "p['a\\\\qb']",
        "p['\\\\U00110000']",
        "p['.a']",
        "print['a']",
        "p[99999999999]",
        "p[<flat index 0>]",
        "jit(f)/p['a']",
    ],
)
def test_what_is_no_path_stays_an_argument_of_its_own(path):
    text = entry(
        f'x = f32[2] parameter(0), metadata={{op_name="{path}"}}', "y = f32[2] parameter(1)", "s = f32[2] add(x, y)"
    )
    source = xla2py.emit(text, nested=True).source
    assert source.replace(" --nested", "") == xla2py.emit(text).source


@pytest.mark.parametrize("paths", [("p['a']", "p['a']['b']"), ("p['a']", "p['a']")])
def test_leaves_that_make_no_tree_stay_arguments_of_their_own(paths):
    lines = [
        f'{n} = f32[2] parameter({k}), metadata={{op_name="{path}"}}'
        for k, (n, path) in enumerate(zip("xy", paths, strict=True))
    ]
    source = xla2py.emit(entry(*lines, "s = f32[2] add(x, y)"), nested=True).source
    assert len(heads(source)) == 2


def test_an_argument_beside_a_tree_of_the_same_name_gets_another():
    lines = [
        f'{n} = f32[2] parameter({k}), metadata={{op_name="{path}"}}'
        for k, (n, path) in enumerate((("x", "p"), ("y", "p[0]")))
    ]
    module = xla2py.emit(entry(*lines, "s = f32[2] add(x, y)"), nested=True).load()
    one = np.ones(2, np.float32)
    np.testing.assert_array_equal(module.main(one, [one]), 2 * one)


def step(params, x):
    y = jnp.tanh(x @ params["w"] + params["b"])
    moved = {"w": params["w"] - x.T @ y, "b": [params["b"] * y.mean(), y.sum()], "none": None}
    return {"params": moved, "y": (y,)}, State([y.mean()], y.max())


STEP = ({"w": np.ones((4, 4), np.float32), "b": np.ones(4, np.float32)}, RNG.normal(size=(2, 4)).astype(np.float32))


def plain(tree):
    """The tree with tuples for named tuples."""
    if isinstance(tree, dict):
        return {key: plain(part) for key, part in tree.items()}
    return type(tree)(map(plain, tree)) if type(tree) in (list, tuple) else tuple(map(plain, tree)) if tree else tree


@pytest.mark.parametrize("target", ["numpy", "dask"])
def test_results_are_the_tree_that_the_function_returned(target):
    module = xla2py.from_jax(step, *STEP)
    emitted = xla2py.emit(module, target, nested=True, classes="import")
    found, wanted = emitted.load().main(*STEP), step(*STEP)
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-5, atol=1e-6)
    assert 'returns: {"params": {"b": [float32[4], float32[]], "none": None, "w": float32[4, 4]}' in emitted.source
    assert emitted.line_map()


def test_results_of_text_and_without_the_option_are_flat():
    module = xla2py.from_jax(step, *STEP)
    assert len(xla2py.emit(TEXT, nested=True).load().main(*GIVEN)) == 3
    flat = xla2py.emit(module, nested=False).load().main(STEP[0]["b"], STEP[0]["w"], STEP[1])
    assert [isinstance(part, np.ndarray | np.generic) for part in flat] == [True] * 6


@pytest.mark.parametrize(
    ("returned", "annotation"),
    [
        (lambda x: {"w": x + 1}, "dict[str, Array]"),
        (lambda x: {"w": x + 1, "n": x.sum()}, "dict[str, Scalar | Array]"),
        (lambda x: [(x + 1, x.sum())], "list[tuple[Array, Any]]"),
        (lambda x: {"w": x + 1, "more": {}}, "dict[str, Any]"),
        (lambda x: (x + 1,), "tuple[Array]"),
        (lambda x: {3: x + 1}, "Any"),
        (lambda x: (x, x.sum(), *[x + k for k in range(1, 7)]), "tuple[Array, ...]"),
    ],
)
def test_types_of_results(returned, annotation):
    x = np.ones(3, np.float32)
    emitted = xla2py.emit(xla2py.from_jax(returned, x), nested=True)
    assert re.search(rf"def main\(x: (Array|np.ndarray \| Any)\) -> {re.escape(annotation)}:", emitted.source)
    found = emitted.load().main(x)
    assert jax.tree.structure(found) == jax.tree.structure(returned(x))


def test_many_results_may_be_tuples_and_arrays():
    returned, x = lambda x: ((x + 9, x.sum()), *[x * k for k in range(2, 9)]), np.ones(3, np.float32)
    emitted = xla2py.emit(xla2py.from_jax(returned, x), nested=True)
    words = "".join(emitted.source.split())
    assert f"->tuple[tuple[Array,Any],{','.join(['Array'] * 7)}" in words
    assert jax.tree.structure(emitted.load().main(x)) == jax.tree.structure(returned(x))


@pytest.mark.parametrize("key", ["a'", 'a"', "a\\", '"""', '""\n"""', "}\n", "\u202e", "", "é", -3])
def test_keys_of_results_may_be_any_text_or_number(key):
    x = np.ones(3, np.float32)
    emitted = xla2py.emit(xla2py.from_jax(lambda x: {key: x + 1}, x), nested=True)
    assert ast.literal_eval(
        ast.get_docstring(ast.parse(emitted.source))[len("Returns ") : -1].replace("float32[3]", "0")
    ) == {key: 0}
    np.testing.assert_array_equal(emitted.load().main(x)[key], x + 1)


@pytest.mark.parametrize("key", [".a", "k" * 401])
def test_other_keys_leave_the_results_flat(key):
    x = np.ones(3, np.float32)
    module = xla2py.from_jax(lambda x: {key: x + 1}, x)
    emitted = xla2py.emit(module, nested=True)
    np.testing.assert_array_equal(emitted.load().main(x), x + 1)
    assert emitted.source.count("return x + 1\n") == 1


def test_what_is_known_of_objects_that_nothing_makes_again():
    class Box:
        def __init__(self, inside):
            self.inside = inside

    jax.tree_util.register_pytree_node(Box, lambda box: ((box.inside,), None), lambda _, inside: Box(*inside))
    trees = xla2py.from_jax(lambda x: {"w": Box(x)}, np.ones(3, np.float32)).trees
    built = trees.results["w"]
    assert (built.name.rpartition(".")[2], built.parts, built.fields, built.maker) == ("Box", (0,), ("inside",), "")


def test_another_tree_is_another_source():
    headers = [
        re.search(r"source sha256: \w+", xla2py.emit(xla2py.from_jax(f, np.ones(3, np.float32)), nested=nested).source)[
            0
        ]
        for nested in (False, True)
        for f in (jax.jit(lambda x: {"a": x}), jax.jit(lambda x: {"b": x}))
    ]
    assert headers[2] != headers[3]


def collecting(a, *rest, scale, **more):
    return a - rest[0] * more["gain"] + more["nested"]["c"] * scale + rest[1][0]


COLLECTED = (np.float32([1, 2]), np.float32([3, 5]), (np.float32([7, 11]),))
NAMED = {"scale": np.float32([13, 31]), "gain": np.float32([17, 19]), "nested": {"c": np.float32([23, 29])}}


@pytest.mark.parametrize("target", ["numpy", "dask"])
def test_main_collects_arguments_as_the_function_does(target):
    emitted = xla2py.emit(jax.jit(collecting).lower(*COLLECTED, **NAMED), target)
    assert "def main(a: Array, *rest: Tree, scale: Array, **more: Tree)" in emitted.source
    results = emitted.load().main(*COLLECTED, **NAMED)
    np.testing.assert_allclose(np.asarray(results), collecting(*COLLECTED, **NAMED))
    alike = xla2py.emit(jax.jit(lambda *xs: xs[0] - xs[1]).lower(*COLLECTED[:2]), target)
    assert "def main(*xs: Array)" in alike.source or "def main(*xs: Any)" in alike.source


def test_graphs_take_no_collected_arguments():
    with pytest.raises(UnsupportedError, match="rest cannot be captured: it collects others"):
        xla2py.emit(jax.jit(collecting).lower(*COLLECTED, **NAMED), "cupy", style="fast", graph=True)


def test_leaves_that_are_read_often_get_names():
    def program(state, x):
        agent = state["agent"]
        near = (x > agent["position"]) & (x < agent["position"] + agent["w"]) & (state["wall"]["w"] > agent["w"])
        moved = jnp.where(near, agent["position"] * agent["w"], agent["position"] - x) / agent["position"]
        return moved - agent["w"] + agent["w"] * x + state["wall"]["position"], state["rare"] * 2

    x = np.float32([1, -2, 0.5])
    state = {"agent": {"position": x, "w": x + 1}, "wall": {"position": x, "w": x}, "rare": x}
    module = xla2py.from_jax(program, state, x)
    body = main(module)
    assert 'agent_position = state["agent"]["position"]\n' in body and 'agent_w = state["agent"]["w"]\n' in body, body
    assert body.count('state["agent"]') == 2 and 'state["rare"] * 2' in body and "rare =" not in body, body
    for one, other in zip(xla2py.emit(module).load().main(state, x), jax.jit(program)(state, x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_leaves_that_calls_take_keep_their_places():
    def layer(params, x):
        return jnp.tanh(x @ params["kernel"]) * params["kernel"].sum() + jnp.sin(x @ params["kernel"]) / x.sum()

    layer = jax.jit(layer)

    def program(params, x):
        first = layer(params["encoder"], x)
        return layer(params["decoder"], first) + layer(params["encoder"], x + 1) + layer(params["encoder"], x * 2)

    w = np.eye(2, dtype=np.float32)
    module = xla2py.from_jax(program, {"encoder": {"kernel": w}, "decoder": {"kernel": w}}, w)
    assert "kernel =" not in main(module), main(module)
