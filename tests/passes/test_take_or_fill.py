"""fills: JAX's indices that give NaN where they lie outside."""

import numpy as np

from xla2py.tests.passes.raising import EXACT, called, cases, hlo, lacks, no_prelude, optimised
from xla2py.tests.recording.lazy_jax import jnp

X = np.random.default_rng(0).normal(size=(5, 7)).astype(np.float32)
BOX = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
ROWS = np.array([[0, 4, -1], [-5, -6, 5]], np.int32)  # the last two lie outside
LABELS = np.array([0, 6, -7, 7, -8], np.int32)
EXTREMES = np.array([2**31 - 1, -(2**31), 3], np.int32)

test_indices_that_may_lie_outside = cases("take_or_fill", budget=EXACT, also=[optimised])(
    (lambda x, i: jnp.take(x, i, axis=0), (X, ROWS), "return take_or_fill(x, i, axis=0)"),
    (lambda x, i: jnp.take(x, i, axis=1), (X, LABELS), "return take_or_fill(x, i, axis=1)"),
    (lambda x, i: jnp.take(x, i, axis=1), (BOX, ROWS), "return take_or_fill(x, i, axis=1, fill=-2147483648)"),
    (lambda x, i: jnp.take(x, i), (X[0], EXTREMES), "return take_or_fill(x, i)"),
    (lambda x, i: jnp.take(x, i), (np.arange(9, dtype=np.uint8), EXTREMES), "return take_or_fill(x, i, fill=255)"),
    (
        lambda x, i: jnp.take_along_axis(x, i, axis=0),
        (X, np.tile(ROWS, (1, 3))[:, :7]),
        "return get_or_fill(x, (i, np.arange(7, dtype=np.int32)))",
    ),
    (
        lambda x, i: jnp.take_along_axis(x, i[:, None], axis=1)[:, 0],
        (X, LABELS),
        "return get_or_fill(x, (np.arange(5, dtype=np.int32), i))",
    ),
)

test_what_only_looks_like_it_stays = cases("take_or_fill", claims=[lacks("or_fill")], budget=EXACT)(
    (lambda x, i: jnp.where((i >= 0) & (i <= 3), x[i], jnp.nan), (X[0], LABELS)),  # another bound
    (lambda x, i: jnp.take(x, i, axis=0, fill_value=0.0), (X, ROWS)),  # another filling
    (lambda x, i: jnp.take(x, i, axis=0, mode="clip"), (X, ROWS)),
)


def test_a_target_without_the_functions_keeps_the_long_form():
    text = hlo(lambda x, i: jnp.take(x, i, axis=0), X, ROWS)
    assert called(text) == {"take_or_fill"}
    assert called(text, no_prelude) == set()
