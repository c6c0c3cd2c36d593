"""Names of values by the expressions of the author's that read them."""

import re
from typing import NamedTuple

import numpy as np

import xla2py
from xla2py.tests.recording.lazy_jax import jax, jnp

X, W = np.linspace(0.5, 2, 6, dtype=np.float32).reshape(2, 3), np.linspace(1, 2, 6, dtype=np.float32).reshape(2, 3)


def source_of(function, *arguments):
    return xla2py.emit(xla2py.from_jax(function, *arguments), annotate="none").source


class State(NamedTuple):
    reached: jax.Array
    steps: jax.Array


def advance(values):
    return jnp.sin(values) * 2, jnp.cos(values)


def differs(first, second):
    return first - second


def test_what_several_functions_hand_on_has_the_name_that_it_is_read_by():
    def loss(x, w):
        state = State(*advance(x))
        return (state.reached / w).sum() + (state.reached * state.steps).sum()

    assert "reached = np.sin(x) * 2" in source_of(loss, X, W)


def test_a_condition_whose_name_says_nothing_stands_in_the_head_of_its_loop():
    def until(state):
        out = state < 5
        return out

    source = source_of(lambda x: jax.lax.while_loop(until, lambda state: state * 1.5, x), np.float32(1))
    assert re.search(r"while \w+ < 5:", source) and "out" not in source


def test_a_name_of_two_letters_says_nothing_in_another_function():
    def loss(x, w):
        return differs(jnp.sin(x) * w, jnp.cos(w) * x).sum()

    def short(x, w):
        def apart(aa, bb):
            return aa - bb

        first = jnp.sin(x) * w
        return apart(first, jnp.exp(first)).sum()

    assert "bb" not in source_of(short, X, W)
    assert "aa" not in source_of(short, X, W)
    xla2py.emit(xla2py.from_jax(loss, X, W)).load().main(X, W)


def test_tangents_do_not_have_the_names_of_values():
    def model(rate, times):
        decay = jnp.exp(rate) * times
        return decay / times

    def both(rate, change, times):
        return jax.jvp(lambda r: model(r, times), (rate,), (change * change + 1,))

    source = source_of(both, np.float32(0.5), np.float32(2), W)
    (assigned,) = [line for line in source.splitlines() if line.strip().startswith("decay = ")]
    assert "change" not in assigned


def test_a_number_that_goes_last_leaves_the_name_to_the_other_operand():
    def scaled(x, w):
        step_size = 0.1
        scores = [jnp.sin(x) + w, jnp.cos(x) + w]
        return sum((step_size * score) ** 2 + score for score in scores)

    source = source_of(scaled, X, W)
    assert "step_size" not in source
    assert "score = np.sin(x) + w" in source


def test_what_only_its_gradient_spreads_has_the_name_that_it_is_read_by():
    def loss(params, x):
        amplitude, scale = jax.tree.map(jnp.exp, params)
        return (amplitude * jnp.sin(x / scale)).sum()

    source = source_of(jax.value_and_grad(loss), (np.float32(0.5), np.float32(2)), X)
    assert "amplitude = np.exp(params[0])" in source


def test_a_statement_of_several_lines_is_one():
    def program(x, w):
        mixed = (
            (jnp.sin(x) + 2)
            * (w - 1)
            / (jnp.exp(w) + 3)
        )  # fmt: skip
        return mixed, mixed * w

    assert "mixed = (np.sin(x) + 2) * (w - 1) / (np.exp(w) + 3)" in source_of(program, X, W)
