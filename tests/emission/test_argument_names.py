"""Names from the paths of arguments: of the arguments themselves, and short ones of what is called after them."""

import re
from pathlib import Path

import pytest

import xla2py
from xla2py.transpile.emission.naming.arguments import argument_names, own_words, short_names
from xla2py.transpile.emission.naming.identifiers import common_words
from xla2py.transpile.hlo.parser import parse_module

HLO = Path(__file__).parents[2] / "examples" / "hlo"


def parameters(*paths):
    """Parameters of a program with these paths."""
    lines = [f'  p.{k} = f32[] parameter({k}), metadata={{op_name="{path}"}}' for k, path in enumerate(paths)]
    every = ", ".join(f"p.{k}" for k in range(len(paths)))
    root = f"  ROOT all = ({', '.join(['f32[]'] * len(paths))}) tuple({every})"
    return parse_module("\n".join(["HloModule m", "ENTRY main {", *lines, root, "}"])).entry.parameters


def test_short_names_tell_leaves_apart_and_begin_with_a_word():
    given = parameters(
        "opt_state[0].count",
        *(f"opt_state[0].{kind}.layers[{k}].weight" for kind in ("mu", "nu") for k in (0, 1)),
        *(f"params.layers[{k}].weight" for k in (0, 1)),
        "x",
    )
    assert argument_names(given)[:2] == ["opt_state_0_count", "opt_state_0_mu_layers_0_weight"]
    moments = ["mu_0_weight", "mu_1_weight", "nu_0_weight", "nu_1_weight"]
    assert short_names(given) == ["count", *moments, "params_0_weight", "params_1_weight", "x"]


@pytest.mark.parametrize(
    "path, name",
    [
        ("params['mlp/~/linear_0']['b']", "params_mlp_linear_0_b"),
        ("jit(f)/jit(main)/add", "p"),  # an operation
        ("params['a']", "params_a"),
    ],
)
def test_keys_may_have_slashes(path, name):
    assert argument_names(parameters(path)) == [name]


@pytest.mark.parametrize("word, name", [("dataclass", "dataclass_"), ("TypeAlias", "TypeAlias_"), ("cache", "cache")])
def test_arguments_hide_no_import(word, name):
    program = f'''ENTRY main {{
  p = f32[3] parameter(0), metadata={{op_name="{word}"}}
  ROOT y = f32[3] sine(p)
}}'''
    assert f"def main({name}: Array)" in xla2py.emit(program, debug=True).source


def test_names_in_common_are_other_words_where_they_end_alike():
    assert common_words([["params_0_bias", "params_1_bias"], ["mean_0_bias", "mean_1_bias"]]) == ["params", "mean"]
    assert common_words([["params_0_bias", "params_1_bias"], ["loss", "step"]]) == ["bias", ""]
    assert common_words([["scale_1", "scale_2"], []]) == ["scale", ""]


def test_names_in_common_that_begin_and_end_alike_have_both():
    given = [[f"new_{layer}_{place}" for layer in ("block_0", "block_1")] for place in ("a_bias", "b_bias", "b_kernel")]
    assert common_words([*given, *given]) == ["new_block_a_bias", "new_block_b_bias", "new_block_b_kernel"] * 2


def test_gradients_have_the_last_words_that_are_their_own():
    paths = (
        "params['a']['kernel']",
        "params['b']['kernel']",
        "params['b']['bias']",
        "state.mu['b']['bias']",
        "x",
        "w[0]",
    )
    long = [f"variables['params']['{layer}']['kernel']" for layer in ("Convolution_0", "Convolution_1")]
    assert own_words(parameters(*long, "x")) == ["convolution_0_kernel", "convolution_1_kernel", "x"]
    assert own_words(parameters(*paths)) == ["a_kernel", "b_kernel", "bias", "bias", "x", "w_0"]


@pytest.mark.parametrize("form", ["before", "after"])
def test_a_training_step_is_called_after_what_it_updates(form):
    text = xla2py.emit(HLO / f"mlp_train_step.{form}.hlo").source
    assert (
        len(re.findall(r"^    new_\w+_\d_\w+, new_\w+_\d_\w+, new_params_\d_\w+ = update(?:_2)?\($", text, re.M)) == 6
    )
    assert {"params: Array", "mean: Array", "square: Array"} <= set(
        re.findall(r"\w+: Array", text.split("def update")[1])
    )


def test_gradients_are_called_after_the_argument_that_they_update():
    text = xla2py.emit(HLO / "mlp_train_step.before.hlo").source
    assert "    d_params_2_weight = " in text and "        d_params_2_weight,\n" in text
