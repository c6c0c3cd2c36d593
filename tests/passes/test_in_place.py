"""Loops that change an array where it is, and those that must not."""

from pathlib import Path

import numpy as np
import pytest

from xla2py import emit
from xla2py.tests.passes.raising import EXACT, assert_agrees, cases, hlo, main, times
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.tests.targets.running import leaves, on_dask, on_device, on_numpy, uneven
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_in_child
from xla2py.transpile.equivalence.verdicts.comparison import compare

lax = jax.lax
X = np.random.default_rng(4).normal(size=(5, 6)).astype(np.float32)


def smoothed(x):
    return lax.fori_loop(0, 4, lambda _, t: t.at[1:-1].set((t[:-2] + t[2:]) * 0.5), x)


def two_arrays(x):
    def step(k, state):
        keys, values = state
        keys = keys.at[k].set(values[k] * 2)
        return keys, values.at[k + 1].set(keys.sum(axis=0))

    return lax.fori_loop(0, 4, step, (x, x))


def until_large(x):
    return lax.while_loop(lambda t: t[2, 2] < 9, lambda t: t.at[2].set(t[2] + 1), x)


def accumulated(x):
    places = jnp.array([0, 0, 3])
    return lax.fori_loop(0, 3, lambda k, t: t.at[places].add(t[k]), x)


def chosen_row(x):  # a view that is read before the change alone
    def step(k, t):
        row = lax.cond(t[k, 0] > 0, lambda: t[0], lambda: t[1])
        return t.at[k].set(row + 1)

    return lax.fori_loop(0, 3, step, x)


@pytest.mark.parametrize("function", [smoothed, two_arrays, until_large, chosen_row], ids=lambda f: f.__name__)
def test_one_copy_before_the_loop(function):
    text = hlo(function, X)
    loop = main(text).split(":\n", 1)
    assert ".copy()" in loop[0] and ".copy()" not in loop[1]
    assert_agrees(text, X, without="in_place", budget=EXACT)


def with_the_last(x):  # the last value lives on beside the changed one
    def step(k, state):
        now, _ = state
        return now.at[k].set(now[k] + now[k + 1]), now

    return lax.fori_loop(0, 3, step, (x, x))


def with_a_view(x):  # a row of the last value lives on
    def step(k, state):
        now, row = state
        return now.at[1].set(now[1] + row), now[1]

    return lax.fori_loop(0, 3, step, (x, x[0]))


def with_a_view_of_the_next(x):
    def step(k, state):
        now, row = state
        following = now.at[1].set(now[1] + row)
        return following, following[1]

    return lax.fori_loop(0, 3, step, (x, x[0]))


def shifted(x):  # what is written looks at what is changed
    return lax.fori_loop(0, 3, lambda _, t: t.at[1:].set(t[:-1]), x)


def exchanged(x):
    return lax.fori_loop(0, 3, lambda k, s: (s[1], s[0].at[k].set(s[1][0])), (x, x + 1))


def inner_loop(x):
    def step(k, t):
        total = lax.fori_loop(0, 2, lambda j, u: u * 0.5 + t, t)
        return t.at[k].set(total[0])

    return lax.fori_loop(0, 3, step, x)


def chosen_row_read_later(x):
    def step(k, t):
        row = lax.cond(t[k, 0] > 0, lambda: t[0], lambda: t[1])
        return t.at[k].set(row + 1).at[4].add(row)

    return lax.fori_loop(0, 3, step, x)


MUST_COPY = [with_the_last, with_a_view, with_a_view_of_the_next, shifted, exchanged, inner_loop]
MUST_COPY += [chosen_row_read_later]


@pytest.mark.parametrize("function", [*MUST_COPY, accumulated], ids=lambda f: f.__name__)
def test_what_is_looked_at_later_is_copied(function):
    text = hlo(function, X)
    if function in MUST_COPY:
        assert ".copy()" in main(text).split(":\n", 1)[1]
    assert_agrees(text, X, without="in_place", budget=EXACT)


def started(x):  # the array that the loop changes is made for it
    rows = jnp.zeros((5, 6)).at[0].set(x[0]).at[:, 0].set(x[:, 1])
    return lax.fori_loop(1, 4, lambda k, t: t.at[k].set(t[k - 1] * x[k]), rows)


def moved_on(x):  # a new array in every iteration
    return lax.fori_loop(0, 4, lambda k, t: t[jnp.array([1, 0, 4, 2, 3])].at[k].set(t[0] + k), x)


test_copies_only_of_what_somebody_still_looks_at = cases(
    "in_place", X, says=lambda copies: times(copies, ".copy()"), budget=EXACT
)(
    (lambda x: x.at[0].set(1).at[:, 2].set(3).at[4, 4].set(2), 1),
    (lambda x: (x * 2).at[0].set(1), 0),
    (started, 0),
    (moved_on, 0),
    (lambda x: (y := x * 2).at[0].set(y[1] + y[2]), 0),  # it is read before it changes
    (lambda x: ((y := x * 2).max(), y.at[0].set(1).at[1].set(y[0] * 3)), 1),
    (lambda x: (y := (y := x * 2).at[0].set(y[1] * 3)).at[1].set(y[0] * 3), 0),
    # near-misses: somebody still looks at the array
    (lambda x: ((y := x.at[0].set(1)), y.at[1].set(2)), 2),
    (lambda x: ((y := x.at[0].set(1))[2] * 2, y.at[2].set(2)), 2),
    (lambda x: (y := x * 2).at[0].set(y[1]), 0),  # apart
    (lambda x: (y := x * 2) + y.at[2].set(2), 1),
    (lambda x: x.T.at[0].set(1), 1),
    (lambda x: (y := x * 2).at[:2].set(y[1:3]), 1),  # where libraries differ on arrays that overlap
    (lambda x: ((z := (y := x * 2).T) * z + z.at[0].set(1), y.at[0].set(2)), 2),
    (lambda x: jnp.take(x, jnp.argmax(x[:, 0]), axis=0, mode="clip").at[0].set(9) + x, 1),
    (lambda x: lax.fori_loop(0, 3, lambda k, t: t.at[k].set(t[k + 1]).at[0, k].add(1), x), 1),
)


test_parts_are_combined_where_they_are = cases(
    "in_place", X, budget=EXACT
)(
    (lambda x: (x * 2).at[1:].add(x[0]), "product[1:] +="),
    (lambda x: (x * 2).at[:, 2].multiply(x[:, 1]), "product[:, 2] *="),
    (lambda x: (y := x * 2).at[1].set(y[1] - x[0]), "product[1] -="),
    (lambda x: (y := x * 2).at[1].set(x[0] + y[1]), "product[1] +="),
    (lambda x: (y := x * 2).at[1].set(y[1] - y[2]), "product[1] -="),  # another row
    (lambda x: (y := x * 2).at[2, 3].set(y[2, 3] * y[1, 1]), "product[2, 3] *="),
    # near-misses
    (lambda x: (y := x * 2).at[1].set(x[0] - y[1]), "product[1] ="),
    (lambda x: (y := x * 2).at[1].set(y[2] - x[0]), "product[1] ="),
    (lambda x: (y := x * 2).at[1].set(y[1] - x[0] - x[2]), "product[1] ="),  # it would be rounded differently
    (lambda x: (y := x * 2).at[1:].set(y[1:] + y[:-1]), "product[1:] ="),  # a library may read what it wrote
    (lambda x: (y := x * 2).at[:5, :5].set(y[:5, :5] + y[:5, :5].T), "product[:, :5] ="),
    (lambda x: (y := x * 2).at[1].set(y[1] / x[0]), "product[1] ="),
)


def in_another_shape(x):  # what is changed is a view of an array that nobody reads again
    def step(_, t):
        t = (t * 0.5 + x).reshape(3, 10).at[:, 1].add(1).reshape(5, 6)
        return t.T.at[0].set(2).T

    return lax.fori_loop(0, 3, step, x)


def in_another_shape_and_its_own(x):
    y = x * 2
    return y.reshape(3, 10).at[:, 1].set(1), y.max()


def in_two_shapes(x):
    y = x * 2
    return y.reshape(3, 10).at[:, 1].set(1), y.T


def in_another_shape_of_an_argument(x):
    return x.reshape(3, 10).at[:, 1].set(1)


def in_another_shape_kept(x):
    def step(_, state):
        t, kept = state
        y = t * 0.5 + kept
        return y.reshape(3, 10).at[:, 1].set(1).reshape(5, 6), y

    return lax.fori_loop(0, 3, step, (x, x))


def in_another_shape_beside(x):  # the array goes on, changed, and so does the view
    def step(_, state):
        t, total = state
        other = t.reshape(3, 10).at[:, 1].set(1)
        return t.at[0].add(1), total * 0.5 + other

    return lax.fori_loop(0, 3, step, (x, jnp.zeros((3, 10))))


def in_another_shape_before(x):
    def step(_, state):
        t, other = state
        return t.at[0].set(other[0, :6]), t.reshape(3, 10).at[:, 1].set(1)

    return lax.fori_loop(0, 3, step, (x * 2, jnp.zeros((3, 10))))


test_views_of_arrays_that_nobody_reads_again_are_changed = cases(
    "in_place", X, says=lambda copies: times(copies, ".copy()"), budget=EXACT
)(
    (in_another_shape, 0),
    # near-misses
    (in_another_shape_and_its_own, 1),
    (in_two_shapes, 1),
    (in_another_shape_of_an_argument, 1),
    (in_another_shape_kept, 1),
    (in_another_shape_beside, 2),
    (in_another_shape_before, 1),
)


def waves(x):  # all arrays begin as the same zeros
    def step(state, now):
        e, h = state
        h = h.at[:-1].add(e[1:] - e[:-1])
        e = e.at[1:].add(h[1:] - h[:-1])
        return (e.at[2].add(now), h), None

    return lax.scan(step, (jnp.zeros((5, 6)),) * 2, x)[0]


def by_rows(x):  # two loops and what follows change one array
    def row(i, t):
        t = lax.fori_loop(0, i, lambda j, t: t.at[i, j].set(t[j, i] * 2), t)
        return t.at[i, i].set(t[i, 0] + 1)

    return lax.fori_loop(0, 5, row, x)


def by_sweeps(x):  # the row that a loop begins with is read before the array changes
    def row(i, t):
        one = lax.fori_loop(0, i, lambda j, v: v - (t[j] @ v) * t[j], t[i])
        return t.at[i].set(one * 2)

    return lax.fori_loop(0, 5, row, x)


def with_borders(x):
    return lax.fori_loop(0, 3, lambda _, t: (t.at[:, -1].set(t[:, -2])).at[:, 0].set(t[:, 1]), x)


def number_moved(x):
    return lax.fori_loop(0, 5, lambda i, t: t.at[i, i].set(t[i, 5 - i]), x)


@pytest.mark.parametrize("function", [by_rows, by_sweeps, with_borders, number_moved], ids=lambda f: f.__name__)
def test_loops_within_loops_change_what_is_there(function):
    text = hlo(function, X)
    assert main(text).count(".copy()") == 1
    assert ".copy()" not in main(text).split(":\n", 1)[1]
    assert_on_all(text, function)


def test_arrays_that_begin_alike_are_changed_where_they_are():
    text = hlo(waves, X)
    assert ".copy()" not in main(text).split(":\n", 1)[1]
    assert_on_all(text, waves)


def read_behind(x):  # what was there before the loop within is read behind it
    def row(i, t):
        changed = lax.fori_loop(0, i, lambda j, u: u.at[i, j].set(u[j, i] * 2), t)
        return changed.at[i, i].set(t[i, 0] + changed[0, 0])

    return lax.fori_loop(0, 5, row, x)


def read_within(x):  # .. and in it
    def row(i, t):
        return lax.fori_loop(0, i, lambda j, u: u.at[i, j].set(t[j, i] + t[i, 0]), t)

    return lax.fori_loop(0, 5, row, x)


def viewed_in_the_next_round(x):  # a row of the array goes into the next round, and is read behind the change there
    def row(i, state):
        t, one = state
        t = lax.fori_loop(0, i, lambda j, t: t.at[0, j].add(t[i, j]), t)
        t = t.at[1].set(one * 2)
        return t, t[0]

    return lax.fori_loop(0, 5, row, (x, x[0]))


def kept_as_it_was(x):
    def row(i, state):
        t, _ = state
        return lax.fori_loop(0, i, lambda j, t: t.at[0, j].add(t[i, j]), t), t

    return lax.fori_loop(0, 5, row, (x, x))


def swapped(x):
    def row(i, state):
        a, b = state
        return lax.fori_loop(0, i, lambda j, t: t.at[0, j].add(a[i, j]), b), a

    return lax.fori_loop(0, 5, row, (x, x + 1))


def changed_before(x):  # what a name stood for before the loop within is read behind it, as the name goes on
    def row(i, t):
        t = t.at[4 - i, 4 - i].set(t[i, 0] + 1)
        changed = lax.fori_loop(i, 5, lambda j, u: u.at[i, i].set(j * 2.0), t)
        return changed.at[i, 5 - i].set(t[i, i])

    return lax.fori_loop(0, 5, row, x)


STILL_NEEDED = [read_behind, read_within, viewed_in_the_next_round, kept_as_it_was, swapped, changed_before]


@pytest.mark.parametrize("function", STILL_NEEDED, ids=lambda f: f.__name__)
def test_what_loops_within_loops_still_need(function):
    assert_on_all(hlo(function, X), function)


def rows_to_columns(x):
    return lax.fori_loop(0, 5, lambda i, t: t.at[:, 5 - i].set(t[i, 1:]), x)


def row_to_column(x):
    y = x * 2
    return y.at[:, 1].set(y[0, 1:])


@pytest.mark.parametrize("function", [rows_to_columns, row_to_column], ids=lambda f: f.__name__)
def test_a_part_that_crosses_what_it_changes_is_copied(function):
    """NumPy writes over a row while it reads it."""
    text = hlo(function, X)
    assert main(text).count("].copy()\n") == 1
    assert_on_all(text, function)


def assert_on_all(text, function):
    expected = jax.tree.leaves(jax.jit(function)(X))
    assert_agrees(text, X, without="own_arrays")
    for given in (on_dask(text, [X], uneven), on_device(text, [X]), leaves(emit(text, style="fast").load().main(X))):
        for one, other in zip(expected, given, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def sorted_by_exchanges(x):
    def compared(j, t):
        one, other = t[0, j], t[0, j + 1]
        return t.at[0, j].set(jnp.minimum(one, other)).at[0, j + 1].set(jnp.maximum(one, other))

    return lax.fori_loop(0, 5, lambda i, t: lax.fori_loop(0, 5 - i, compared, t), x)


def best_first(x):
    def exchanged(i, t):
        j = jnp.argmin(jnp.where(jnp.arange(6) >= i, t[1], jnp.inf))
        one, other = t[1, i], t[1, j]
        return t.at[1, i].set(other).at[1, j].set(one)

    return lax.fori_loop(0, 6, exchanged, x)


def rows_exchanged(x):
    def exchanged(i, t):
        j = jnp.argmax(t[:, i])
        one, other = t[i], t[j]
        return t.at[i].set(other).at[j].set(one)

    return lax.fori_loop(0, 5, exchanged, x)


def rotated(x):
    def both(i, t):
        one, other = t[i], t[i + 1]
        return t.at[i].set(0.6 * one + 0.8 * other).at[i + 1].set(0.6 * other - 0.8 * one)

    return lax.fori_loop(0, 4, both, x)


def eliminated(x):  # after the exchange, a new array
    def column(k, t):
        j = jnp.argmax(jnp.where(jnp.arange(5) >= k, abs(t[:, k]), -1))
        one, other = t[k], t[j]
        t = t.at[k].set(other).at[j].set(one)
        return t - jnp.outer(jnp.where(jnp.arange(5) > k, t[:, k] / t[k, k], 0), t[k])

    return lax.fori_loop(0, 4, column, x)


def inserted(x):  # an element is read in the inner loop that moves others, and behind it
    def one(i, t):
        value = t[0, i]
        moved = lax.fori_loop(0, i, lambda j, u: u.at[0, j + 1].set(jnp.minimum(u[0, j], value)), t)
        return moved.at[0, 0].set(value)

    return lax.fori_loop(1, 5, one, x)


def exchanged_by_numbers(x):  # the position is read before it changes, too
    def exchanged(i, t):
        return t.at[0, i].set(t[0, 5 - i]).at[jnp.int32(t[0, i] > 0), 5 - i].set(t[0, i] * 2)

    return lax.fori_loop(0, 3, exchanged, x)


EXCHANGES = [
    sorted_by_exchanges, best_first, rows_exchanged, rotated, eliminated, inserted, exchanged_by_numbers
]  # fmt: skip


@pytest.mark.parametrize("function", EXCHANGES, ids=lambda f: f.__name__)
def test_what_changes_get_of_the_old_array_is_computed_before(function):
    text = hlo(function, X)
    in_rounds = main(text).split("for ", 1)[1]
    copies = 1 if function in (rows_exchanged, eliminated) else 0  # of a row
    assert in_rounds.count(".copy()") == copies and in_rounds.count("].copy()") == copies
    assert_on_all(text, function)


def moved_twice(x):  # parts that overlap
    def moved(i, t):
        return t.at[1:4].set(t[0:3]).at[0:2].set(t[1:3])

    return lax.fori_loop(0, 3, moved, x)


def column_from_row(x):
    def moved(i, t):
        return t.at[i].set(t[4 - i]).at[:, i].set(t[i, :5])

    return lax.fori_loop(0, 5, moved, x)


def kept_beside(x):
    def exchanged(i, state):
        t, _ = state
        return t.at[i].set(t[i + 1]).at[i + 1].set(t[i]), t

    return lax.fori_loop(0, 4, exchanged, (x, x))


def row_kept(x):  # as it was before
    def exchanged(i, state):
        t, _ = state
        return t.at[i].set(t[i + 1]).at[i + 1].set(t[i]), t[i]

    return lax.fori_loop(0, 4, exchanged, (x, x[0]))


def made_of_both(x):  # of a value before and one behind the first change
    def exchanged(i, t):
        first = t.at[i].set(t[i + 1] * 2)
        return first.at[i + 1].set(first[i] + t[i])

    return lax.fori_loop(0, 4, exchanged, x)


def never_run(x):
    def exchanged(i, t):
        return t.at[i].set(t[i + 1]).at[i + 1].set(t[i])

    return lax.fori_loop(3, jnp.int32(x[0, 0] > 100), exchanged, x), x


def new_and_given(x):  # the new array lives on under another name
    def step(i, state):
        t, _ = state
        t = t.at[i].set(t[i + 1])
        following = t * 0.5
        return following, following

    return lax.fori_loop(0, 4, step, (x, x))


NEAR_EXCHANGES = [moved_twice, column_from_row, kept_beside, row_kept, made_of_both, never_run, new_and_given]


@pytest.mark.parametrize("function", NEAR_EXCHANGES, ids=lambda f: f.__name__)
def test_what_looks_like_an_exchange(function):
    assert_on_all(hlo(function, X), function)


def with_the_first_change(x):
    """The array of the carry is changed, and read behind what gives the carry's name to another."""

    def step(i, state):
        a, total = state
        places = jnp.arange(3)
        first = a.at[:, i].set(jnp.where(places >= i, a[:, i] - a[:, 2 - i] * 0.25, a[:, i]))
        second = first.at[:, i].set(jnp.where(places > i + 1, first[:, i] * 0.75, first[:, i]))
        total = total + first[:, 0] * 0.5
        third = second.at[i].set(second[(i + 1) % 3])
        return third, total + second[:, 0] * 0.5

    return lax.fori_loop(0, 3, step, (x[:3, :3], jnp.zeros(3)))


def test_a_name_is_given_again_behind_all_that_reads_what_has_it():
    text = hlo(with_the_first_change, X)
    assert_agrees(text, X, without="in_place", budget=EXACT)
    expected = jax.jit(with_the_first_change)(X)
    for found, wanted in zip(emit(text, style="fast").load().main(X), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_what_a_loop_begins_with_may_be_read_behind_it():
    """It was changed where it is before the loop, which changes copies of it."""
    text = (Path(__file__).parent / "behind_the_loop.hlo").read_text("utf-8")
    arrays = [np.int32(0), np.int32(3), X[:4, :4], X[0, :4], X[1, 1], X[1:, 2:], X[2, :4], X[3, :4]]
    results = compare(run_hlo_in_child(text, *arrays), on_numpy(text, arrays))
    assert len(results) == 2 and all(result.status.is_good for result in results), results
