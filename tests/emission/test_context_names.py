"""Names that the program tells without its source: of arguments, of what calls and scopes hand out, of updates."""

from inspect import signature

import numpy as np
import pytest

import xla2py
from xla2py.tests.emission.as_xla import text_of
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.transpile.hlo.function_words import own_parts, word_of


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("Linear.__call__", "linear"),
        ("MultiHeadAttention.__call__", "multi_head_attention"),
        ("scale_by_adam.<locals>.update_fn", "scale_by_adam"),
        ("tree_update_moment.<locals>.<lambda>", "update_moment"),
        ("_loss_fn", "loss"),
        ("_BoundMethod.__call__", ""),
        ("BoundMethod.__call__", ""),
        ("<module>", ""),
        ("f; import os", ""),
        ("eval_jaxpr", ""),
        ("closed_call", ""),
        ("eval_losses", "losses"),
    ],
)
def test_the_word_of_a_function(name, word):
    assert word_of(name) == word


LOOP = """HloModule jit__lambda, entry_computation_layout={(f32[5,4])->(f32[4], f32[5,4])}

FileNames
1 "driver.py"
2 "program.py"

FunctionNames
1 "lowered"
2 "<lambda>"
3 "<lambda>.<locals>.<lambda>"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3}
2 {file_name_id=2 function_name_id=2 line=5}
3 {file_name_id=2 function_name_id=3 line=6}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}
3 {file_location_id=3 parent_frame_id=3}

body {
  state = (s32[], f32[4], f32[5,4], f32[5,4]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  c = f32[4] get-tuple-element(state), index=1
  ys = f32[5,4] get-tuple-element(state), index=2
  a = f32[5,4] get-tuple-element(state), index=3
  zero = s32[] constant(0)
  row = f32[1,4] dynamic-slice(a, i, zero), dynamic_slice_sizes={1,4}
  v = f32[4] reshape(row)
  add.2 = f32[4] add(c, v), metadata={op_name="jit(<lambda>)/while/body/SCOPE/add" stack_frame_id=3}
  mul.1 = f32[4] multiply(c, v), metadata={op_name="jit(<lambda>)/while/body/SCOPE/mul" stack_frame_id=3}
  mul.2 = f32[1,4] reshape(mul.1)
  written = f32[5,4] dynamic-update-slice(ys, mul.2, i, zero)
  ROOT all = (s32[], f32[4], f32[5,4], f32[5,4]) tuple(next, add.2, written, a)
}

condition {
  state = (s32[], f32[4], f32[5,4], f32[5,4]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  five = s32[] constant(5)
  ROOT less = pred[] compare(i, five), direction=LT
}

ENTRY main {
  zero = s32[] constant(0)
  nought = f32[] constant(0)
  c = f32[4] broadcast(nought), dimensions={}
  ys = f32[5,4] broadcast(nought), dimensions={}
  a = f32[5,4] parameter(0)
  begin = (s32[], f32[4], f32[5,4], f32[5,4]) tuple(zero, c, ys, a)
  end = (s32[], f32[4], f32[5,4], f32[5,4]) while(begin), condition=condition, body=body, \
metadata={op_name="jit(<lambda>)/while" stack_frame_id=2}
  last = f32[4] get-tuple-element(end), index=1
  all = f32[5,4] get-tuple-element(end), index=2
  ROOT both = (f32[4], f32[5,4]) tuple(last, all)
}
"""


@pytest.mark.parametrize("scope", ["eval_jaxpr", "closed_call", "checkpoint/rematted_computation", "core_call"])
def test_the_machinery_of_the_tracer_names_nothing(scope):
    """Neither its scopes, whatever the version of JAX, nor whoever called it for a lambda."""
    text = xla2py.emit(LOOP.replace("SCOPE", scope)).source
    assert "        total = total + a[i]" in text
    assert "        scanned = scanned + a[i]" in xla2py.emit(LOOP.replace("SCOPE", "scanned")).source


def test_the_traced_function_gives_no_word():
    assert word_of("train.<locals>.step.<locals>.<lambda>", own_parts(["train.<locals>.step"], "step")) == ""


def test_what_a_call_hands_out_is_called_after_it():
    def kinetic_energy(speed, mass):
        return 0.5 * mass * jnp.sum(speed * speed)

    def report(speed, mass):
        energy = kinetic_energy(speed, mass)
        return jnp.sin(energy) + energy, energy * 2

    arguments = jnp.ones(3), jnp.float32(2)
    assert "    kinetic_energy = " in text_of(report, *arguments)


def test_what_stays_inside_is_not():
    def report(speed):
        square = speed * speed
        return jnp.sin(square) + square, square * 2

    assert "report = " not in text_of(report, jnp.ones(3))


def test_scopes_name_what_leaves_them():
    def model(x, w):
        with jax.named_scope("Encoder_0"):
            hidden = jnp.tanh(x @ w)
        return hidden + jnp.sin(hidden), hidden * 2

    assert "    encoder = " in text_of(model, jnp.ones((2, 3)), jnp.ones((3, 3)))


def test_results_are_called_after_what_they_update():
    def step(params, state, x):
        gradient = jax.grad(lambda p: jnp.sum(jnp.tanh(x @ p["w"]) ** 2))(params)
        state = jax.tree.map(lambda s, g: 0.9 * s + g, state, gradient)
        return jax.tree.map(lambda p, s: p - 0.1 * s, params, state), state

    tree = {"w": jnp.ones((3, 2))}
    text = text_of(step, tree, tree, jnp.ones((4, 3)))
    assert "    new_state_w = " in text


def test_what_several_results_are_made_of_is_no_state():
    """Moments and parameters are updated; the gradients that both moments are made of are handed in."""

    def adam(params, gradients, mu, nu):
        mu = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mu, gradients)
        nu = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, nu, gradients)
        return jax.tree.map(lambda p, m, v: p - m / (jnp.sqrt(v) + 1e-8), params, mu, nu), mu, nu

    trees = [{name: jnp.ones((3, 2)) * k for name in ("weight", "scale")} for k in range(1, 5)]
    source = xla2py.from_jax(adam, *trees)
    for text in (text_of(adam, *trees), xla2py.emit(source).source):
        for name in ("new_mu_weight", "new_nu_weight", "new_mu_scale", "new_nu_scale"):
            assert f"    {name} = " in text


def test_a_plain_function_updates_nothing():
    assert "new_" not in text_of(lambda x: (jnp.sin(x) * 2 + jnp.sin(x), jnp.cos(x)), jnp.ones(3))


def test_arguments_keep_their_capitals():
    def fit(X, y, Array, SIGNATURE, TABLE_1):
        return X @ y + Array + SIGNATURE + TABLE_1 + jnp.arange(16.0).astype(jnp.int32)[3] * 1.0

    arguments = [jnp.ones((3, 3)), *[jnp.ones(3)] * 4]
    assert "def main(X: Array, y: Array, Array_: Array, SIGNATURE_: Array, table_1: Array)" in text_of(fit, *arguments)


def test_long_paths_are_told_apart_by_their_ends():
    attention = {name: {"kernel": jnp.ones(3), "bias": jnp.ones(3)} for name in ("key", "query", "value")}
    block = {"MultiHeadDotProductAttention_0": attention, "Dense_0": {"kernel": jnp.ones(3)}}
    params = {"params": {"Block_0": block, "Block_1": block}}
    state = {"mu": params, "nu": params}

    def total(params, opt_state):
        return sum(jnp.sum(leaf) * k for k, leaf in enumerate(jax.tree.leaves((params, opt_state))))

    main = xla2py.emit(jax.jit(total).lower(params, state).as_text("hlo", debug_info=True)).load().main
    names = list(signature(main).parameters)
    assert len(names) == 42
    assert not any(name.endswith("_2") for name in names)
    assert {
        "params_block_0_dense_0_kernel",
        "nu_block_1_attention_0_key_bias",
        "mu_block_1_attention_0_key_bias",
    } <= set(names)


def test_lines_in_place_of_a_call_are_called_after_the_function():
    @jax.jit
    def horizon(x):
        return jnp.concatenate([x[1:], x[:1] * 2])

    @jax.jit
    def given(x):  # which hands back what it is given
        return x

    def f(x):
        ahead = horizon(x)
        moved = given(x * x)
        drift = jnp.diff(x)
        return ahead * ahead, moved * moved, drift * drift, jnp.clip(x, 0, 1) ** jnp.clip(x, 0, 1)

    text = jax.jit(f).lower(np.ones(4, np.float32)).as_text("hlo")
    source = xla2py.emit(text).source
    assert "    horizon = np.concatenate([" in source
    assert "    diff = np.diff(x)\n" in source
    assert "given" not in source
    assert "clip = " not in source  # the name of an operation


INSIDE = """HloModule loss

ENTRY main {
  speed = f32[4] parameter(0)
  mass = f32[4] parameter(1)
  a = f32[4] exponential(speed), metadata={op_name="jit(f)/energy/exp"}
  b = f32[4] exponential(mass), metadata={op_name="jit(f)/energy/exp"}
  c = f32[4] add(a, b), metadata={op_name="jit(f)/energy/add"}
  d = f32[4] multiply(c, a), metadata={op_name="jit(f)/energy/mul"}
  e = f32[4] exponential(d), metadata={op_name="jit(f)/energy/exp"}
  f = f32[4] multiply(e, b), metadata={op_name="jit(f)/mul"}
  ROOT both = (f32[4], f32[4]) tuple(f, e)
}
"""


def test_operands_say_more_than_the_scope_around():
    text = xla2py.emit(INSIDE).source
    assert "exp_speed = np.exp(speed)" in text
    assert "energy = np.exp(" in text
