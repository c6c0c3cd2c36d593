"""Names of values after what their operation works on."""

from dataclasses import replace

import numpy as np
import pytest

import xla2py
from xla2py.tests.emission.as_xla import text_of
from xla2py.tests.recording.lazy_jax import jax, jnp

X, W = np.linspace(0.5, 2, 6, dtype=np.float32).reshape(2, 3), np.ones((2, 3), np.float32)


def of_both(value):
    """A function that goes on with a value of its arguments."""

    def function(u, w):
        made = value(u, w)
        return made @ made.T if made.ndim == 2 else made[:, None] * made, u @ w.T

    return function


def taken(table, row):
    rows = jnp.take(table, row, axis=0, mode="clip")
    return rows * rows.sum()


def softened(logits):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    weights = jnp.exp(shifted)
    return weights @ weights.T, weights / shifted


@pytest.mark.parametrize(
    ("function", "arguments", "texts"),
    [
        (of_both(lambda u, w: jnp.sqrt(u)), (X, W), "sqrt_u = "),
        (of_both(lambda u, w: u * u), (X, W), "u_squared = "),
        (of_both(lambda u, w: u - w), (X, W), "u_minus_w = "),
        (of_both(lambda u, w: u + w), (X, W), "u_plus_w = "),
        (of_both(lambda u, w: w * 2.5), (X, W), "scaled_w = "),
        (of_both(lambda u, w: jnp.where(w > 1, w, 0)), (X, W), "masked_w = "),
        (of_both(lambda u, w: w.sum(axis=0)), (X, W), "w_sum = "),
        (of_both(lambda u, w: jnp.argsort(u, axis=-1)), (X, W), "u_order = "),
        (of_both(lambda u, w: 1 - u), (X, W), "one_minus_u = "),
        (of_both(lambda u, w: u - u.mean(axis=1, keepdims=True)), (X, W), "centered_u = "),
        (of_both(lambda u, w: u - u.max(axis=1, keepdims=True)), (X, W), "shifted_u = "),
        # a conversion tells the type
        (
            lambda count: (1 - 0.9 ** count.astype(jnp.float32), 1 - 0.99 ** count.astype(jnp.float32)),
            (np.int32(3),),
            "count_float32 = count.astype(np.float32)",
        ),
        # masks are about what they compare, not about the bounds
        *(
            (
                lambda u, w, bound=bound: jnp.where(u > bound(w), w, 1.0) @ jnp.where(u > bound(w), 2.0, w).T,
                (X, W),
                mask,
            )
            for bound, mask in ((lambda w: w[0, 0], "u_mask = u > w[0, 0]"), (lambda w: w, "mask = u > w"))
        ),
        (
            lambda u, w: jnp.where((u > 1) & (u < 2), w, 1.0) @ jnp.where((u > 1) & (u < 2), 2.0, w).T,
            (X, W),
            "u_mask = (u > 1) & (u < 2)",
        ),
        # the exponential of a logarithm is what it is of, that of what is shifted is called after the array
        (lambda log_scale, w: (s := jnp.exp(log_scale)) @ s.T + w[0, 0], (X, W), "scale = np.exp(log_scale)"),
        (softened, (X,), "exp_logits = np.exp(shifted_logits)"),
        # an argument x says enough beside a word
        (
            lambda x, y, u: (u - x) @ (u - x).T + (x - y) @ (x - y).T,
            (X, X + 1, W),
            "u_minus_x = u - x; difference = x - y",
        ),
        (taken, (X, np.array([1, 0, 5], np.int32)), "table_at_row = "),
        # long names are not joined
        (
            lambda the_first_argument, the_second_argument: (d := the_first_argument - the_second_argument) @ d.T,
            (X, W),
            "difference = ",
        ),
    ],
)
def test_a_value_has_the_name_of_its_operands(function, arguments, texts):
    text = text_of(function, *arguments)
    assert all(f" {each}" in text for each in texts.split("; ")), text


def test_operands_without_a_word_leave_the_operation_its_own():
    text = text_of(lambda u, w: (made := jnp.square(u * w - 1) * 3 - u) @ made.T, X, W)
    assert " difference = " in text
    assert "difference_minus" not in text and "u_minus_x" not in text


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
