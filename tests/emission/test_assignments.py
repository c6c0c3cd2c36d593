"""Names that get new values one after another, each before what its value reads is changed."""

from itertools import permutations

import numpy as np

from xla2py.tests.passes.raising import assert_agrees, hlo, main
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.transpile.emission.arrangement.assignments import one_after_another


def test_what_is_read_is_changed_later():
    assert one_after_another([("a", "b"), ("b", "c"), ("c", "a2")]) == [[("a", "b")], [("b", "c")], [("c", "a2")]]
    assert one_after_another([("b", "c"), ("a", "b + a")]) == [[("a", "b + a")], [("b", "c")]]


def test_only_those_that_read_each_other_are_assigned_together():
    swap = [("a", "b"), ("b", "a")]
    assert one_after_another([("c", "a"), *swap, ("d", "c")]) == [[("d", "c")], [("c", "a")], swap]


def test_any_order_gives_what_all_at_once_would():
    old = {"a": 2, "b": 3, "c": 5, "d": 7}
    for values in permutations(["a", "b + c", "c * d", "d - a", "a"]):
        pairs = [*zip("abcd", values, strict=False)]
        found = dict(old)
        for group in one_after_another(pairs):
            found |= {name: eval(value, {}, dict(found)) for name, value in group}
        assert found == {name: eval(value, {}, old) for name, value in pairs}


def test_many_carries_of_a_branch_are_assigned_one_by_one():
    def program(low, high, x):
        def step(state):
            low, high, f_low, f_high, best, rounds = state
            middle = (low + high) / 2
            value = jnp.cos(middle) - x

            def left(_):
                return low, middle, f_low, value, jnp.minimum(best, jnp.abs(value)), rounds + 1

            def right(_):
                return high, low, value, f_low, jnp.minimum(f_high, best), rounds + 2

            return jax.lax.cond(f_low * value < 0, left, right, None)

        start = (low, high, jnp.cos(low) - x, jnp.cos(high) - x, jnp.float32(9), 0)
        return jax.lax.while_loop(lambda state: state[-1] < 12, step, start)

    arguments = np.float32(0), np.float32(1.5), np.float32(0.4)
    text = hlo(program, *arguments)
    assert not any(line.strip() == "(" for line in main(text).splitlines())
    assert_agrees(text, *arguments, without="inlining")
