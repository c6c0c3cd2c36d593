"""A measure of several arrays, such as the norm of all gradients, is one sum over them."""

import numpy as np
import pytest

from xla2py.templates.prelude.trees import tree_leaves
from xla2py.tests.emission.test_leaf_maps import emitted, loss, main_of, updated
from xla2py.tests.emission.test_result_groups import X, Y, parameters
from xla2py.tests.recording.lazy_jax import jax, jnp


def clipped(grads, measure):
    norm = jnp.sqrt(sum(map(measure, jax.tree.leaves(grads))))
    return jax.tree.map(lambda g: g / jnp.maximum(norm, 1), grads)


def adam_step(params, mu, nu, count, x, y):
    grads = jax.grad(loss)(params, x, y)
    return updated(params, mu, nu, clipped(grads, lambda g: jnp.sum(g * g)), count), count + 1


def test_the_norm_of_all_gradients_is_one_sum_over_their_tree():
    params = parameters(3)
    zeros = jax.tree.map(np.zeros_like, params)
    text = main_of(emitted(adam_step, params, zeros, zeros, np.float32(1), X, Y))
    assert "sum((leaf * leaf).sum() for leaf in tree_leaves(d_params))" in text.replace("\n", ""), text
    assert text.count("d_params = {") == 1 and text.index("d_params = {") < text.index("tree_leaves("), text


def squares(g):
    return jnp.sum(jnp.square(g))


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (lambda *xs: jnp.sqrt(sum(map(squares, xs))), "leaf in (a, b, c, d)"),
        (lambda *xs: sum(jnp.abs(x).sum() for x in xs) * 2, "(np.abs(leaf).sum() for leaf in (a, b, c, d))"),
        (lambda a, b, c, d: sum(map(squares, (a, b, c, d, a))), ""),  # one of them twice
        (lambda a, b, c, d: sum(map(squares, (a, b, c))) * d.sum(), ""),  # few
        (lambda a, b, c, d: sum(map(squares, (a, b, c))) + jnp.abs(d).sum(), ""),
        (lambda a, b, c, d: (squares(a) + squares(b)) + (squares(c) + squares(d)), ""),  # another order
        (lambda a, b, c, d: (a * b).sum() + (b * c).sum() + (c * d).sum() + (d * a).sum(), ""),  # perhaps -0.0
        (lambda *xs: sum(x.sum() for x in xs), ""),
    ],
)
def test_sums_of_one_measure_of_each_array(program, expected):
    given = [np.float32(each) for each in ([[1, -2]], [[np.inf, 3]], [[0.5, -0.0]], [[-7, 1e-30]])]

    def named(a, b, c, d):
        return program(a, b, c, d)

    text = main_of(emitted(named, *given))
    assert ("for leaf in" in text) == bool(expected) and expected in text, text


def test_leaves_come_in_the_order_of_jax():
    tree = {"b": [1, (2, 3)], "a": {"z": 4, "y": 5}, "c": ()}
    assert [*tree_leaves(tree)] == [5, 4, 1, 2, 3]
