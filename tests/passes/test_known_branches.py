"""A choice that was made around is not made again."""

import numpy as np
import pytest

from xla2py.tests.passes.raising import assert_same, hlo, main
from xla2py.tests.recording.lazy_jax import jax, jnp

X = np.float32([0.5, -2, 3])
FLAGS = [np.array(flag) for flag in (False, True)]


def text_of(function):
    text = hlo(function, *FLAGS, X)
    for a in FLAGS:
        for b in FLAGS:
            assert_same(text, a, b, X)
    return main(text)


@pytest.mark.parametrize(
    ("outer", "inner", "expected"),
    [
        (lambda a, b: a, lambda a, b: a, 1),
        (lambda a, b: a, lambda a, b: ~a, 1),
        (lambda a, b: a & b, lambda a, b: b, 1),
        (lambda a, b: ~(a | b), lambda a, b: b, 1),
        (lambda a, b: a & b, lambda a, b: ~(a & b), 1),
        (lambda a, b: a | b, lambda a, b: b, 2),
        (lambda a, b: a, lambda a, b: b, 2),
        (lambda a, b: a, lambda a, b: a & b, 2),
    ],
)
def test_branches_in_branches(outer, inner, expected):
    def program(a, b, x):
        def yes(x):
            return jax.lax.cond(inner(a, b), lambda x: x * 2, lambda x: x + 3, x)

        return jax.lax.cond(outer(a, b), yes, lambda x: x - 1, x)

    assert text_of(program).count("if ") == expected


def test_the_other_branch_knows_the_contrary():
    def program(a, b, x):
        return jax.lax.cond(a | b, lambda x: x * 2, lambda x: jax.lax.cond(b, jnp.sin, lambda x: x + 3, x), x)

    assert "sin" not in text_of(program)


def test_choices_of_values_in_branches():
    def program(a, b, x):
        return jax.lax.cond(a, lambda x: jnp.where(a, x, 0) + jnp.where(b, x, 1), lambda x: x - 1, x)

    text = text_of(program)
    assert text.count("where(b") == 1 and "where(a" not in text


def test_loops_in_branches_know_what_does_not_change():
    def program(a, b, x):
        def step(_, state):
            flag, x = state
            x = jax.lax.cond(a, lambda x: x * 2, lambda x: x + 3, x)
            return ~flag, jax.lax.cond(flag, lambda x: x + 1, lambda x: x * 0.5, x)

        return jax.lax.cond(a, lambda x: jax.lax.fori_loop(0, 3, step, (a, x))[1], lambda x: x - 1, x)

    text = text_of(program)
    assert "+ 3" not in text and "+ 1" in text and "* 0.5" in text


@pytest.mark.parametrize(("count", "number"), [(2, lambda k: k), (3, lambda k: k), (2, lambda k: ~k + 2)])
def test_numbers_of_branches(count, number):
    """A number chooses the same branch of as many; those beyond all are in the last. The bits of one are no flag."""
    outer = [lambda x: x, *(lambda x, k=k: x * k for k in range(2, count + 1))]

    def program(k, x):
        again = [lambda x: x + 1, lambda x: x + 2, lambda x: x + 5][:count]
        outer[1] = lambda x: jax.lax.switch(number(k), again, x)
        return jax.lax.switch(k, outer, x)

    text = hlo(program, np.int32(0), X)
    for k in (-1, 0, 1, 2, 9):
        assert_same(text, np.int32(k), X)


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        (lambda x: jnp.linspace(0, 5, 11), "x * 2"),
        (lambda x: jnp.linspace(5, 0, 11), "x + 3"),
        (lambda x: jnp.linspace(0, 5, 11) + x[0], "if "),  # depends on an argument
        (lambda x: jnp.sin(jnp.arange(5000.0)), "if "),  # too many to work out
    ],
)
def test_of_what_depends_on_no_argument(points, expected):
    """A check of points that are known, such as a solver's, is made when the module is written."""

    def program(x):
        ts = points(x)
        rises = ~(ts[1:] < ts[:-1]).any()
        return jax.lax.cond(rises, lambda x: x * 2, lambda x: x + 3, x)

    text = hlo(program, X)
    body = main(text)
    assert expected in body and ("if " in body) == (expected == "if "), body
    assert_same(text, X)


def test_a_branch_of_several_that_depends_on_no_argument():
    def program(x):
        number = jnp.arange(5).sum() - 8
        return jax.lax.switch(number, [lambda x: x * 2, lambda x: x + 3, jnp.sin], x)

    text = hlo(program, X)
    assert "sin" in main(text) and "if " not in main(text)
    assert_same(text, X)


@pytest.mark.parametrize("last", ["zero, one", "one, zero"])
def test_the_number_of_the_branch_that_was_taken_chooses_as_what_chose_it(last):
    text = f"""
    zero {{ u = f32[] parameter(0)  ROOT r = s32[] constant(0) }}
    one {{ u = f32[] parameter(0)  ROOT r = s32[] constant(1) }}
    twice {{ u = f32[] parameter(0)  ROOT r = f32[] add(u, u) }}
    minus {{ u = f32[] parameter(0)  ROOT r = f32[] negate(u) }}
    ENTRY main {{
      i = s32[] parameter(0)  a = f32[] parameter(1)
      n = s32[] conditional(i, a, a), branch_computations={{zero, one}}
      m = s32[] conditional(n, a, a), branch_computations={{{last}}}
      ROOT y = f32[] conditional(m, a, a), branch_computations={{twice, minus}}
    }}"""
    assert main(text).count("if ") == 1
    for number in (-1, 0, 1, 2):
        assert_same(text, np.int32(number), np.float32(1.5))
