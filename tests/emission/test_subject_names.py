"""Names of values after what their operation works on."""

from dataclasses import replace

import numpy as np
import pytest

import xla2py
from xla2py.tests.emission.as_xla import text_of
from xla2py.tests.recording.lazy_jax import jax, jnp

X, W = np.linspace(0.5, 2, 6, dtype=np.float32).reshape(2, 3), np.ones((2, 3), np.float32)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (lambda u, w: jnp.sqrt(u), "sqrt_u"),
        (lambda u, w: u * u, "u_squared"),
        (lambda u, w: u - w, "u_minus_w"),
        (lambda u, w: u + w, "u_plus_w"),
        (lambda u, w: w * 2.5, "scaled_w"),
        (lambda u, w: jnp.where(w > 1, w, 0), "masked_w"),
        (lambda u, w: w.sum(axis=0), "w_sum"),
        (lambda u, w: jnp.argsort(u, axis=-1), "u_order"),
        (lambda u, w: 1 - u, "one_minus_u"),
        (lambda u, w: u - u.mean(axis=1, keepdims=True), "centered_u"),
        (lambda u, w: u - u.max(axis=1, keepdims=True), "shifted_u"),
    ],
)
def test_a_value_has_the_name_of_its_operands(value, name):
    def function(u, w):
        made = value(u, w)
        return made @ made.T if made.ndim == 2 else made[:, None] * made, u @ w.T

    assert f" {name} = " in text_of(function, X, W)


def test_a_conversion_tells_the_type():
    def function(count):
        return 1 - 0.9 ** count.astype(jnp.float32), 1 - 0.99 ** count.astype(jnp.float32)

    assert "count_float32 = count.astype(np.float32)" in text_of(function, np.int32(3))


def test_masks_are_about_what_they_compare():
    def function(u, w):
        inside = (u > 1) & (u < 2)
        return jnp.where(inside, w, 1.0) @ jnp.where(inside, 2.0, w).T

    assert "u_mask = (u > 1) & (u < 2)" in text_of(function, X, W)


def test_the_exponential_of_a_logarithm_is_what_it_is_of():
    def function(log_scale, w):
        scale = jnp.exp(log_scale)
        return scale @ scale.T + w[0, 0]

    assert "scale = np.exp(log_scale)" in text_of(function, X, W)


def test_operands_without_a_word_leave_the_operation_its_own():
    def function(u, w):
        made = jnp.square(u * w - 1) * 3 - u  # no operand of the last has a word
        return made @ made.T

    text = text_of(function, X, W)
    assert " difference = " in text
    assert "difference_minus" not in text and "u_minus_x" not in text


def test_an_argument_x_says_enough_beside_a_word():
    def function(x, y, u):
        return (u - x) @ (u - x).T + (x - y) @ (x - y).T

    text = text_of(function, X, X + 1, W)
    assert "u_minus_x = u - x" in text and "difference = x - y" in text


def test_what_is_taken_is_called_after_the_array_and_its_index():
    def function(table, row):
        rows = jnp.take(table, row, axis=0, mode="clip")
        return rows * rows.sum()

    text = text_of(function, X, np.array([1, 0, 5], np.int32))
    assert "table_at_row = " in text


def test_the_exponential_of_what_is_shifted_is_called_after_the_array():
    def function(logits):
        shifted = logits - logits.max(axis=-1, keepdims=True)
        weights = jnp.exp(shifted)
        return weights @ weights.T, weights / shifted

    assert " exp_logits = np.exp(shifted_logits)" in text_of(function, X)


def test_rows_of_a_sum_are_not_called_after_both_its_terms():
    def function(x, rows):
        def add(x, row):
            x = x + row
            return x, x

        return jax.lax.scan(add, x, rows)[1]

    assert "totals[i] = x" in text_of(function, X[0], X)


@pytest.mark.parametrize(("key", "name"), [("momentum", "new_state_momentum"), ("energy", "momentum")])
def test_results_are_called_after_their_place_in_the_tree(key, name):
    def function(state, u):
        made = jnp.square(u * 3 - state[key]) * 3 - u
        return {"power": made @ made.T, "momentum": made}

    module = xla2py.from_jax(function, {key: X}, X)
    text = xla2py.emit(replace(module, sources={})).source
    assert f"    {name} = " in text


def test_gradients_of_products_are_called_after_the_other_factor():
    def loss(u, w, v):
        hidden = u @ w.T
        return jnp.sum((hidden @ v) ** 2) + jnp.sum(jnp.sin(hidden @ v.T))

    arguments = X, W, np.ones((2, 2), np.float32)  # v has the shape of the gradient, too, but multiplies it
    text = text_of(jax.grad(loss, (0, 1)), *arguments)
    assert " d_u_dot_w = " in text and "d_v" not in text


def test_long_names_are_not_joined():
    def function(the_first_argument, the_second_argument):
        made = the_first_argument - the_second_argument
        return made @ made.T

    assert " difference = " in text_of(function, X, W)


def test_branches_name_what_they_give():
    def function(flag, position, energy):
        def accept(position, energy):
            return position * 2, energy + 1

        position, energy = jax.lax.cond(flag, accept, lambda *given: given, position, energy)
        return position @ position.T + energy @ energy.T

    text = text_of(function, np.bool_(True), X, W)
    assert "value" not in text.split("def main")[1].split("\n\n\n")[0]


def test_parameters_without_a_word_have_letters():
    text = """
HloModule layers

layer {
  Arg_0 = f32[4] parameter(0)
  Arg_1 = f32[4] parameter(1)
  p = f32[4] multiply(Arg_0, Arg_1)
  s = f32[4] sine(p)
  e = f32[4] exponential(s)
  t = f32[4] add(e, p)
  h = f32[4] tanh(t)
  ROOT q = f32[4] divide(h, s)
}

ENTRY main {
  u = f32[4] parameter(0)
  y = f32[4] parameter(1)
  a = f32[4] call(u, y), to_apply=layer
  b = f32[4] call(y, a), to_apply=layer
  ROOT r = f32[4] add(a, b)
}
"""
    source = xla2py.emit(text).source
    assert "def layer(a: Array, b: Array) -> Array:" in source


def test_a_conversion_of_a_number_has_no_subject():
    text = "ENTRY main { v0 = s4[] constant(0)\n  ROOT v1 = f8e4m3fn[] convert(v0) }"
    assert xla2py.emit(text, "dask", style="fused").load().main().compute() == 0
