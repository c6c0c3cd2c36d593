"""Branches that do nothing are not written."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import main

jax = pytest.importorskip("jax")
X = np.float32([1, -2, np.nan])


def loop(choose):
    """Five rounds, in each of which a branch is chosen."""
    return lambda x: jax.lax.fori_loop(0, 5, lambda i, x: choose(i, x), x)


def twice(x):
    return x * 2


def same(x):
    return x


def more(x):
    return x + 1


@pytest.mark.parametrize(
    ("choose", "expected"),
    [
        (lambda i, x: jax.lax.cond(x[0] > 3, twice, same, x), "if x[0] > 3:\n        x = x * 2\nreturn x"),
        (lambda i, x: jax.lax.cond(x[0] > 3, same, twice, x), "if not x[0] > 3:\n        x = x * 2\nreturn x"),
        (lambda i, x: jax.lax.cond(x[2] > 0, same, twice, x), "if not x[2] > 0:\n        x = x * 2\nreturn x"),
        (lambda i, x: jax.lax.cond(x[0] > 3, twice, more, x), "x = x * 2\n    else:\n        x = x + 1\nreturn x"),
        (lambda i, x: jax.lax.switch(i, [same, twice, same], x), " == 1:\n        x = x * 2\nreturn x"),
    ],
)
def test_a_branch_that_does_nothing_is_left_out(choose, expected):
    module = xla2py.from_jax(loop(choose), X)
    assert main(module).endswith(expected)
    np.testing.assert_array_equal(xla2py.emit(module).load().main(X), jax.jit(loop(choose))(X))
