"""Sums of many numbers that a vector weighs are products with it."""

import numpy as np

import xla2py
from xla2py.tests.passes.raising import STAYS, cases, hlo
from xla2py.tests.recording.lazy_jax import jnp
from xla2py.transpile.equivalence.verdicts.comparison import Budget

X = np.resize(np.random.default_rng(2).normal(size=(2, 70, 30)), (40, 70, 30)).astype(np.float32)
W = np.linspace(-1, 2, 30, dtype=np.float32)
STRANGE, WEIGHTS = X.copy(), np.where(np.arange(30) == 5, np.float32(0), W)
STRANGE[0, 0, 0], STRANGE[1, 2, 3], STRANGE[2, 2] = np.nan, np.inf, -0.0


test_weighted_sums = cases("weighted_sums", X, W, inputs=[(STRANGE, WEIGHTS)], budget=Budget(terms=32))(
    (lambda x, w: (x * w).sum(-1), "return x @ w"),
    (lambda x, w: (w * x).sum(2), "return x @ w"),
    (lambda x, w: (x * w).mean(-1), "return x @ w / 30"),
    (lambda x, w: x - (x * w).sum(-1, keepdims=True), "return x - (x @ w)[..., None]"),
)

test_other_sums_stay = cases(
    "weighted_sums", claims=[STAYS], budget=None
)(
    (lambda x, w: (x * w).sum(-1), (X[:2], W)),  # few
    (lambda x, w: (x * w).sum(0), (X, W)),
    (lambda x, w: (x * w).sum((1, 2)), (X, W)),
    (lambda x, w: (x * w[:1]).sum(-1), (X, W)),
    (lambda x, w: (x * w[:, None]).sum(-1), (X[:, :30], W)),
    (lambda x, w: (lambda y: (y.sum(-1), y))(x * w), (X, W)),  # the products are read again
    (lambda x, w: (x * w).max(-1), (X, W)),
    (lambda x, w: (x.astype(jnp.int32) * w.astype(jnp.int32)).sum(-1), (X, W)),
)


def test_kernels_and_other_libraries_add_up_products():
    text = hlo(lambda x, w: (x * w).sum(-1), X, W)
    for target in ("dask", "cupy"):
        assert " @ " not in xla2py.emit(text, target=target).source
