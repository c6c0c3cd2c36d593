"""Carries that are written in place only where nobody reads their old value later."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.counted_loops import counted_loop
from xla2py.tests.passes.raising import assert_agrees, hlo, main
from xla2py.tests.recording.lazy_jax import jax, jnp

SWAPS = counted_loop(
    3,
    {"order": "s32[4]", "pivots": "s32[3]"},
    """
    row = s32[1] dynamic-slice(pivots, i), dynamic_slice_sizes={1}
    j = s32[] reshape(row)
    first = s32[1] dynamic-slice(order, i), dynamic_slice_sizes={1}
    second = s32[1] dynamic-slice(order, j), dynamic_slice_sizes={1}
    half = s32[4] dynamic-update-slice(order, second, i)
    clash = s32[1] dynamic-slice(half, j), dynamic_slice_sizes={1}
    kept = pred[1] compare(clash, clash), direction=EQ
    moved = s32[1] select(kept, first, clash)
    new_order = s32[4] dynamic-update-slice(half, moved, j)
    """,
    given="pivots = s32[3] parameter(0)  order = s32[4] iota(), iota_dimension=0",
    behind="ROOT result = s32[4] copy(order_end)",
)


def test_a_changed_copy_reads_the_old_value_of_its_carry_after_the_copy():
    order = xla2py.emit(SWAPS).load().main(np.int32([2, 3, 2]))
    assert order.tolist() == [2, 3, 0, 1]


def test_what_is_read_after_loops_with_long_conditions_keeps_its_name():
    """One such loop stands in the other; parts of their conditions have lines of their own, once."""

    def program(x):
        scale = jnp.where(x > 1, x, x + 1) - 0.25

        def goes_on(carry):
            number, square, total = carry
            small = jnp.log(total) < number * 0.5 + scale * (1 - square + jnp.log(square))
            return (total < 40 - 0.0331 * number * number) & (small | (number < 4))

        def step(carry):
            number, square, total = carry
            up = jax.lax.while_loop(lambda y: y < 3 + scale, lambda y: y * 1.5 + 0.1, jnp.abs(number) + 0.5)
            return number + 1, square + up, total + up * 0.5

        number, square, total = jax.lax.while_loop(goes_on, step, (x, x * x + 1, 1.0))
        ratio = 1 / (1 - jnp.tanh(square * 0.1))
        return (1 - jnp.exp(-total)) ** ratio * (scale * number) - total

    x = np.float32([0.3, 1.7, 2.5])
    text = hlo(jax.vmap(program), x)
    assert main(text).count("while True:") == 2
    statements = [line.strip() for line in main(text).splitlines() if " = " in line]
    assert len(statements) == len(set(statements))
    assert_agrees(text, x, without="inlining")


@pytest.mark.parametrize("style", ["readable", "fused"])
def test_a_loop_that_begins_with_a_table_has_a_name_for_what_it_carries(style):
    """The table is the module's."""

    def program(x):
        counts = jnp.arange(20, dtype=jnp.uint32).reshape(5, 4)
        table = counts // 4 * 1000 + counts % 3 + 42
        return jax.lax.fori_loop(0, 5, lambda i, c: (c[0] + c[1], (c[1] << 3) ^ c[0]), (x, table))

    x = np.ones((5, 4), np.uint32)
    module = xla2py.emit(xla2py.from_jax(program, x), style=style)
    assert "TABLE_1 = np.array(" in module.source
    loaded = module.load()
    for _ in range(2):
        np.testing.assert_array_equal(loaded.main(x), jax.jit(program)(x))


def test_the_result_of_an_inner_loop_outlives_the_value_it_began_with():
    """The inner loop begins with a carry, whose next value may come before all have read the loop's result."""

    def step(_, carry):
        x, y = carry
        doubled = jax.lax.fori_loop(0, 5, lambda _, z: jnp.clip(z + z, -8, 8), y)
        return jnp.sin(doubled), jnp.clip(x - 1, -8, 8)

    def program(x):
        return jax.lax.fori_loop(0, 4, step, (x, x))

    x = np.linspace(-3, 3, 8, dtype=np.float32)
    for own, expected in zip(xla2py.emit(xla2py.from_jax(program, x)).load().main(x), jax.jit(program)(x), strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-6)


def test_what_an_inner_loop_reads_has_another_name_than_what_it_carries():
    """The carry of the inner loop has the name of the outer one's from its first iteration on."""

    def program(x):
        def row(i, c):
            c = jnp.clip(x[i], -2, 2)
            return jax.lax.fori_loop(0, 3, lambda j, s: jnp.clip(c * j + jnp.cos(s), -1, 1), jnp.clip(x[i] * 3, -1, 1))

        return jax.lax.fori_loop(0, 5, row, jnp.clip(x[0], -1, 1))

    x = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    actual = xla2py.emit(xla2py.from_jax(program, x)).load().main(x)
    np.testing.assert_allclose(actual, jax.jit(program)(x), rtol=1e-5)


def test_a_carry_has_the_name_that_only_earlier_lines_read():
    def program(x):
        level = jnp.sin(x)
        rest = x - level

        def step(_, pair):
            level, rest = pair
            return level + jnp.tanh(rest), rest * level

        return jax.lax.fori_loop(0, 3, step, (level, rest))

    x = np.float32([0.5, 2])
    module = xla2py.emit(xla2py.from_jax(program, x))
    assert "level_2" not in module.source
    np.testing.assert_allclose(module.load().main(x), jax.jit(program)(x), rtol=1e-5)


def test_carries_that_begin_alike_have_names_of_their_own():
    def program(x):
        level = jnp.sin(x)
        start = level * 2

        def step(_, state):
            one, other, sums = state
            return one * other, other + one, sums + one * start

        return jax.lax.fori_loop(0, 3, step, (level, level, start))

    x = np.float32([0.5, 2])
    module = xla2py.emit(xla2py.from_jax(program, x))
    np.testing.assert_allclose(module.load().main(x), jax.jit(program)(x), rtol=1e-5)


@pytest.mark.parametrize("is_changed_before", [True, False])
def test_a_loop_begins_with_an_array_as_it_was_before_another_change(is_changed_before):
    def step(i, carried):
        rows, column = carried
        column = rows.at[i].set(0)[:, 2] if is_changed_before else column

        def inner(k, carried):
            rows, column = carried
            return rows.at[k].add(column[:3]), column.at[k].set(1)

        return jax.lax.fori_loop(0, 3, inner, (rows, column))

    rows, column = np.arange(18, dtype=np.int32).reshape(6, 3), np.arange(6, dtype=np.int32)

    def function(rows, column):
        return jax.lax.fori_loop(0, 4, step, (rows, column))

    made = xla2py.emit(xla2py.from_jax(function, rows, column)).load().main(rows, column)
    for one, other in zip(made, jax.jit(function)(rows, column), strict=True):
        np.testing.assert_array_equal(one, other)
