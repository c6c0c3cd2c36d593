"""What all branches give is no choice."""

import jax
import jax.numpy as jnp
import numpy as np

import xla2py
from xla2py.tests.passes.raising import EXACT, entry, hlo, main
from xla2py.transpile.equivalence.comparison import compare
from xla2py.transpile.equivalence.reference_process import run_hlo_in_child

X = np.random.default_rng(8).standard_normal(6).astype(np.float32)
FLAGS = np.array(True), np.array(False)
BRANCH = """%{0} (p: f32[]) -> f32[] {{
 p = f32[] parameter(0)
 t = token[] after-all()
 o = token[] outfeed(p, t), outfeed_shape=f32[]
 ROOT n = f32[] constant(2)
}}
"""


def assert_same(text, *inputs):
    emitted = xla2py.emit(text, format=False).load().main
    results = compare(run_hlo_in_child(text, *inputs), emitted(*inputs), EXACT)
    assert results and all(result.status.is_good for result in results), "\n".join(map(str, results))


def chosen(yes, no, *given):
    """The text of a choice by a flag, which gives what XLA does with either."""
    text = hlo(lambda flag, *given: jax.lax.cond(flag, yes, no, *given), FLAGS[0], *given)
    for flag in FLAGS:
        assert_same(text, flag, *given)
    return main(text)


def test_what_a_branch_hands_through_is_not_chosen():
    text = chosen(lambda x: (x * 2, x), lambda x: (x + 3, x), X)
    assert text == "if flag:\n    value = given_0 * 2\nelse:\n    value = given_0 + 3\nreturn value, given_0"


def test_numbers_that_all_branches_give_are_known():
    text = chosen(lambda x: (x * 2, 3.0), lambda x: (x, 3.0), X)
    assert text.endswith(", np.float32(3)")
    other = chosen(lambda x: (x * 2, 0.0), lambda x: (x, -0.0), X)
    assert "-0.0" in other


def test_what_only_some_branches_hand_through_is_chosen():
    assert "if " in chosen(lambda x, y: (x, y), lambda x, y: (y, y), X, X + 1)


def test_a_loop_keeps_what_its_branches_hand_through():
    def steps(x):
        def even(count, x, most):
            return count + 1, x * most, most

        def odd(count, x, most):
            return count + 1, x + most, most

        def body(carry):
            return jax.lax.cond(carry[0] % 2 == 0, even, odd, *carry)

        return jax.lax.while_loop(lambda carry: carry[0] < 5, body, (0, x, jnp.float32(1.5)))[1]

    text = hlo(steps, X)
    assert "x * 1.5" in main(text) and "x + 1.5" in main(text)
    assert_same(text, X)


def test_effects_of_branches_that_give_the_same_stay():
    text = entry(
        "flag = pred[] parameter(0)",
        "x = f32[] parameter(1)",
        "c = f32[] conditional(flag, x, x), true_computation=yes, false_computation=no",
        functions=BRANCH.format("yes") + BRANCH.format("no"),
    )
    lines = main(text).splitlines()
    assert sum("outfeed(" in line for line in lines) == 2
    assert lines[-1] == "return np.float32(2)"
