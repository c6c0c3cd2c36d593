"""Carries that nobody reads are left out; those that a condition, a store or another carry needs stay."""

import numpy as np

from xla2py.tests.passes.raising import assert_agrees, hlo, main
from xla2py.tests.recording.lazy_jax import jnp, lax

X = np.float32([0.5, 0.25, 1.5])


def newton(x):
    """A solver that also counts its steps, and keeps the last change and the one before: for nothing."""

    def step(state):
        x, count, change, _ = state
        new = x - (x * x - 2) / (2 * x)
        return new, count + 1, jnp.abs(new - x).max(), change

    return lax.while_loop(lambda state: state[2] > 1e-3, step, (x, 0, jnp.float32(1), jnp.float32(1)))[0]


def test_what_only_feeds_itself_is_not_carried():
    text = hlo(newton, X)
    body = main(text)
    assert body.count("\n") + 1 == 6 and "+ 1" not in body.replace("1e-3", ""), body
    assert_agrees(text, X, without="unread_carries")


def test_of_loops_within_loops_and_stacked_outputs():
    def function(x):
        def outer(carry, _):
            x, unread = carry
            inner = lax.while_loop(
                lambda s: s[0].sum() < 10, lambda s: (s[0] * 2, s[1] + s[0], s[2] - 1), (x, unread, unread)
            )
            return (inner[0] / 3, inner[1] + inner[2]), (inner[0], unread)

        (x, _), (rows, _) = lax.scan(outer, (x, x), None, length=4)
        return x, rows

    text = hlo(function, X)
    body = main(text)
    assert body.count("np.empty(") == 1 and " - 1" not in body, body
    assert_agrees(text, X, without="unread_carries")


def test_what_the_condition_needs_stays():
    def function(x, n):
        return lax.while_loop(lambda s: s[1] < n, lambda s: (s[0] * 2, s[1] + s[2], s[2] + 1), (x, 0, 1))[0]

    text = hlo(function, X, np.int32(9))
    assert "+ 1" in main(text)
    assert_agrees(text, X, np.int32(9), without="unread_carries")


def test_rounds_that_are_counted_and_the_first_of_them_have_names():
    def function(x):
        def step(state):
            x, rounds, first = state
            return jnp.where(first, x * 3, x / 2), rounds + 1, False

        return lax.while_loop(lambda state: (state[0].sum() > 1) & (state[1] < 9), step, (x, 0, True))

    text = hlo(function, X)
    body = main(text)
    assert "count = count + 1" in body and "np.where(is_first, " in body, body
    assert_agrees(text, X, without="unread_carries")


def test_branches_do_not_give_what_only_feeds_itself():
    """A carry that a branch changes and nobody reads goes, with what only the branch computes for it."""

    def function(x):
        def body(state):
            x, last, count = state
            x, last = lax.cond(x.sum() > 2, lambda: (x / 2, jnp.sin(last)), lambda: (x + 1, last))
            return x, last, count + 1

        return lax.while_loop(lambda state: (state[0].sum() > 1) & (state[2] < 9), body, (x, x, 0))[0]

    text = hlo(function, X)
    body = main(text)
    assert "np.sin" not in body and "last" not in body, body
    assert_agrees(text, X, without="unread_carries")


def test_branches_give_what_one_of_them_reads():
    """A carry stays if the other branch reads it, or something behind the loop does."""

    def function(x):
        def body(state):
            x, last, rest, count = state
            x, last, rest = lax.cond(
                x.sum() > 2, lambda: (x - last, jnp.sin(last), jnp.cos(rest)), lambda: (x + 1, last, rest)
            )
            return x, last, rest, count + 1

        state = lax.while_loop(lambda state: (state[0].sum() > 1) & (state[3] < 9), body, (x, x, x, 0))
        return state[0], state[2]

    text = hlo(function, X)
    body = main(text)
    assert "np.sin" in body and "np.cos" in body, body
    assert_agrees(text, X, without="unread_carries")
