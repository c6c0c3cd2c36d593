"""Indices that are worked out from a loop's counter."""

import numpy as np
import pytest

from xla2py.tests.passes.raising import EXACT, assert_agrees, hlo, main
from xla2py.tests.recording.lazy_jax import jax

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def summed(place, start=0):
    """A loop that adds up the elements of ``x`` at the places that its rounds choose."""
    return lambda x: jax.lax.fori_loop(start, 8, lambda i, total: total + x[place(i)], np.float32(0))


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (lambda i: (i // 4, i % 4), "x[i // 4, i % 4]"),
        (lambda i: ((i + 1) % 3, i // 4 + 1), "x[(i + 1) % 3, i // 4 + 1]"),
    ],
)
def test_a_counter_stays_an_int(place, expected):
    text = hlo(summed(place), X)
    assert expected in main(text) and "np.int32" not in main(text)
    assert "np.int32" in main(text, disable_passes=["counted_places"])
    assert_agrees(text, X, without="counted_places", budget=EXACT)


def test_what_is_cut_below_0_and_what_wraps_around_stay():
    for place, start in (((lambda i: (i // 4, 0)), -3), ((lambda i: ((i * 2**29) % 3, 0)), 0)):
        text = hlo(summed(place, start), X)
        assert main(text) == main(text, disable_passes=["counted_places"])
        assert_agrees(text, X, without="counted_places", budget=EXACT)
