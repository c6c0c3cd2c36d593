"""Integers that grow by a limited amount in each iteration have bounds: a place that counts what was found fits."""

import numpy as np
import pytest

from xla2py.tests.passes.raising import EXACT, assert_agrees, hlo, main
from xla2py.tests.recording.lazy_jax import jax, jnp

lax = jax.lax
X = np.array([3, -1, np.nan, 1, -5, 2, -0.0, np.inf, 4], np.float32)


def packed(x):
    def step(i, state):
        return lax.cond(x[i] > 0, lambda s: (s[0].at[s[1]].set(x[i]), s[1] + 1), lambda s: s, state)

    return lax.fori_loop(0, 9, step, (jnp.zeros(9), 0))


def packed_by_a_choice(x):
    def step(i, state):
        y, count = state
        return jnp.where(x[i] > 0, y.at[count].set(x[i]), y), count + (x[i] > 0)

    return lax.fori_loop(0, 9, step, (jnp.zeros(9), 0))


def from_the_end(x):
    def step(i, state):
        y, place = state
        return y.at[place].set(x[i]), jnp.where(x[i] > 0, place - 1, place)

    return lax.fori_loop(0, 9, step, (jnp.zeros(9), 8))


def of_pairs(x):  # ranks: a count in an inner loop
    def step(i, y):
        rank = lax.fori_loop(0, 8, lambda j, rank: rank + (x[j] > x[i]).astype(jnp.int32), 0)
        return y.at[rank].set(x[i])

    return lax.fori_loop(0, 9, step, jnp.zeros(9))


def through_an_inner_loop(x):
    def step(i, state):
        y, count = state
        count = lax.fori_loop(0, 2, lambda j, count: count + (x[i] > j), count)
        return y.at[count].set(x[i]), count

    return lax.fori_loop(0, 4, step, (jnp.zeros(9), 0))


@pytest.mark.parametrize("function", [packed, packed_by_a_choice, from_the_end, of_pairs, through_an_inner_loop])
def test_places_that_fit(function):
    text = hlo(function, X)
    written = main(text)
    assert "9" not in written.replace("range(9)", "").replace("zeros(9", ""), written
    for x in (X, np.ones(9, np.float32), -np.ones(9, np.float32)):
        assert_agrees(text, x, without="loops", budget=EXACT)


def one_too_many(x):  # after the last iteration, the place is outside
    y, count = packed(x)
    return y.at[count].set(7)


def two_at_a_time(x):
    def step(i, state):
        y, count = state
        return y.at[count].set(x[i]), jnp.where(x[i] > 0, count + 2, count)

    return lax.fori_loop(0, 9, step, (jnp.zeros(9), 0))


def around_the_type(x):  # 8-bit numbers wrap around
    def step(i, state):
        y, count = state
        return y.at[count].set(i * 1.0), count + jnp.int8(1) + (x[i % 9] > 0).astype(jnp.int8)

    return lax.fori_loop(0, 140, step, (jnp.zeros(9), jnp.int8(0)))


def until_a_test_fails(x):  # nobody knows how often
    def step(state):
        y, count = state
        return y.at[count].set(1), jnp.where(x[0] > 0, count + 1, count + 2)

    return lax.while_loop(lambda state: state[0].sum() < 4, step, (jnp.zeros(9), 0))


def by_any_amount(x):
    def step(i, state):
        y, count = state
        return y.at[count].set(x[i]), count + x[i].astype(jnp.int32)

    return lax.fori_loop(0, 9, step, (jnp.zeros(9), 0))


def doubled(x):
    def step(i, state):
        y, count = state
        return y.at[count].set(x[i]), jnp.where(x[i] > 0, count + count, count + 1)

    return lax.fori_loop(0, 9, step, (jnp.zeros(9), 1))


NOT = [one_too_many, two_at_a_time, around_the_type, until_a_test_fails, by_any_amount, doubled]


@pytest.mark.parametrize("function", NOT, ids=lambda f: f.__name__)
def test_places_that_may_not_fit(function):
    text = hlo(function, X)
    assert "< 9" in main(text) or "_at(" in main(text)
    for x in (X, np.ones(9, np.float32), -np.ones(9, np.float32)):
        assert_agrees(text, x, without="loops", budget=EXACT)
