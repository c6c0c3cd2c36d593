"""Indices that are worked out from a loop's counter."""

import numpy as np

from xla2py.tests.passes.raising import EXACT, STAYS, before, cases, lacks
from xla2py.tests.recording.lazy_jax import jax

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
