"""Carries that nobody reads are left out; those that a condition, a store or another carry needs stay."""

import numpy as np

from xla2py.tests.passes.raising import cases, lacks, times
from xla2py.tests.recording.lazy_jax import jnp, lax

X = np.float32([0.5, 0.25, 1.5])


def newton(x):
    """A solver that also counts its steps, and keeps the last change and the one before: for nothing."""

    def step(state):
        x, count, change, _ = state
        new = x - (x * x - 2) / (2 * x)
        return new, count + 1, jnp.abs(new - x).max(), change

    return lax.while_loop(lambda state: state[2] > 1e-3, step, (x, 0, jnp.float32(1), jnp.float32(1)))[0]


def nested(x):
    """Loops within loops, and stacked outputs."""

    def outer(carry, _):
        x, unread = carry
        inner = lax.while_loop(
            lambda s: s[0].sum() < 10, lambda s: (s[0] * 2, s[1] + s[0], s[2] - 1), (x, unread, unread)
        )
        return (inner[0] / 3, inner[1] + inner[2]), (inner[0], unread)

    (x, _), (rows, _) = lax.scan(outer, (x, x), None, length=4)
    return x, rows


def needed(x, n):
    """The condition needs what counts."""
    return lax.while_loop(lambda s: s[1] < n, lambda s: (s[0] * 2, s[1] + s[2], s[2] + 1), (x, 0, 1))[0]


def counted(x):
    """Rounds that are counted, and the first of them, have names."""

    def step(state):
        x, rounds, first = state
        return jnp.where(first, x * 3, x / 2), rounds + 1, False

    return lax.while_loop(lambda state: (state[0].sum() > 1) & (state[1] < 9), step, (x, 0, True))


def unread_in_branches(x):
    """A carry that a branch changes and nobody reads goes, with what only the branch computes for it."""

    def body(state):
        x, last, count = state
        x, last = lax.cond(x.sum() > 2, lambda: (x / 2, jnp.sin(last)), lambda: (x + 1, last))
        return x, last, count + 1

    return lax.while_loop(lambda state: (state[0].sum() > 1) & (state[2] < 9), body, (x, x, 0))[0]


def read_in_branches(x):
    """A carry stays if the other branch reads it, or something behind the loop does."""

    def body(state):
        x, last, rest, count = state
        x, last, rest = lax.cond(
            x.sum() > 2, lambda: (x - last, jnp.sin(last), jnp.cos(rest)), lambda: (x + 1, last, rest)
        )
        return x, last, rest, count + 1

    state = lax.while_loop(lambda state: (state[0].sum() > 1) & (state[3] < 9), body, (x, x, x, 0))
    return state[0], state[2]


test_unread_carries = cases("unread_carries", X)(
    (newton, times(5, "\n"), lacks("+ 1")),
    (nested, times(1, "np.empty("), lacks(" - 1")),
    (needed, (X, np.int32(9)), "+ 1"),
    (counted, "count = count + 1", "np.where(is_first, "),
    (unread_in_branches, lacks("np.sin", "last")),
    (read_in_branches, "np.sin", "np.cos"),
)
