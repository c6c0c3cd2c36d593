"""Indices that are worked out from a loop's counter."""

import numpy as np

from xla2py.tests.passes.raising import EXACT, STAYS, before, cases, lacks
from xla2py.tests.recording.lazy_jax import jax, jnp

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def summed(place, start=0):
    """A loop that adds up the elements of ``x`` at the places that its rounds choose."""
    return lambda x: jax.lax.fori_loop(start, 8, lambda i, total: total + x[place(i)], np.float32(0))


test_a_counter_stays_an_int = cases("counted_places", X, claims=[lacks("np.int32"), before("np.int32")], budget=EXACT)(
    (summed(lambda i: (i // 4, i % 4)), "x[i // 4, i % 4]"),
    (summed(lambda i: ((i + 1) % 3, i // 4 + 1)), "x[(i + 1) % 3, i // 4 + 1]"),
)

test_what_is_cut_below_0_and_what_wraps_around_stay = cases("counted_places", X, claims=[STAYS], budget=EXACT)(
    summed(lambda i: (i // 4, 0), -3), summed(lambda i: ((i * 2**29) % 3, 0))
)

SQUARE, PLACES = np.zeros((3, 3), np.float32), np.array([2, -7, 9], np.int32)


def stored(place):
    return lambda m, x: jax.lax.fori_loop(0, 3, lambda i, m: m.at[place(i)].set(x[i, 0]), m)


test_places_of_stores_are_counters = cases("counted_places", SQUARE, X, claims=[lacks("np.int32")], budget=EXACT)(
    (stored(lambda i: (i, i)), "[i, i] = x[i, 0]"),
    (stored(lambda i: (2 - i, i)), ", i] = x[i, 0]"),
)


def read(row, column):
    return lambda x, k: jax.lax.fori_loop(0, 3, lambda i, total: total + x[row(i, k)][column(i, k)], jnp.zeros(()))


test_elements_of_rows_are_read_at_once = cases("counted_places", X, PLACES, claims=[lacks("][")], budget=EXACT)(
    (read(lambda i, k: i, lambda i, k: k[i]), "total + x[i, "),
    read(lambda i, k: k[i], lambda i, k: 3 - i),
    read(lambda i, k: k[i], lambda i, k: k[2 - i]),
)
test_rows_of_many_readers_and_parts_of_rows_stay = cases("counted_places", X, PLACES, budget=EXACT)(
    lambda x, k: x[k[0]][1:][k[1]],
    lambda x, k: jax.lax.fori_loop(0, 3, lambda i, t: t + x[i][k[i]] * x[i].sum(), jnp.zeros(())),
    lambda x, k: x[k[0]][k],
)


def chosen(test):
    return lambda x, k: jax.lax.fori_loop(0, 3, lambda i, x: jnp.where(test(i, k), x * 2, x + 1), x)


ITSELF = [lacks("np.int32")]
test_counters_are_compared_as_they_are = cases("counted_places", X, PLACES, claims=ITSELF, budget=EXACT)(
    (chosen(lambda i, k: i == 1), "where(i == 1, x * 2, x + 1)"),
    (chosen(lambda i, k: i % 2 < 1), "where(i % 2 < 1, x * 2, x + 1)"),
)
test_truths_that_are_numbers_are_of_the_library = cases("counted_places", X, PLACES, claims=[STAYS], budget=EXACT)(
    chosen(lambda i, k: (i == 1) ^ (k[0] > 1)),
    chosen(lambda i, k: i * 2**30 == k[1]),
    lambda x, k: jax.lax.fori_loop(0, 3, lambda i, seen: seen.at[i].set(i == 1), jnp.zeros(3, bool)),
)
