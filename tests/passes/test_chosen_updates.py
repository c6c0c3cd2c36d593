"""Values that are needed only under a condition are computed behind a test, and branches compute only what they need.
Arrays are changed where they are if nobody reads their old values.
"""

import re

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import EXACT, assert_agrees, emitted, hlo, main
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.tests.targets.running import differences, on_dask, on_device, on_numpy

lax = jax.lax
NEW = "chosen_updates"
X = np.array([3, -1, np.nan, 1, -5, 2, -0.0, np.inf], np.float32)
OK = np.array([1, 0, 1, 1, 0, 0, 1, 1], bool)
PLACES = np.array([-9, -8, -1, 0, 3, 7, 8, 2], np.int32)


def looped(step):
    def whole(x, ok, places):
        return lax.fori_loop(0, 8, lambda i, x: step(i, x, ok, places), x)

    whole.__name__ = step.__name__
    return whole


@looped
def chosen(i, x, ok, places):
    return jnp.where(ok[i], x.at[i].set(i + 1.0), x)


@looped
def not_chosen(i, x, ok, places):
    return jnp.where(ok[i], x, x.at[i].add(1).at[0].multiply(2))


@looped
def at_places(i, x, ok, places):
    return jnp.where(x[0] > i, x.at[places[i]].set(x[i] * 2), x)


@looped
def exchanged(i, x, ok, places):
    a, b = x[i], x[7 - i]
    return jnp.where(a > b, x.at[i].set(b).at[7 - i].set(a), x)


@looped
def exchanged_in_a_branch(i, x, ok, places):
    a, b = x[i], x[7 - i]
    return lax.cond(a > b, lambda x: x.at[i].set(b).at[7 - i].set(a), lambda x: x, x)


@looped
def either(i, x, ok, places):
    return lax.cond(ok[i], lambda x: x.at[i].set(x[0]), lambda x: x.at[places[i]].add(1), x)


@looped
def one_of_three(i, x, ok, places):
    branches = [lambda x: x.at[0].add(1), lambda x: x, lambda x: x.at[i].set(x[0])]
    return lax.switch(places[i], branches, x)


@looped
def in_two_tests(i, x, ok, places):
    def inner(x):
        return lax.cond(ok[i], lambda x: x.at[i].set(x[1]), lambda x: x, x.at[1].add(1))

    return lax.cond(x[i] > 0, inner, lambda x: x, x)


@looped
def element_kept(i, x, ok, places):
    return x.at[i].set(jnp.where(x[i] > x[0], x[i], x[0] + i))


def with_a_count(x, ok, places):
    def step(i, state):
        def stored(state):
            x, count = state
            return x.at[count].set(x[i]), count + 1

        return lax.cond(ok[i], stored, lambda state: state, state)

    return lax.fori_loop(0, 8, step, (x, 0))


def with_a_loop(x, ok, places):
    def step(i, x):
        def swept(x):
            return lax.fori_loop(0, i, lambda j, x: x.at[j].set(x[j] + x[i]), x)

        return lax.cond(ok[i], swept, lambda x: x, x)

    return lax.fori_loop(0, 8, step, x)


def rows_kept(x, ok, places):
    def step(x, i):
        return jnp.where(ok[i], x.at[i].set(0), x), x[i] + x[0]

    return lax.scan(step, x, jnp.arange(8))


IN_PLACE = [chosen, not_chosen, at_places, exchanged, exchanged_in_a_branch, either, one_of_three, in_two_tests]
IN_PLACE += [with_a_count, with_a_loop, rows_kept, element_kept]


@pytest.mark.parametrize("function", IN_PLACE, ids=lambda f: f.__name__)
def test_no_copy_in_rounds(function):
    text = hlo(function, X, OK, PLACES)
    before, rounds = re.split("for .*:", main(text), maxsplit=1)
    assert ".copy()" in before
    assert ".copy()" not in rounds.split("    return")[0] and "where" not in rounds
    for x in (X, X[::-1].copy(), np.zeros(8, np.float32)):
        assert_agrees(text, x, OK, PLACES, without=NEW, budget=EXACT)


# -- near misses: the old value is read, or another name stands for the array


@looped
def of_elements(i, x, ok, places):  # the mask is an array
    return jnp.where(ok, x.at[i].set(1), x)


@looped
def read_behind(i, x, ok, places):
    y = jnp.where(ok[i], x.at[i].set(1), x)
    return y + x[i]


@looped
def read_behind_in_the_branch(i, x, ok, places):
    def changed(x):
        y = x.at[i].set(1)
        return y + x.sum()

    return lax.cond(ok[i], changed, lambda x: x, x)


@looped
def also_unconditionally(i, x, ok, places):
    y = x.at[i].set(1)
    return jnp.where(ok[i], y, x) + y[0]


@looped
def of_something_else(i, x, ok, places):
    return jnp.where(ok[i], x.at[i].set(1), x * 2)


def old_value_carried(x, ok, places):
    def step(i, state):
        x, _ = state
        return jnp.where(ok[i], x.at[i].set(1), x), x

    return lax.fori_loop(0, 8, step, (x, x))


def old_value_given(x, ok, places):
    def step(i, state):
        return lax.cond(ok[i], lambda s: (s[0].at[i].set(1), s[0]), lambda s: s, state)

    return lax.fori_loop(0, 8, step, (x, x))


def part_given(x, ok, places):  # a view of what later rounds change
    def step(i, state):
        return lax.cond(ok[i], lambda s: (s[0].at[0].add(1), s[0][:2]), lambda s: (s[0].at[1].add(1), s[1]), state)

    return lax.fori_loop(0, 8, step, (x, x[:2]))


def under_two_names(x, ok, places):
    def step(i, state):
        x, y = lax.cond(ok[i], lambda s: (s[0], s[0]), lambda s: s, state)
        return x.at[i].add(1), y

    return lax.fori_loop(0, 8, step, (x, x * 2))


def started_again(x, ok, places):  # what a branch gives is needed in later rounds
    start = x * 2

    def step(i, x):
        x = lax.cond(ok[i], lambda x: start, lambda x: x, x)
        return jnp.where(ok[7 - i], x.at[i].add(1), x)

    return lax.fori_loop(0, 8, step, x)


def exchanged_names(x, ok, places):
    def step(i, state):
        x, y = lax.cond(ok[i], lambda s: (s[1], s[0]), lambda s: s, state)
        return jnp.where(ok[7 - i], x.at[i].add(1), x), y

    return lax.fori_loop(0, 8, step, (x, x * 2))


def view_in_the_next_round(x, ok, places):
    def step(i, state):
        x, part = state
        x = jnp.where(ok[i], x.at[0].add(part[1]), x)
        return x, lax.cond(ok[7 - i], lambda x: x[:2], lambda x: x[2:4], x)

    return lax.fori_loop(0, 8, step, (x, x[:2]))


@looped
def another_element_kept(i, x, ok, places):
    return x.at[i].set(jnp.where(ok[i], x[i] + 1, x[7 - i])) * jnp.where(ok, 1, x)


def element_kept_beside(x, ok, places):
    def step(i, state):
        x, _ = state
        return x.at[i].set(jnp.where(ok[i], x[i] + 1, x[i])), x

    return lax.fori_loop(0, 8, step, (x, x))


KEPT = [of_elements, read_behind, read_behind_in_the_branch, also_unconditionally, of_something_else]
KEPT += [old_value_carried, old_value_given, part_given, under_two_names, started_again, exchanged_names]
KEPT += [view_in_the_next_round, another_element_kept, element_kept_beside]


@pytest.mark.parametrize("function", KEPT, ids=lambda f: f.__name__)
def test_old_values_that_are_read(function):
    text = hlo(function, X, OK, PLACES)
    assert ".copy()" in re.split("for .*:", main(text), maxsplit=1)[1] or "where" in main(text)
    assert_agrees(text, X, OK, PLACES, without=NEW, budget=EXACT)


# -- all that a loop carries, under one test


@looped
def stopped(i, x, ok, places):
    return jnp.where(ok[i], x, jnp.sqrt(x) + x[::-1])


@looped
def nothing_to_copy(i, x, ok, places):
    y = jnp.sin(x)
    return jnp.where(y[0] > y[i], y, x)


def accepted(x, ok, places):
    def step(state, i):
        x, total = state
        new = x + i
        return (jnp.where(ok[i], new, x), jnp.where(ok[i], new.sum(), total)), new

    return lax.scan(step, (x, x.sum()), jnp.arange(8))


def exchanged_states(x, ok, places):
    def step(i, state):
        x, y = state
        return jnp.where(ok[i], y + 1, x), jnp.where(ok[i], x * 2, y)

    return lax.fori_loop(0, 8, step, (x, x[::-1]))


def views_and_updates(x, ok, places):
    def step(i, state):
        x, y = state
        return jnp.where(ok[i], x[::-1], x).at[0].set(i), jnp.where(ok[i], y.at[i].set(x[0]), y)

    return lax.fori_loop(0, 8, step, (x, x * 2))


ONE_TEST = [stopped, nothing_to_copy, accepted, exchanged_states, views_and_updates]


@pytest.mark.parametrize("function", ONE_TEST, ids=lambda f: f.__name__)
def test_states_that_are_kept_or_computed(function):
    text = hlo(function, X, OK, PLACES)
    assert main(text).count("if ") == 1 and "where" not in main(text)
    for x in (X, X[::-1].copy(), np.zeros(8, np.float32)):
        assert_agrees(text, x, OK, PLACES, without=NEW)


@looped
def of_a_view_that_is_read(i, x, ok, places):
    y = x[::-1]
    return jnp.where(ok[i], y, x) + y


@looped
def of_two_computed(i, x, ok, places):
    return jnp.where(ok[i], jnp.sin(x), jnp.cos(x))


@looped
def at_each_element(i, x, ok, places):
    return jnp.where(x > 0, jnp.sqrt(x), x)


@pytest.mark.parametrize(
    "function", [of_a_view_that_is_read, of_two_computed, at_each_element], ids=lambda f: f.__name__
)
def test_choices_that_stay(function):
    text = hlo(function, X, OK, PLACES)
    assert "if " not in main(text) and "where" in main(text)
    assert_agrees(text, X, OK, PLACES, without=NEW)


def test_a_choice_that_needs_another_has_its_own_test():
    def both(x, ok, places):
        def step(i, state):
            x, y = state
            x = jnp.where(ok[i], jnp.sqrt(x), x)
            return x, jnp.where(ok[i], y + x.cumsum(), y)

        return lax.fori_loop(0, 8, step, (x, x * 2))

    text = hlo(both, X, OK, PLACES)
    assert main(text).count("if ok[i]:") == 2
    assert_agrees(text, X, OK, PLACES, without=NEW)


@pytest.mark.parametrize("function", [chosen, exchanged, stopped, accepted, with_a_count], ids=lambda f: f.__name__)
def test_in_functions_of_blocks(function):
    text = hlo(function, X, OK, PLACES)
    source = emitted(text, target="dask").source
    rounds = source.partition("for i in range(8):")[2].partition("\n\n\n")[0].partition("return")[0]
    assert "if " in rounds and "where" not in rounds and ".copy()" not in rounds
    assert differences(on_numpy(text, (X, OK, PLACES)), on_dask(text, (X, OK, PLACES), np.copy)) == []


@looped
def part_not_chosen(i, x, ok, places):
    return jnp.where(ok[i], x, x.at[2:5].add(i))


@pytest.mark.parametrize("function", [chosen, part_not_chosen, rows_kept], ids=lambda f: f.__name__)
def test_on_a_device_no_test_waits_for_it(function):
    text = hlo(function, X, OK, PLACES)
    module = emitted(text, target="cupy")
    before, _, rounds = module.source.partition("def main(")[2].partition("\n\n\n")[0].partition("for i in range(8):")
    assert ".copy()" in before and ".copy()" not in rounds and "if " not in rounds and "] = cp.where(" in rounds
    assert "2 : 2 + 3" not in rounds
    assert differences(on_numpy(text, (X, OK, PLACES)), on_device(text, (X, OK, PLACES), module)) == []


@pytest.mark.parametrize("function", [of_elements, also_unconditionally, exchanged], ids=lambda f: f.__name__)
def test_choices_that_stay_on_a_device(function):
    text = hlo(function, X, OK, PLACES)
    module = emitted(text, target="cupy")
    assert " = cp.where(" in module.source.partition("def main(")[2] and "] = cp.where(" not in module.source
    assert differences(on_numpy(text, (X, OK, PLACES)), on_device(text, (X, OK, PLACES), module)) == []


def test_rows_but_one():
    def eliminated(a):
        def row(i, a):
            return lax.fori_loop(0, 4, lambda j, a: a.at[j].set(jnp.where(i == j, a[j], a[j] - a[i] * a[j, i])), a)

        return lax.fori_loop(0, 4, row, a)

    a = np.float32([[2, np.nan, 1, 0], [-0.0, 3, 1, 5], [1, 1, np.inf, 2], [0, 4, 1, 3]])
    text = hlo(eliminated, a)
    assert "if i != j:" in main(text) and "a[j] -= a[i] * a[j, i]" in main(text)
    assert_agrees(text, a, without=NEW, budget=EXACT)


def test_all_but_an_element_that_is_known():
    def but_one(x):
        def step(i, x):
            return lax.fori_loop(0, i, lambda j, x: x.at[j].set(jnp.where(i == j + 1, x[j], x[j] + 1)), x)

        return lax.fori_loop(2, 3, step, x)

    text = hlo(but_one, X)
    assert "if 2 != i + 1:" in main(text)
    assert_agrees(text, X, without=NEW, budget=EXACT)


def test_outside_of_loops_arguments_stay():
    def once(x, ok, places):
        return jnp.where(ok[0], x.at[places[3]].set(7), x)

    text = hlo(once, X, OK, PLACES)
    assert "where" in main(text)
    assert_agrees(text, X, OK, PLACES, without=NEW, budget=EXACT)


@pytest.mark.compiled
def test_in_compiled_loops():
    text = hlo(with_a_count, X, OK, PLACES)
    written = emitted(text, style="fast").source
    assert "x[" in written and "updated" not in written and "copy_into" not in written


def test_a_loop_in_a_loop_begins_each_time_with_a_new_array():
    def rows(x, ok, places):
        def row(total, k):
            def step(i, kept):
                return lax.cond(ok[i] & (x[i] > k), lambda kept: kept.at[i].set(x[i]), lambda kept: kept, kept)

            kept = lax.fori_loop(0, 8, step, jnp.full(8, -10.0))
            return total + kept[3], kept

        return lax.scan(row, 0.0, jnp.arange(-4, 4))

    text = hlo(rows, X, OK, PLACES)
    assert ".copy()" not in main(text) and "        if ok[j] & (x[j] > " in main(text)
    assert_agrees(text, X, OK, PLACES, without=NEW, budget=EXACT)
    results = [emitted(text, style=style).load().main(X, OK, PLACES) for style in ("readable", "fast")]
    assert all(map(np.array_equal, *results))


def test_an_update_has_the_name_of_what_it_changes():
    def named(x, ok, places):
        def step(i, state):
            def stored(x, places):
                k = jnp.argmax(x)
                new = x.at[k].set(i)
                return new, places.at[k].set(i)

            return lax.cond(ok[i], stored, lambda *state: state, *state)

        return lax.fori_loop(0, 8, step, (x, places))

    module = xla2py.from_jax(named, X, OK, PLACES)
    assert "new" not in emitted(module).source.split("def main")[1].split("\n\n\n")[0]
