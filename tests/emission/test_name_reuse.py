"""A name that nobody reads any more is used again, and no other: what loops, branches and closures still read."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.counted_loops import counted_loop
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.transpile.python.liveness import LiveNames


def apart(source, *parameters):
    """The pairs of the names w, x, y and z that one variable must not stand for; and the fixed names."""
    rows = [row.lstrip() for row in source.split("\n")]
    indents = [1 + (len(row) - len(text)) // 4 for row, text in zip(source.split("\n"), rows, strict=True)]
    live = LiveNames(set("wxyz"))
    live.read(list(zip(indents, rows, strict=True)), parameters)
    pairs = {"".join(sorted((a, b))) for a, others in live.interfering.items() for b in others if a != b}
    return pairs, live.fixed


@pytest.mark.parametrize(
    ("source", "pairs"),
    [
        pytest.param("x = f(a)\ny = g(x)\nreturn y", "", id="a rebinding in a line"),
        pytest.param("x = f(a)\ny = g(x)\nreturn x + y", "xy", id="read later"),
        pytest.param("x, y = f(a)\nreturn x", "xy", id="bound together"),
        pytest.param("x = f(a)\nz = x\nreturn z", "xz", id="a copy would be one of itself"),
        pytest.param("x, z = f(a), g(a)\ny, w = x, f(z)\nreturn y + w", "wy xy xz", id="a copy among others"),
        pytest.param("x = f(a)\nx[g(a)] = a\ny = f(x)\nx[f(a)] = y\nreturn x", "xy", id="a store reads its array"),
        pytest.param("x = f()\ny, o[x] = g()\nreturn y", "xy", id="a target is read after one is bound"),
        pytest.param("x = f()\nx += 1\ny = g(x)\nx += y\nreturn x", "xy", id="what is added to is read"),
        pytest.param("if a:\n    x = f()\n    z = g(x)\nelse:\n    z = a\ny = f(z)\nreturn y", "", id="of branches"),
        pytest.param("x = f()\nif a:\n    y = g()\n    x = h(y)\nreturn x", "", id="one branch binds it anew"),
        pytest.param("x = f()\nif a:\n    y = g()\nelse:\n    y = h()\nreturn x + y", "xy", id="read behind both"),
        pytest.param("x = f()\nif a:\n    y = g()\n    return y\nreturn x", "", id="a branch that returns"),
        pytest.param("x = f()\nif a:\n    y = g()\n    h(y)\nreturn x", "xy", id="the other branch keeps it"),
        pytest.param("for i in n:\n    y = f(i)\n    o[i] = y\nz = g()\nreturn z", "", id="of a body"),
        pytest.param("x = f()\nfor i in n:\n    y = g(x)\n    h(y)\nreturn a", "xy", id="the next round reads it"),
        pytest.param("x = f()\nfor i in n:\n    y = g(x)\n    x = h(y)\nreturn x", "", id="carried around"),
        pytest.param(
            "x = f()\nfor i in n:\n    z = g(x)\n    y = f(z)\n    x = h(z, y)\nreturn x",
            "yz",
            id="carried in two steps",
        ),
        pytest.param("x = f()\nfor i in n:\n    y = g()\n    h(y)\nreturn x", "xy", id="read behind the loop"),
        pytest.param("y = f()\nx = f()\nfor i in n:\n    y = g()\nreturn y, x", "xy", id="a loop without a round"),
        pytest.param(
            "x = f()\nfor i in n:\n    for j in n:\n        y = g()\n        h(y)\n    x = g(x)\nreturn a",
            "xy",
            id="the loop around reads it in the next round",
        ),
        pytest.param(
            "x = f()\nwhile g(x):\n    y = f()\n    if h(y):\n        break\n    x = f()\nreturn a",
            "",
            id="a break leaves it unread",
        ),
        pytest.param(
            "x = f()\nwhile True:\n    z = g()\n    if h(z):\n        break\n    x = f()\nreturn x",
            "xz",
            id="behind a break",
        ),
        pytest.param(
            "x = f()\nwhile g(x):\n    y = f()\n    if h(y):\n        continue\n    x = f()\nreturn a",
            "xy",
            id="a continue",
        ),
    ],
)
def test_names_that_are_needed_at_once_stay_apart(source, pairs):
    assert apart(source, "a", "n") == (set(pairs.split()), set())


def test_keywords_attributes_and_comparisons_are_told_from_names():
    assert apart("x = f(a)\ny = g(a)\nz = y(x=y, w=a.x)\nreturn z", "a")[0] == set()
    assert apart("x = f(a)\ny = g(a)\nz = y==a\nreturn x, z", "a")[0] == {"xy", "xz"}


def test_parameters_are_bound_before_the_body():
    assert apart("y = f(x)\nreturn y, z", "x", "z")[0] == {"xz", "yz"}


@pytest.mark.parametrize(
    "use",
    [
        "g(lambda: x)",
        "y = g(x for _ in a)",
        "y = g(lambda: x)",
        "y = (x := g(a))",
        "y = g(f'{x}')",
        "del x",
        "with x as y: pass",
    ],
)
def test_what_closures_read_or_statements_bind_in_other_ways_stays(use):
    assert "x" in apart(f"x = f(a)\n{use}\nreturn a", "a")[1]


def program_of_rounds():
    def step(carry, row):
        total = jnp.tanh(carry + row)
        inner = jax.lax.fori_loop(0, 3, lambda _, y: jnp.sin(y @ y.T) + total, total)
        total = jnp.tanh(inner + carry)
        return total, (total + inner).sum()

    def program(x, rows):
        first, sums = jax.lax.scan(step, x, rows)
        second, others = jax.lax.scan(step, jnp.cos(first), rows[::-1])
        chosen = jax.lax.cond(sums[0] > 0, lambda: jnp.tanh(second @ x), lambda: jnp.tanh(x + first))
        return chosen + jnp.tanh(second), sums, others

    return program


@pytest.mark.parametrize("with_sources", [True, False])
@pytest.mark.parametrize("style", ["readable", "fused"])
def test_loops_and_branches_with_equal_names_give_equal_values(style, with_sources):
    program = program_of_rounds()
    x, rows = np.linspace(-1, 1, 9, dtype=np.float32).reshape(3, 3), np.linspace(-2, 2, 12, dtype=np.float32)
    lowered = xla2py.from_jax(program, x, rows.reshape(4, 3))
    options = {} if with_sources else {"annotate": "none"}
    own = xla2py.emit(lowered, style=style, **options).load().main(x, rows.reshape(4, 3))
    for mine, expected in zip(own, jax.jit(program)(x, rows.reshape(4, 3)), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-4, atol=1e-5)


LOOPS = counted_loop(
    3,
    {"x": "f32[4]"},
    """
    e = f32[4] exponential(x)
    root = f32[4] sqrt(e)
    new_x = f32[4] multiply(e, root)
    """,
    given="x = f32[4] parameter(0)",
    behind="""e = f32[4] exponential(x_end)
    s = f32[4] sine(e)
    ROOT both = f32[4] multiply(e, s)""",
)


def test_a_name_of_a_loop_body_is_used_again_behind_it():
    source = xla2py.emit(LOOPS).source
    assert source.count(" exp = np.exp(") == 2
    assert "_2" not in source.split("def main")[1].split("\ndef ")[0]


def test_the_copy_that_is_changed_does_not_have_the_name_of_what_its_new_elements_are_computed_of():
    def step(_, state):
        x, y = state
        y = jax.lax.fori_loop(0, 3, lambda _, y: y * 2, y)
        y = x.at[1:3].multiply((y * x).sum())
        return x % 11, y

    def program(x, y):
        return jax.lax.fori_loop(0, 4, step, (x, y))

    x, y = np.int32([1, 2, 0, 3, 2]), np.int32([1, 1, 0, 2, 3])
    own = xla2py.emit(xla2py.from_jax(program, x, y)).load().main(x, y)
    for mine, expected in zip(own, jax.jit(program)(x, y), strict=True):
        np.testing.assert_array_equal(mine, expected)


def test_a_number_belongs_to_one_wanted_name():
    """``z_2`` is what ``z[2]`` is called, and the second ``z``."""

    def step(i, a, b):
        z = jnp.zeros_like(a).at[(jnp.array([1, 3, 0]) + i) % 3].add(b)
        return b, z + a

    def program(*z):
        return jax.lax.fori_loop(0, 3, lambda i, state: step(i, *state), step(1, *z[1:]))

    given = [np.arange(first, first + 3, dtype=np.int32) for first in range(3)]
    own = xla2py.emit(xla2py.from_jax(program, *given)).load().main(*given)
    for mine, expected in zip(own, jax.jit(program)(*given), strict=True):
        np.testing.assert_array_equal(mine, expected)


def test_updates_behind_a_loop_keep_the_name_that_it_carried():
    def substituted(b, d):
        y = jnp.zeros(5).at[0].set(b[0] / d[0])
        y = jax.lax.fori_loop(1, 4, lambda i, y: y.at[i].set((b[i] - y[i - 1]) / d[i]), y)
        y = y.at[4].set(b[4] - d[4] * y[3])
        y = y.at[4].set(y[4] / (d[4] - d[3] * y[2]))
        return y, y.sum()

    given = np.float32([1, 2, 3, 5, 8]), np.float32([2, 1, 4, 3, 7])
    module = xla2py.from_jax(substituted, *given)
    assert "y_2" not in xla2py.emit(module).source
    for one, other in zip(xla2py.emit(module).load().main(*given), jax.jit(substituted)(*given), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
