"""Where values belong in a sorted array."""

import numpy as np
import pytest

from xla2py.templates.prelude.ordering import search_sorted
from xla2py.tests.passes.raising import EXACT, assert_agrees, called, hlo, no_prelude, optimised
from xla2py.tests.recording.lazy_jax import jax, jnp

SORTED = np.array([-np.inf, -2, -0.0, 0, 0, 1, 5, np.inf, np.nan], np.float32)
SHUFFLED = SORTED[::-2].copy()
VALUES = np.array([-3, -0.0, 0, 0.5, 5, 9, np.inf, np.nan, -np.inf, 1, 2, -2], np.float32)
NUMBERS = np.array([-4, 0, 0, 7, 9], np.int32)


@pytest.mark.parametrize("form", [hlo, optimised])
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(
    ("table", "values"),
    [(SORTED, VALUES), (SHUFFLED, VALUES), (NUMBERS, np.arange(-5, 11, dtype=np.int32)), (SORTED[:1], VALUES)],
    ids=["floats", "shuffled", "integers", "one"],
)
def test_searches(table, values, side, form):
    text = form(lambda a, v: jnp.searchsorted(a, v, side=side), table, values)
    assert len(table) == 1 or "search_sorted" in called(text)
    assert "search_sorted" not in called(text, no_prelude)
    assert_agrees(text, table, values, without="searches", budget=EXACT)


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_sorted_array_is_searched_as_numpy_does(side):
    np.testing.assert_array_equal(search_sorted(SORTED, VALUES, side), np.searchsorted(SORTED, VALUES, side))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16", "int8", "uint16", "int64"])
def test_many_values_are_found_where_each_alone_is(dtype, side):
    generator = np.random.default_rng(7)
    for nans in (0, 3):
        table = np.sort(generator.integers(-20, 20, 60)).astype(dtype)
        values = generator.integers(-25, 25, (10, 9)).astype(dtype)
        if table.dtype.kind not in "iu":
            table[len(table) - nans :] = np.nan
            values[0, 3] = np.nan
        for one in (table, table[::-1], table[:1], table[:0]):
            found = search_sorted(one, values, side)
            alone = [search_sorted(np.append(one, one[:0]), value, side) for value in values.ravel()]
            np.testing.assert_array_equal(found, np.reshape(alone, values.shape))
            assert found.dtype == np.uint32


def test_values_of_two_axes():
    text = hlo(jnp.searchsorted, SORTED, VALUES.reshape(3, 4))
    assert "search_sorted" in called(text)
    assert_agrees(text, SORTED, VALUES.reshape(3, 4), without="searches", budget=EXACT)


@pytest.mark.parametrize("form", [hlo, optimised])
@pytest.mark.parametrize(
    "repeated", [lambda x: jnp.broadcast_to(x[2], (3,)), lambda x: jnp.broadcast_to(x[:, None], (5, 2))]
)
def test_values_that_are_repeated(repeated, form):
    """They are searched for once."""
    text = form(lambda table, values: jnp.searchsorted(table, repeated(values)), NUMBERS, NUMBERS - 1)
    assert form is optimised or "search_sorted" in called(text)
    assert_agrees(text, NUMBERS, NUMBERS - 1, without="searches", budget=EXACT)


@pytest.mark.texts_of("0.10")
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("table", [SORTED, SHUFFLED, SORTED[:4]], ids=["sorted", "shuffled", "short"])
def test_calls_of_a_step(table, side):
    text = hlo(lambda a, v: jnp.searchsorted(a, v, side=side, method="scan_unrolled"), table, VALUES)
    assert " call(" in text and "search_sorted" in called(text)
    assert_agrees(text, table, VALUES, without="searches", budget=EXACT)


@pytest.mark.parametrize(
    ("before", "after"), [("constant(9)", "constant(8)"), ("u32[] constant(0)", "u32[] constant(1)")]
)
def test_calls_that_begin_with_a_part_of_an_array_stay(before, after):
    text = hlo(lambda a, v: jnp.searchsorted(a, v, method="scan_unrolled"), SORTED, VALUES)
    assert before in text
    changed = text.replace(before, after)
    assert "search_sorted" not in called(changed)
    assert_agrees(changed, SORTED, VALUES, without="searches", budget=EXACT)


def test_another_loop_over_two_bounds_stays():
    def search(table, values):  # three parts, not two
        def step(_, bounds):
            low, high = bounds
            middle = low + (high - low) // 3
            left = values <= table[middle]
            return jnp.where(left, low, middle), jnp.where(left, middle, high)

        bounds = jnp.zeros(values.shape, jnp.uint32), jnp.full(values.shape, 5, jnp.uint32)
        return jax.lax.fori_loop(0, 3, step, bounds)[1]

    text = hlo(search, NUMBERS, np.arange(-5, 11, dtype=np.int32))
    assert "search_sorted" not in called(text)
    assert_agrees(text, NUMBERS, np.arange(-5, 11, dtype=np.int32), without="searches", budget=EXACT)


TABLES = np.stack([SORTED, SORTED[::-1], np.arange(9, dtype=np.float32), np.full(9, np.nan, np.float32)])
ROWS = np.stack([VALUES, VALUES[::-1], np.nan_to_num(VALUES), VALUES * 0])


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(
    ("tables", "values"),
    [
        (TABLES, ROWS),
        (TABLES, ROWS[:, :0]),
        (np.nan_to_num(TABLES).astype(np.int32) % 9, np.int32([[0, 3, 9, -1]] * 4)),
    ],
    ids=["floats", "none", "integers"],
)
def test_of_rows(tables, values, side):
    text = hlo(jax.vmap(lambda a, v: jnp.searchsorted(a, v, side=side)), tables, values)
    assert values.size == 0 or "search_rows" in called(text)
    assert "search_rows" not in called(text, no_prelude)
    assert_agrees(text, tables, values, without="searches", budget=EXACT)


def test_of_the_same_values_in_rows():
    text = hlo(jax.vmap(lambda a, v: jnp.searchsorted(a, v), (0, None)), TABLES, VALUES)
    assert "search_rows" in called(text)
    assert_agrees(text, TABLES, VALUES, without="searches", budget=EXACT)


@pytest.mark.parametrize(("old", "new"), [("constant(9)", "constant(8)"), ("constant(2)", "constant(3)")])
def test_what_is_nearly_a_search_of_rows_stays(old, new):
    text = hlo(jax.vmap(jnp.searchsorted), TABLES, ROWS)
    assert old in text
    assert "search_rows" not in called(text.replace(old, new))
