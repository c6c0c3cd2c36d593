"""Arrays of loops that Numba compiles as one function: none is made in a round, and none changes that is still to be
read."""

import warnings

import numpy as np
import pytest

from xla2py.tests.recording.lazy_jax import jax

pytest.importorskip("numba", reason="Numba is not installed")


from xla2py.tests.targets.numpy_fast import as_in_xla, rounds

jnp, lax = jax.numpy, jax.lax
X, Y = np.random.default_rng(3).normal(size=(2, 12)).astype(np.float32)


@pytest.mark.compiled
def test_arrays_are_made_before_the_first_round():
    def waves(now, before):
        def step(_, carry):
            now, before = carry
            return 1.9 * now - before + 0.01 * jnp.roll(now, 1), now

        return lax.fori_loop(0, 9, step, (now, before))

    lines = rounds(as_in_xla(waves, X, Y))
    assert not any(made in lines for made in ("np.empty", ".copy()"))
    assert lines.index("copy_into(before, now)") < lines.index("copy_into(now, ")


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_numbers_side_by_side_are_written_where_they_belong(dtype):
    """A matrix goes into the array of its carry, behind all that reads what is there; a row is an array of the loop."""

    def turned(x):
        def step(m, one):
            row = jnp.stack([m[0, 1] + one, m[1, 0] - one])
            return jnp.array([[m[1, 0] * x[0], row[0]], [m[0, 0] - row[1], m[0, 1]]]), row

        return lax.scan(step, jnp.eye(2, dtype=x.dtype), x[:5])

    module = as_in_xla(turned, X.astype(dtype))
    lines = rounds(module)
    assert "np.array(" not in lines and "[1, 1] = " in lines and "copy_into(m, next_m)" in lines


@pytest.mark.compiled
def test_a_row_that_is_a_matrix_too_is_read():
    """What the row was made of may have changed by then."""

    def turned(x):
        def step(carry, one):
            v, t = carry
            row = jnp.stack([v[0] + one, v[1] - one, v[2] * 0.5, v[3] * t[0]])
            v = v.at[0].set(row.sum() * 0.1)
            return (v, (row.reshape(2, 2) @ t + v[:2]) * 0.1), row.sum()

        return lax.scan(step, (jnp.ones(4), jnp.ones(2)), x)

    assert "row[3] = " in rounds(as_in_xla(turned, X))


def test_an_array_that_both_branches_write_is_made():
    def chosen(y, x, least):
        return jnp.where(y.sum() > least, y, x), y.sum() > least

    def function(x, a):
        def step(carry):
            n, x, scale = carry
            y, done = lax.cond(
                scale > 3, lambda: chosen(jnp.sin(x) + a * x, x, 1), lambda: chosen(jnp.cos(x) * a - x, x, 2)
            )
            x = lax.cond(~done, lambda: jnp.tanh(y + scale * a), lambda: y)
            return n + 1, x, scale + x.sum()

        return lax.while_loop(lambda carry: carry[0] < 5, step, (0, x, jnp.float32(1)))[1]

    module = as_in_xla(function, np.linspace(0, 1, 6, dtype=np.float32), np.linspace(1, 2, 6, dtype=np.float32))
    assert module.source.count("np.empty(6, np.float32)") == 3 and "np.empty" not in rounds(module)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_what_a_loop_in_a_branch_reads_is_named_there_alone(n):
    def grown(carry):
        return lax.while_loop(lambda c: c[0].sum() < 9, lambda c: (c[0] * 1.5 + abs(c[1]), jnp.tanh(c[1])), carry)[0]

    def function(x, y, n):
        def step(carry, row):
            branches = [lambda: carry * row, lambda: grown((abs(carry), row)), lambda: carry + row]
            return lax.switch(n, branches) + row.sum(), row * 2

        return lax.scan(step, x, jnp.stack([x, y, x * y]))

    module = as_in_xla(function, X, Y, np.int32(n), tolerance=1e-4)
    assert "stacked[i].copy()" in module.source


@pytest.mark.parametrize("least", [-9, 9])
def test_what_a_loop_in_a_branch_carries_has_an_array_without_it(least):
    def swapped(x, y):
        return lax.fori_loop(0, 5, lambda _, c: (c[1], c[0].at[4].multiply(c[1][0])), (x, y))[1]

    def function(x, y, least):
        def step(_, carry):
            x, y = carry
            return lax.cond(x[0] > least, swapped, lambda x, y: y, x, y + x[1]), x

        return lax.fori_loop(0, 6, step, (x, y))

    as_in_xla(function, X, Y, np.float32(least), tolerance=1e-4)


def test_an_array_of_a_round_is_copied_where_a_carry_is_changed_from_it():
    """The next round writes into the array while it still reads the carry."""

    def function(x, y):
        def step(_, carry):
            before, now = carry
            scale = jnp.exp(-jnp.abs(before))
            return (-now).at[1:].multiply(0.5), jnp.where(now > scale, now, scale * 0.5)

        return lax.fori_loop(0, 4, step, (x, y))

    lines = rounds(as_in_xla(function, X, Y))
    assert "copy_into(before, " in lines


def test_what_loops_begin_with_keeps_its_name_until_they_read_it():
    def bisected(x, y):
        def step(carry):
            count, low, middle, high = carry
            above = x > middle
            low, high = jnp.where(above, middle, low), jnp.where(above, high, middle)
            return count + 1, low, (low + high) / 2, high

        begun = [jnp.broadcast_to(number, x.shape) for number in (y.min(), y.sum(), y.max())]
        return lax.while_loop(lambda c: (c[0] < 9) & ((c[3] - c[1]).max() > 0), step, (0, *begun))[2] * y.min()

    as_in_xla(bisected, X, Y)


def test_arguments_may_be_called_like_types():
    def steps(f4, i4, sin_f32):
        return lax.fori_loop(0, 5, lambda i, x: jnp.sin(x) * i4[i] + i + sin_f32.sum(), f4)

    as_in_xla(steps, X, Y, Y / 8, tolerance=2e-5)


def test_arrays_that_change_places():
    def turns(x, y):
        def step(i, carry):
            x, y, z = carry
            return y, z + 0.1 * x[::-1], x

        return lax.fori_loop(0, 7, step, (x, y, x * y))

    as_in_xla(turns, X, Y)


def test_an_array_is_changed_where_it_is_if_each_step_reads_its_own_element():
    def springs(x, v):
        def step(_, carry):
            x, v = carry
            v = v - 0.1 * x * jnp.abs(x)
            return x + 0.1 * v, v

        return lax.fori_loop(0, 20, lambda i, c: step(i, step(i, (c[0][::-1], c[1]))), (x, v))

    as_in_xla(springs, X, Y)


def test_a_view_of_what_changes_is_a_copy():
    def reversed_sum(x, y):
        def step(carry, row):
            x, total = carry
            back = x[::-1]
            new = jnp.sin(x) + row
            return (new, total + jnp.dot(back, new) * jnp.dot(back, x)), back[:3]

        return lax.scan(step, (x, jnp.float32(0)), jnp.stack([y] * 6))

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # as Numba's of products of what is not side by side
        as_in_xla(reversed_sum, X, Y, tolerance=2e-5)


def test_branches_write_into_the_arrays_of_the_loop():
    def walk(x, y):
        def step(i, carry):
            x, y, n = carry
            moved = jnp.cumsum(x)[::-1] * 0.1 + y
            return lax.cond(
                moved.sum() > i % 3 - 1, lambda: (moved, x, n + 1), lambda: (y, 0.5 * moved, n - jnp.int32(2))
            )

        return lax.fori_loop(0, 11, step, (x, y, jnp.int32(0)))

    as_in_xla(walk, X, Y)


def test_loops_in_loops():
    def relax(x, y):
        def inner(_, x):
            return 0.5 * (jnp.roll(x, 1) + y)

        def outer(_, carry):
            x, sums = carry
            z = lax.fori_loop(0, 5, inner, x)
            return x + 0.1 * lax.fori_loop(0, 4, inner, z * z), sums + z

        return lax.fori_loop(0, 6, outer, (x, x))

    as_in_xla(relax, X, Y)


def test_an_array_that_becomes_another_carry_is_no_view_of_one_that_changes():
    def turned(x, y):
        def step(carry, _):
            x, y = carry
            z = y.at[0, 0, 0].add(x[1, 0, 1])
            turned = y.T.at[0, 0, 0].add(y[0, 0, 0])
            return (turned, x.at[1].set(jnp.cos(z[0]))), turned.sum()

        return lax.scan(step, (x, y), length=3)

    assert ".transpose(2, 1, 0).copy()" in rounds(as_in_xla(turned, X[:8].reshape(2, 2, 2), Y[:8].reshape(2, 2, 2)))


def test_an_array_may_change_into_the_next_one_of_its_carry():
    def turned(x):
        return lax.fori_loop(0, 3, lambda _, x: x.T.at[0, 0].add(x[1, 0]), x)

    as_in_xla(turned, X[:4].reshape(2, 2))


@pytest.mark.compiled
def test_arrays_in_another_shape_that_nothing_else_reads_are_not_copied():
    def gates(x, turns):
        def step(x, turn):
            for k in range(3):
                c, s = jnp.cos(turn[k]), jnp.sin(turn[k])
                x = jnp.einsum("ij,ajb->aib", jnp.array([[c, -s], [s, c]]), x.reshape(2**k, 2, -1)).reshape(-1)
            for k in range(2):
                x = x.reshape(2**k, 2, 2, -1).at[:, 1, 1].multiply(-1).reshape(-1)
            return x, None

        return lax.scan(step, x, turns)[0]

    text = rounds(as_in_xla(gates, X[:8], Y.reshape(4, 3)))
    shaped = [line for line in text.splitlines() if ".reshape(" in line]
    assert ["copy()" in line for line in shaped] == [True, False, False, False, True]  # but what is carried
    assert text.count("copy_into(updated") == 2


def test_arrays_in_another_shape_that_are_read_again_are_copied():
    def walked(x, turns):
        def step(x, turn):
            sine = jnp.sin(x * turn[0])
            y = sine.reshape(2, 2).at[0, 0].set(turn[1])
            return (y * sine.reshape(2, 2)[::-1] + y.T).reshape(4), sine

        return lax.scan(step, x, turns)

    as_in_xla(walked, X[:4], Y.reshape(4, 3))


@pytest.mark.compiled
def test_matrices_are_stored_without_the_checks_of_an_assignment():
    """Numba compiles texts of errors for these, which takes seconds."""

    def filtered(x, rows):
        def step(x, row):
            x = jnp.tanh(x * row[0] + x.T)
            return x + x.sum(), (x, x.T * row[1])

        return lax.scan(step, x, rows)

    assert rounds(as_in_xla(filtered, X[:4].reshape(2, 2), Y.reshape(4, 3))).count("copy_into(") >= 2


@pytest.mark.compiled
@pytest.mark.parametrize("width", [1, 3])
def test_one_column_is_stored_in_all_columns_of_a_part(width):
    def stored(x, y):
        return lax.fori_loop(0, 3, lambda i, x: x.at[i, :, :].set(jnp.cos(y[:, :1]) + x[i, 0, 0]), x)

    as_in_xla(stored, np.ones((3, 4, width), np.float32), Y[:4].reshape(4, 1))


@pytest.mark.parametrize("style", ["readable", "fast"])
def test_what_stays_is_not_stored(style):
    def moved(x, y, which):
        def step(carry, i):
            def put(*new):
                return tuple(array.at[i].set(value) for array, value in zip(carry, new, strict=True))

            x, y = carry[0][i], carry[1][i]
            return lax.cond(which[i] > 1, lambda: put(x + jnp.sin(y), y), lambda: put(x, y * x)), None

        return lax.scan(step, (x, y), jnp.arange(4))[0]

    lines = as_in_xla(moved, X[:4], Y[:4], np.array([0, 2, 1, 3], np.int32), style=style).source.splitlines()
    assert not any(f"{name}[i] = {name}[i]" == line.split("#")[0].strip() for name in "xy" for line in lines)
    assert any(line.strip().startswith("y[i] ") for line in lines)


@pytest.mark.parametrize(
    "following",
    [
        lambda s: s * 2 + 1,
        lambda s: jnp.roll(s, 1, 0),
        lambda s: s[::-1] * 2,
        lambda s: jnp.cumsum(s, 1),
        lambda s: s.T,
    ],
)
def test_a_carry_is_not_written_while_it_is_read_turned(following):
    def turned(x, rows):
        return lax.scan(lambda s, row: (following(s.T.at[:, 0].set(row)), None), x, rows)[0]

    as_in_xla(turned, X[:9].reshape(3, 3), Y[:12].reshape(4, 3))


def test_an_array_that_becomes_another_carry_keeps_its_name_until_then():
    """The next value of its own carry, which has the name from its first update on, has another name or comes later."""

    def changed(u, v):
        def step(i, carry):
            u, v, _ = carry
            return v.at[4].add(v[i]).at[i].set(1), u.at[i].set(u[0] * 2).at[1].add(3), u

        return lax.fori_loop(0, 4, step, (u, v, v))

    def scanned(u, v, rows):
        def step(k, carry):
            u, v, _ = carry

            def inside(carry, i):
                x, row = carry
                return (x.at[jnp.argmax(x)].add(x[i]), jnp.roll(row, 1)), row[0]

            (x, _), rolled = lax.scan(inside, (v.at[k].set(7), rows[:, 0]), jnp.arange(6))
            return x, rolled, u

        return lax.fori_loop(0, 3, step, (u, v, v))

    as_in_xla(changed, X[:6], Y[:6])
    as_in_xla(scanned, X[:6], Y[:6], Y.reshape(6, 2))


def test_no_counter_has_the_name_of_an_array():
    def waves(x, s):
        x = lax.fori_loop(0, 4, lambda k, x: x.at[k].add(x[0] * s[0]), x)
        i = jnp.sin(s) * 2
        return lax.fori_loop(0, 4, lambda _, x: jnp.cos(x * i[0]) + jnp.roll(x, 1), x), i[:, None] * i[0]

    assert "for j in range(4):" in rounds(as_in_xla(waves, X[:4], Y[:4]))
