"""What all branches give is no choice."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import assert_same, entry, hlo, main
from xla2py.tests.recording.lazy_jax import jax, jnp

X = np.random.default_rng(8).standard_normal(6).astype(np.float32)
FLAGS = np.array(True), np.array(False)
BRANCH = """%{0} (p: f32[]) -> f32[] {{
 p = f32[] parameter(0)
 t = token[] after-all()
 o = token[] outfeed(p, t), outfeed_shape=f32[]
 ROOT n = f32[] constant(2)
}}
"""


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


@pytest.mark.parametrize("sent, count", [("n", 2), ("p", 1)])
def test_effects_of_branches_that_give_the_same_stay(sent, count):
    other = BRANCH.format("no").replace(" t = ", " n = f32[] negate(p)\n t = ").replace("ROOT n", "ROOT k")
    text = entry(
        "flag = pred[] parameter(0)",
        "x = f32[] parameter(1)",
        "c = f32[] conditional(flag, x, x), true_computation=yes, false_computation=no",
        functions=BRANCH.format("yes") + (other.replace("(p, t)", "(n, t)") if sent == "n" else BRANCH.format("no")),
    )
    lines = main(text).splitlines()
    assert sum("outfeed(" in line for line in lines) == count
    assert lines[-1] == "return np.float32(2)"


ALIKE = """HloModule m
one { p = (f32[6]) parameter(0)
 x = f32[6] get-tuple-element(p), index=0
 k = f32[] constant(2)
 b = f32[6] broadcast(k), dimensions={}
 ROOT y = f32[6] multiply(x, b) }
two { q = (f32[6]) parameter(0)
 a = f32[6] get-tuple-element(q), index=0
 c = f32[] constant(2)
 d = f32[6] broadcast(c), dimensions={}
 ROOT e = f32[6] multiply(a, d), metadata={op_name="other"} }
ENTRY main { n = s32[] parameter(0)
 x = f32[6] parameter(1)
 z = f32[6] parameter(2)
 t = (f32[6]) tuple(x)
 u = (f32[6]) tuple(x)
 ROOT r = f32[6] conditional(n, t, u, t), branch_computations={one, two, one} }
"""


def test_branches_that_do_the_same_are_one():
    for number in (-1, 0, 1, 5):
        assert_same(ALIKE, np.int32(number), X, X + 1)
    assert main(ALIKE) == "return x * 2"


@pytest.mark.parametrize(
    "old, new", [("c = f32[] constant(2)", "c = f32[] constant(3)"), ("u = (f32[6]) tuple(x)", "u = (f32[6]) tuple(z)")]
)
def test_branches_that_differ_in_a_number_or_in_what_they_are_given_are_chosen(old, new):
    text = ALIKE.replace(old, new)
    for number in (0, 1):
        assert_same(text, np.int32(number), X, X + 1)
    assert "if n == 0:" in main(text)


def test_a_loop_that_has_ended_hands_its_flag_on():
    def bounded(x):
        def step(state, _):
            def go_on(state):
                x, _ = state
                return x * 0.5, (x * 0.5).sum() > 1

            return jax.lax.cond(state[1], go_on, lambda state: (state[0], False), state), None

        return jax.lax.scan(step, (x, True), None, length=9)[0]

    x = np.linspace(1, 4, 3, dtype=np.float32)
    emitted = xla2py.emit(jax.jit(bounded).lower(x).as_text("hlo", debug_info=True), checks=False)
    assert "else" not in emitted.source
    for scale in (0, 1, 30, -1, np.inf, np.nan):
        found, flag = emitted.load().main(x * np.float32(scale))
        expected, ended = bounded(x * np.float32(scale))
        np.testing.assert_array_equal(found, expected)
        assert bool(flag) == bool(ended)
