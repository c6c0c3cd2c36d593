"""``np.linalg.norm``, what cannot be negative, and reductions that leave NaN out: raised, near-misses, values."""

import warnings
from functools import partial

import numpy as np
import pytest

import xla2py
from xla2py.templates.numpy.prelude import reductions
from xla2py.tests.passes.raising import Claim, assert_agrees, cases, hlo, lacks, main, optimised
from xla2py.tests.recording.lazy_jax import jax, jnp

ROWS = np.linspace(-3, 4, 48, dtype=np.float32).reshape(6, 8)
ROWS[1, 2], ROWS[2, 3], ROWS[3, 4:] = np.nan, np.inf, 0
ROWS[4] *= 1e30  # whose squares overflow
ROWS[5] = -0.0
FINITE = np.linspace(-3, 4, 24, dtype=np.float32).reshape(4, 6)
CUBE = np.linspace(-2, 2, 24, dtype=np.float32).reshape(2, 3, 4)
Z = (FINITE + 1j * FINITE[::-1]).astype(np.complex64)

test_norms = cases(
    "norms", claims=[Claim("no norm without", lambda body, plain: "norm" not in plain())], forms=(hlo, optimised)
)(
    (lambda x: jnp.linalg.norm(x), FINITE[0], "return np.linalg.norm(x)"),
    (lambda x: jnp.linalg.norm(x), FINITE, "return np.linalg.norm(x)"),
    (lambda x: jnp.linalg.norm(x, axis=-1), ROWS, "return np.linalg.norm(x, axis=-1)"),
    (lambda x: jnp.linalg.norm(x, axis=0), ROWS, "return np.linalg.norm(x, axis=0)"),
    (lambda x: jnp.linalg.norm(x, axis=(1, 2)), CUBE, "return np.linalg.norm(x, axis=(1, 2))"),
    (lambda x: jnp.linalg.norm(x, 1), ROWS, "return np.linalg.norm(x, 1)"),
    (lambda x: jnp.linalg.norm(x, jnp.inf), FINITE, "return np.linalg.norm(x, np.inf)"),
    (lambda x: jnp.linalg.norm(x, jnp.inf, axis=-1), ROWS, "return np.abs(x).max(axis=-1)"),
    (
        lambda x: x / jnp.linalg.norm(x, axis=-1, keepdims=True),
        ROWS,
        "x / np.linalg.norm(x, axis=-1, keepdims=True)",
    ),
    (lambda x: jnp.sqrt((x**2).sum()), CUBE, "return np.linalg.norm(x)"),
    (lambda x: jnp.linalg.norm(x[:, None] - x, axis=-1), FINITE, "np.linalg.norm(x[:, None] - x, axis=-1)"),
    (lambda x: jnp.linalg.norm(x, axis=-1), Z, "return np.linalg.norm(x, axis=-1)"),
)

test_other_sums = cases("norms", FINITE, claims=[lacks("linalg")])(
    lambda x: jnp.sqrt((x * x[::-1]).sum(-1)),
    lambda x: jnp.sqrt((x * x).sum(-1) + 1e-6),
    lambda x: jnp.sqrt((x * x).max(-1)),
    lambda x: jnp.square(x).sum(-1),
    lambda x: (jnp.sqrt((x * x).sum(-1)), (x * x).sum(-1)),  # something else reads the sum
    lambda x: (jnp.sqrt((x * x).sum(-1)), x * x),
    lambda x: abs(x).sum(-1).min(),
    lambda x: abs(x).max(-1).max(),
    lambda x: x.sum(-1).max(),
    lambda x: (x[None] * jnp.ones((2, 2, 1, 1)) * x).sum((0, 1, 2)),
    (lambda x: abs(x).sum(0).max(), np.int32([[1, -2], [3, 4]])),  # NumPy's norms of integers are float64
    (lambda x: jnp.linalg.norm(x, axis=0), np.zeros((0, 3), np.float32)),
    (lambda x: jnp.linalg.norm(x, axis=None), np.zeros((3, 0), np.float32)),
    (lambda x: jnp.sqrt((x * x).sum((1, 2, 3))), CUBE.reshape(2, 3, 2, 2)),
    (lambda x: jnp.sqrt((x * x).sum(-1)), FINITE.astype(np.float16)),
)


def test_norms_of_other_targets():
    text = hlo(lambda x: jnp.linalg.norm(x, axis=-1), FINITE)
    assert all("norm(" not in xla2py.emit(text, target).source for target in ("cupy", "dask"))


test_what_cannot_be_negative = cases("magnitudes", ROWS)(
    (lambda x: abs(jnp.exp(x)), "return np.exp(x)"),
    (lambda x: jnp.maximum(abs(x).sum(-1), 0), "return np.abs(x).sum(axis=-1)"),
    (lambda x: jnp.maximum(jnp.exp(x) + x * x, 0), "return np.exp(x) + x * x"),
    (lambda x: jax.scipy.special.logsumexp(x, axis=-1), "np.log(np.exp("),
    (lambda x: abs(jnp.sqrt(x)), "return np.abs(np.sqrt(x))"),  # of -0
    (lambda x: abs(jnp.exp(x) - 1), "np.abs("),
    (lambda x: jnp.maximum(jnp.exp(x) * x, 0), "np.maximum("),
    (lambda x: jnp.minimum(abs(x), 0), "np.minimum("),
    (lambda x: jnp.maximum(abs(x), 1), "np.maximum("),
)


@pytest.mark.parametrize("name", ["nansum", "nanprod", "nanmean", "nanmax", "nanmin", "nanvar", "nanstd"])
def test_gaps(name):
    x, called = ROWS.copy(), name if hasattr(reductions, name) else f"np.{name}"
    x[0], x[4] = np.nan, 1
    x[2, 3] = np.inf if name in ("nansum", "nanmax", "nanmin") else 0
    for axis, keywords in ((-1, "axis=-1"), (0, "axis=0"), (None, "")):
        function = partial(getattr(jnp, name), axis=axis)
        before, after = (form(lambda x, function=function: function(x), x) for form in (hlo, optimised))
        expected = f"return {called}({', '.join(filter(None, ['x', keywords]))})"
        assert main(before) == expected and main(after) == expected
        assert called not in main(before, disable_passes=["nan_reductions"])
        assert_agrees(before, x, without="nan_reductions")
    kept = hlo(lambda x: x - getattr(jnp, name)(x, axis=-1, keepdims=True), x)
    assert main(kept) == f"return x - {called}(x, axis=-1, keepdims=True)"
    assert_agrees(kept, x, without="nan_reductions")


test_other_masks = cases(
    "nan_reductions", ROWS, claims=[lacks("nansum(", "nanprod(", "nanmax(", "nanmin(", "nanmean(")]
)(
    lambda x: jnp.where(jnp.isnan(x), 1, x).sum(-1),
    lambda x: jnp.where(jnp.isnan(x[::-1]), 0, x).sum(-1),
    lambda x: jnp.where(jnp.isnan(x), 0, x).prod(-1),
    lambda x: jnp.where(jnp.isnan(x), -jnp.inf, x).max(-1),
    lambda x: jnp.where(jnp.isnan(x).any(-1), jnp.nan, jnp.where(jnp.isnan(x), -jnp.inf, x).max(-1)),
    lambda x: jnp.where(jnp.isnan(x).all(0), jnp.nan, jnp.where(jnp.isnan(x), jnp.inf, x).min(1)[:1]),
    lambda x: jnp.where(jnp.isinf(x), 0, x).sum(-1),
)


@pytest.mark.parametrize("name", ["nanmean", "nanmax", "nanmin", "nanvar", "nanstd"])
def test_where_all_are_nan_nothing_is_said(name):
    """NumPy's own say it by ``warnings.warn``, which no ``np.errstate`` silences."""
    x = np.float32([[np.nan, np.nan, np.nan], [1, np.nan, 4], [-np.inf, 2, 3]])
    with warnings.catch_warnings(action="error"):
        found = [getattr(reductions, name)(x, axis=axis, keepdims=kept) for axis in (None, 0, 1) for kept in (0, 1)]
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        wanted = [getattr(np, name)(x, axis=axis, keepdims=kept) for axis in (None, 0, 1) for kept in (0, 1)]
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_means_of_another_axis_or_array_are_no_parts_of_a_variance():
    def centred(x, mean):
        there = ~jnp.isnan(x)
        squares = jnp.square(jnp.where(there, x - mean, 0)).sum(-1)
        return squares / there.sum(-1).astype(np.float32)

    for mean in (lambda x: jnp.nanmean(x, axis=0), lambda x: jnp.nanmean(x[::-1], axis=-1, keepdims=True)):
        text = hlo(lambda x, mean=mean: centred(x, mean(x)), ROWS[:, :6])
        assert "nanvar" not in main(text)
        assert_agrees(text, ROWS[:, :6], without="nan_reductions")


NOT_FINITE = np.array([1 + 2j, complex(np.nan, 1), complex(2, np.nan), complex(np.inf, 0)], np.complex64)
test_complex_numbers_that_differ_from_themselves_are_nan = cases("nan_reductions", NOT_FINITE)(
    (lambda z: jnp.where(z != z, 0, z), "np.isnan(z)"),
)
