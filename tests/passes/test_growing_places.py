"""Places that a loop counts up until its condition says that it is done are never negative, so that none is wrapped."""

import numpy as np
import pytest

from xla2py.tests.passes.raising import assert_agrees, hlo, main
from xla2py.tests.recording.lazy_jax import jnp, lax
from xla2py.tests.whole import much

X = np.float32([0.5, 0.25, 1.5, -2])
WRAPPED = " < 0"


def filled(begin, step, more, end=lambda i: i):
    """The text of a loop that writes at a place, from ``begin``, which ``step`` changes while there is ``more``."""

    def program(x, first):
        def body(state):
            x, i, count = state
            return x.at[i].set(jnp.sin(x[i])), step(i, x), count + 1

        x, i, _ = lax.while_loop(
            lambda state: more(state[1], state[0]) & (state[2] < 9), body, (x, begin(first), jnp.int32(0))
        )
        return x, end(i)

    texts = []
    for first in (True, False):
        texts.append(hlo(program, X, np.bool_(first)))
        assert_agrees(texts[0], X, np.bool_(first), without="loops")
    return main(texts[0])


@pytest.mark.parametrize("element_type", much([np.int8], [np.int8, np.int32]))
@pytest.mark.parametrize(
    ("begin", "step", "more"),
    [
        (lambda first: 0, lambda i, x: i + 1, lambda i, x: (i < 4) & (x[0] < 3)),
        (lambda first: 0, lambda i, x: i + 2, lambda i, x: i <= x.shape[0]),
        (lambda first: jnp.where(first, 0, 1), lambda i, x: i + 1, lambda i, x: i < 4),
        (lambda first: 1, lambda i, x: jnp.where(x[1] > 0, i + 1, i), lambda i, x: (x[0] < 3) & (i < 4)),
        (lambda first: 1, lambda i, x: i, lambda i, x: x[0] < 3),
    ],
)
def test_places_that_never_fall_below_0(begin, step, more, element_type):
    body = filled(lambda first: jnp.asarray(begin(first), element_type), step, more)
    assert WRAPPED not in body, body


@pytest.mark.parametrize(
    ("begin", "step", "more"),
    [
        (lambda first: 0, lambda i, x: i + 1, lambda i, x: x[0] < 3),  # may wrap
        (lambda first: 124, lambda i, x: i + 1, lambda i, x: (x[0] < 3) & (i <= 127)),  # does
        (lambda first: 120, lambda i, x: i + 5, lambda i, x: (x[0] < 3) & (i < 127)),
        (lambda first: -1, lambda i, x: i + 1, lambda i, x: i < 4),
        (lambda first: jnp.where(first, -2, 1), lambda i, x: i + 1, lambda i, x: i < 4),
        (lambda first: 3, lambda i, x: i - 1, lambda i, x: (x[0] < 3) & (i < 4)),
        (lambda first: 0, lambda i, x: jnp.where(x[3] > 0, i + 1, i - 1), lambda i, x: (x[0] < 3) & (i < 4)),
        (lambda first: 0, lambda i, x: i + 100, lambda i, x: (x[0] < 3) | (i < 4)),  # either is enough
        (lambda first: 0, lambda i, x: i + 100, lambda i, x: (x[0] < 3) & (i > -90)),
    ],
)
def test_places_that_may_be_below_0(begin, step, more):
    body = filled(lambda first: jnp.asarray(begin(first), np.int8), step, more)
    assert WRAPPED in body, body


def test_places_that_loops_in_loops_count_up():
    def program(x, limit):
        def inner(state):
            y, i = state
            return y.at[i].set(x[i] * 2), i + 1

        def outer(state):
            y, i, t = state
            y, i = lax.while_loop(lambda s: (x[s[1]] < t) & (s[1] < 4), inner, (y, i))
            return y, i, t + 1

        return lax.while_loop(lambda s: s[2] < limit, outer, (x, 0, jnp.float32(0)))

    text = hlo(program, X, np.float32(3))
    body = main(text)
    assert WRAPPED not in body, body
    assert_agrees(text, X, np.float32(3), without="loops")
