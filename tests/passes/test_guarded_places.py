"""Updates at a place that may be out of bounds: behind a test, where the array is."""

import re

import numpy as np
import pytest

from xla2py import emit
from xla2py.tests.passes.raising import EXACT, assert_agrees, hlo, main
from xla2py.tests.recording.lazy_jax import jax, jnp

lax = jax.lax
NEW = "guarded_places"
X = np.arange(12, dtype=np.float32).reshape(3, 4) - 5
ROW = np.array([3, -1, 4, 1, -5], np.float32)
PLACES = np.array([-(2**31), -6, -5, -1, 0, 4, 5, 2**31 - 1], np.int32)


def stored(x, places):
    return lax.fori_loop(0, 8, lambda k, t: t.at[places[k]].set(t[k % 5] + 1), x)


def counted(x, places):
    return lax.fori_loop(0, 8, lambda k, t: t.at[places[k]].add(1), x)


def largest(x, places):
    return lax.fori_loop(0, 8, lambda k, t: t.at[places[k]].max(k * 1.0), x)


def without_wrapping(x, places):  # what is negative does not count from the end
    whole = lax.ScatterDimensionNumbers((), (0,), (0,))
    return lax.fori_loop(0, 8, lambda k, t: lax.scatter(t, places[k][None], t[0] + 1, whole, mode="drop"), x)


def until_found(x, places):
    def step(state):
        count, t = state
        return count + 1, t.at[places[count]].set(-t[count % 5])

    return lax.while_loop(lambda state: (state[0] < 8) & (state[1][0] > 0), step, (0, x))[1]


def at_a_value(x, places):  # the place is read from the array that changes
    counts = jnp.clip(places, -9, 9)
    return lax.fori_loop(0, 8, lambda k, t: t.at[t[k]].set(t[t[k]] - 1), counts)


def old_value_kept(x, places):
    def step(k, state):
        t, _ = state
        return t.at[places[k]].set(0), t

    return lax.fori_loop(0, 8, step, (x, x))


TEXTS = {
    stored: "    if -5 <= part < 5:\n        x[part] = ",
    counted: "    if -5 <= part < 5:\n        x[part] += 1",
    largest: "    if -5 <= part < 5:\n        np.maximum.at(x, part, ",
    without_wrapping: "    if 0 <= part < 5:\n        x[part] = ",
    until_found: "    if -5 <= part < 5:\n        x[part] = ",
    at_a_value: "    if -8 <= ",
    old_value_kept: ".copy()",
}


@pytest.mark.parametrize("function", TEXTS, ids=lambda f: f.__name__)
def test_one_element(function):
    text = hlo(function, ROW, PLACES)
    written = main(text)
    assert TEXTS[function] in written and "scatter_at" not in written
    _, rounds = re.split("for .*:|while .*:", written)
    assert (".copy()" in rounds) == (function is old_value_kept)
    assert_agrees(text, ROW, PLACES, without=NEW, budget=EXACT)


def parts(x, i, j):
    def step(k, t):
        t = t.at[i + k, j].set(t[j, i])
        return t.at[:, i].add(t[:, j]).at[j].multiply(t[i + k])

    return lax.fori_loop(0, 3, step, x)


def exchanged(x, i, j):
    def step(k, t):
        one, other = t[i + k], t[j]
        return t.at[i + k].set(other).at[j].set(one)

    return lax.fori_loop(0, 3, step, x)


@pytest.mark.parametrize("function", [parts, exchanged], ids=lambda f: f.__name__)
def test_rows_and_columns(function):
    written = main(hlo(function, X, np.int32(0), np.int32(0)))
    assert "scatter_at" not in written and " = x.copy()" not in written.split("for ", 1)[1]
    for i in (-4, -3, -1, 0, 2, 3):
        for j in (-3, 1, 4):
            assert_agrees(
                hlo(function, X, np.int32(i), np.int32(j)), X, np.int32(i), np.int32(j), without=NEW, budget=EXACT
            )


@pytest.mark.parametrize(("method", "kind"), [("max", "float32"), ("add", "bfloat16")])
def test_columns_by_a_ufunc(method, kind):
    x = np.asarray(jnp.asarray(X).astype(kind))

    def combined(t, places):
        return lax.fori_loop(0, 8, lambda k, t: getattr(t.at[:, places[k]], method)(t[:, k % 4]), t)

    text = hlo(combined, x, PLACES)
    assert ".at(t, np.s_[:, part], t[:, " in main(text)
    assert_agrees(text, x, PLACES, without=NEW, budget=EXACT)


def once(x, places):  # of what is not the function's own
    return x.at[places[0]].set(7), x


def test_what_stays_a_call():
    text = hlo(once, ROW, PLACES)
    assert "scatter_at" in main(text)
    assert_agrees(text, ROW, PLACES, without=NEW, budget=EXACT)


def many(x, places):
    return lax.fori_loop(0, 2, lambda k, t: t.at[places + k].set(t[0] + 1), x)


def added_to_many(x, places):
    return x.at[places].add(places.astype(jnp.float32))


def largest_of_many(x, places):
    return x.at[places[:4, None], places[4:]].max(2) if x.ndim > 1 else x.at[places].max(2)


@pytest.mark.parametrize("function", [many, added_to_many, largest_of_many], ids=lambda f: f.__name__)
def test_many_places_count_from_the_end(function):
    for x in (ROW, X) if function is largest_of_many else (ROW,):
        text = hlo(function, x, PLACES)
        written = main(text)
        assert "put_at(" in written and "where" not in written
        for places in (PLACES, np.array([-5, 4, -1, 0, 1, -4, 3, -2], np.int32)):
            assert_agrees(text, x, places, without=NEW, budget=EXACT)


def rows(x, places):
    return x.at[places].add(1)


def of_another_axis(x, places):  # what is added to negative ones is no size
    whole = jnp.where(places < 0, places + 3, places)
    return lax.scatter_add(x, whole[:, None], jnp.ones(8), lax.ScatterDimensionNumbers((), (0,), (0,)), mode="drop")


def one_does_not(x, places):
    at = jnp.stack([jnp.where(places < 0, places + 3, places), places], 1)
    return lax.scatter_add(x, at, jnp.ones(8), lax.ScatterDimensionNumbers((), (0, 1), (0, 1)), mode="drop")


@pytest.mark.parametrize("function", [rows, of_another_axis, one_does_not], ids=lambda f: f.__name__)
def test_many_places_that_do_not(function):
    x = ROW if function is of_another_axis else X
    text = hlo(function, x, PLACES)
    assert "scatter_at(x, " in main(text)
    for places in (PLACES, np.array([-5, 4, -1, 0, 1, -4, 3, -2], np.int32)):
        assert_agrees(text, x, places, without=NEW, budget=EXACT)


@pytest.mark.parametrize("kind", ["int8", "uint8", "uint32", "bfloat16", "complex64"])
def test_types(kind):
    x = np.asarray(jnp.array([1, 0, 3, 100, 127]).astype(kind))

    def changed(t, places):
        def step(k, t):
            t = t.at[places[k]].add(t[k % 5])
            return t.at[places[k]].multiply(t[3])

        return lax.fori_loop(0, 8, step, t)

    text = hlo(changed, x, PLACES)
    assert "if -5 <= part < 5" in main(text)
    assert_agrees(text, x, PLACES, without=NEW)


def test_arrays_that_are_filled_are_made_for_each_loop():
    def both(places):
        start = jnp.full(5, 2.0)

        def step(k, state):
            return tuple(t.at[places[k]].set(k * each) for t, each in zip(state, (1.0, 2.0), strict=True))

        return lax.fori_loop(0, 8, step, (start, start))

    text = hlo(both, PLACES)
    assert main(text).count("np.full(5, 2") == 2 and ".copy()" not in main(text)
    assert_agrees(text, PLACES, without=NEW, budget=EXACT)


def test_styles_and_places_beyond_64_bits():
    places = "{-9223372036854775808, 4, 9223372036854775807, 0}"
    text = f"""HloModule m
replaced {{ a = f32[] parameter(0)  ROOT b = f32[] parameter(1) }}
below {{ s = (s32[], f32[5]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(4)
  ROOT c = pred[] compare(i, n), direction=LT }}
step {{ s = (s32[], f32[5]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  x = f32[5] get-tuple-element(s), index=1  p = s64[4] constant({places})
  k = s64[1] dynamic-slice(p, i), dynamic_slice_sizes={{1}}  v = f32[] convert(i)
  y = f32[5] scatter(x, k, v), update_window_dims={{}}, inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}},
    index_vector_dim=0, to_apply=replaced
  o = s32[] constant(1)  j = s32[] add(i, o)  ROOT r = (s32[], f32[5]) tuple(j, y) }}
ENTRY main {{ x = f32[5] parameter(0)  z = s32[] constant(0)  t = (s32[], f32[5]) tuple(z, x)
  w = (s32[], f32[5]) while(t), condition=below, body=step  ROOT g = f32[5] get-tuple-element(w), index=1 }}
"""
    for style in ("readable", "fast"):
        np.testing.assert_array_equal(emit(text, style=style).load().main(ROW), [3, -1, 4, 1, 1])
