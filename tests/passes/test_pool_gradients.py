"""Gradients of pooling, as the optimiser leaves them: a search for places, and a scatter to them."""

import numpy as np
import pytest

from xla2py.tests.passes.raising import EXACT, assert_agrees, called, main, no_prelude, optimised

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
rng = np.random.default_rng(5)
X = rng.integers(0, 4, (2, 9, 8, 3)).astype(np.float32)
X[0, 3, 3, 1] = np.nan


def pooled(window, strides, padding, lowest=-np.inf, choose=jax.lax.max):
    return lambda x: jax.lax.reduce_window(x, lowest, choose, window, strides, padding)


def gradient(pool):
    return lambda x, weights: jax.grad(lambda x: (pool(x) * weights).sum())(x)


def both(pool):
    """The optimised gradient and its arguments, small numbers whose sums are exact."""
    weights = rng.integers(-9, 10, jax.eval_shape(pool, X).shape).astype(np.float32)
    return optimised(gradient(pool), X, weights), X, weights


@pytest.mark.parametrize(
    "window, strides", [((1, 2, 2, 1), (1, 2, 2, 1)), ((1, 3, 2, 1), (1, 1, 2, 1)), ((2, 2, 1, 3), (1, 1, 1, 1))]
)
@pytest.mark.parametrize("padding", ["VALID", "SAME"])
def test_gradients_of_max_pooling(window, strides, padding):
    text, x, weights = both(pooled(window, strides, padding))
    assert called(text) >= {"select_and_scatter"} and not called(text) & {"fold_windows", "scatter_at"}
    assert "select_and_scatter" not in called(text, no_prelude)
    assert_agrees(text, x, weights, without="pool_gradients", budget=EXACT)


def test_gradients_of_min_pooling():
    text, x, weights = both(pooled((1, 2, 2, 1), (1, 2, 2, 1), "VALID", np.inf, jax.lax.min))
    assert "select=np.less_equal" in main(text)
    assert_agrees(text, x, weights, without="pool_gradients", budget=EXACT)


def test_one_row():
    def pool(x):
        return jax.lax.reduce_window(x, -np.inf, jax.lax.max, (3,), (2,), "VALID")

    x, weights = X[0, :, 0, 0], np.arange(4, dtype=np.float32)
    text = optimised(gradient(pool), x, weights)
    assert main(text) == "return select_and_scatter(x, weights, (3,), strides=(2,))"
    assert_agrees(text, x, weights, without="pool_gradients", budget=EXACT)


SEARCH = """
step {
  chosen = f32[] parameter(0)
  place = s32[] parameter(1)
  element = f32[] parameter(2)
  other = s32[] parameter(3)
  nowhere = s32[] constant(-1)
  found = pred[] compare(place, nowhere), direction=NE
  inside = pred[] compare(other, nowhere), direction=NE
  outside = pred[] not(inside)
  better = pred[] compare(chosen, element), direction=GE
  both = pred[] and(better, found)
  stays = pred[] or(both, outside)
  a = f32[] select(stays, chosen, element)
  b = s32[] select(stays, place, other)
  ROOT r = (f32[], s32[]) tuple(a, b)
}
put {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
ENTRY main {
  x = f32[9] parameter(0)
  source = f32[4] parameter(1)
  zero = f32[] constant(0)
  nowhere = s32[] constant(-1)
  places = s32[9] iota(), iota_dimension=0
  search = (f32[4], s32[4]) reduce-window(x, places, zero, nowhere), window={size=3 stride=2}, to_apply=step
  found = s32[4] get-tuple-element(search), index=1
  zeros = f32[9] broadcast(zero), dimensions={}
  ROOT r = f32[9] scatter(zeros, found, source), update_window_dims={}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=put
}
"""


def changed(*pairs):
    text = f"HloModule m\n{SEARCH}"
    for before, after in pairs:
        assert text.count(before) == 1
        text = text.replace(before, after)
    return text


@pytest.mark.parametrize(
    "pairs, is_one",
    [
        ((), True),
        ([("direction=GE", "direction=GT")], True),
        ([("direction=GE", "direction=EQ")], False),
        ([("f32[] add(a, b)", "f32[] maximum(a, b)")], False),
        ([("select(stays, place, other)", "select(stays, other, place)")], False),
        ([("and(better, found)", "and(better, better)")], False),
        ([("compare(chosen, element)", "compare(element, chosen)")], False),
        ([("zeros = f32[9] broadcast(zero)", "n = f32[] constant(-0)\n  zeros = f32[9] broadcast(n)")], False),
        ([("s32[9] iota(), iota_dimension=0", "s32[9] constant({0, 1, 2, 3, 4, 5, 6, 8, 7})")], False),
        ([("size=3 stride=2", "size=2 stride=2 rhs_dilate=2")], False),
    ],
)  # fmt: skip
def test_what_only_looks_like_one_stays(pairs, is_one):
    text = changed(*pairs)
    assert ("select_and_scatter" in called(text)) == is_one
    assert_agrees(text, X[0, :, 0, 0], np.arange(4, dtype=np.float32), without="pool_gradients", budget=EXACT)
