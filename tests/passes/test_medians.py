"""Medians of even numbers of elements."""

import numpy as np
import pytest

from xla2py.tests.passes.raising import EXACT, assert_agrees, cases, hlo, main, optimised
from xla2py.tests.recording.lazy_jax import jnp

X = np.random.default_rng(1).normal(size=(6, 4)).astype(np.float32)
STRANGE = np.where(X > 1, np.float32(np.inf), np.where(X < -1, np.float32(-np.inf), X))
NAN = X.copy()
NAN[2, 1] = np.nan
HUGE = np.full((6, 4), 3e38, np.float32)

test_medians = cases("medians", X, inputs=[(X,), (STRANGE,), (NAN,), (HUGE,)], budget=EXACT, forms=(hlo, optimised))(
    (lambda x: jnp.median(x, axis=0), "return np.median(x, axis=0)"),
    (lambda x: jnp.median(x, axis=1), "return np.median(x, axis=-1)"),
    (lambda x: jnp.median(x[:, 0]), "return np.median(x[:, 0])"),
)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jnp.median(x[:5], axis=0),  # overflows where the middle is large
        lambda x: jnp.median(x.astype(jnp.float16), axis=0),
        lambda x: jnp.quantile(x, 0.25, axis=0),
        lambda x: (jnp.sort(x, axis=0)[2] + jnp.sort(x, axis=0)[3]) * 0.5,  # not NaN where only one is
    ],
)
def test_others_stay(function):
    text = hlo(function, X)
    assert "median" not in main(text)
    for values in (X, NAN, HUGE):
        with np.errstate(over="ignore"):
            assert_agrees(text, values, without="medians", budget=EXACT)
