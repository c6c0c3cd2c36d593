"""Numbers that are read as places alone: Python bounds them, in a tenth of the time that ``np.clip`` takes."""

import numpy as np
import pytest

from xla2py import emit
from xla2py.tests.passes.raising import EXACT, cases, hlo, lacks
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.tests.targets.running import on_device

lax = jax.lax
X = np.arange(20, dtype=np.float32).reshape(5, 4)
PLACES = np.array([3, -1, -9, 9, 2, -5, 4], np.int32)


def rows(of, places=PLACES):
    """``out[i] = of(x, places[i], i)``."""
    return lambda x, places: lax.fori_loop(
        0, len(places), lambda i, out: out.at[i].set(of(x, places[i], i)), jnp.zeros(len(places))
    )


def slice_at(x, i, _):
    return lax.dynamic_slice(x, (i, 0), (2, 4)).sum()


PYTHON = "min(max("
OF_PLACES = "min(max(int("
test_places = cases("unread_results", X, PLACES, budget=EXACT)(
    (rows(lambda x, i, _: x[i, 1]), PYTHON),
    (rows(lambda x, i, _: x[:, 1][i]), (X, PLACES.astype(np.uint8)), "min("),
    (rows(lambda x, i, _: x[1, i] + x[i, 0]), PYTHON),
    (rows(slice_at),),
    (lambda x, i: x.at[i[0], i[1]].set(7.0, mode="clip"), PYTHON),
    # near-misses: something else reads the number, or it is an array
    (rows(lambda x, i, _: (j := jnp.clip(i, 0, 4)) + x[j, 0]), lacks(OF_PLACES)),
    (rows(lambda x, i, _: jnp.clip(i, 0, 4) * 2.0), lacks(OF_PLACES)),
    (lambda x, i: x[jnp.clip(i, 0, 4)], lacks(PYTHON)),
    (lambda x, i: (x[(j := jnp.clip(i[0], 0, 4))], j), lacks(PYTHON)),
    (rows(lambda x, i, _: x[jnp.clip(x[0, 2] + i, 0, 4).astype(int), 0]), lacks("min(max(int(x")),
)


@pytest.mark.parametrize("function", [rows(lambda x, i, _: x[i, 1]), rows(slice_at)], ids=["element", "slice"])
def test_places_in_other_styles(function):
    text = hlo(function, X, PLACES)
    wanted = np.asarray(jax.jit(function)(X, PLACES))
    np.testing.assert_array_equal(emit(text, style="fast").load().main(X, PLACES), wanted)
    np.testing.assert_array_equal(on_device(text, [X, PLACES])[0], wanted)
