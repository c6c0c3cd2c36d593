"""Means of a symmetric matrix and its transpose."""

import numpy as np

from xla2py.tests.passes.raising import EXACT, STAYS, Budget, cases, emitted, hlo, lacks, main
from xla2py.tests.recording.lazy_jax import jax, jnp

X = np.linspace(-2, 2, 15, dtype=np.float32).reshape(5, 3)
LINE = np.array([-0.0, 0.5, np.inf, np.nan, -2, 3], np.float32)
A = np.arange(25, dtype=np.float32).reshape(5, 5) % 7
NEAR = Budget(relative=1e-5, absolute=1e-5)


def mean(s):
    return (s + s.mT) / 2


test_of_products = cases("symmetries", X, budget=NEAR)(
    (lambda x: mean(x @ x.T), "return x @ x.T"),
    (lambda x: mean(x.T @ x + 0.1 * jnp.eye(3)), "return x.T @ x + np.eye(3, dtype=np.float32) * 0.1"),
    (lambda x: mean(jnp.einsum("bij,bkj->bik", x, x)), A.reshape(1, 5, 5), "return x @ x.mT"),
    (lambda a: mean((a + a.T) / 2), A, "return (a + a.T) / 2"),
    (lambda x: mean(x @ x.T), np.zeros((0, 3), np.float32)),
)
test_of_pairs = cases("symmetries", LINE, claims=[lacks("/ 2", ".T")], budget=EXACT)(
    lambda x: mean(jnp.abs(x[:, None] - x)),
    lambda x: mean(x[:, None] * x + 1),
    lambda x: mean(jnp.where(x[:, None] + x > 1, jnp.maximum(x[:, None], x), 0)),
    lambda x: mean(jnp.square(x[:, None] - x) - 2.5),
    lambda x: mean(jnp.abs(x[1:][:, None] - x[1:])),
    (lambda x: mean(jnp.abs(x[:, None] - x[None]).sum(-1)), X),
)
test_what_may_be_asymmetric_stays = cases("symmetries", A, claims=[STAYS], budget=NEAR)(
    mean,
    lambda a: mean(a @ a),
    lambda a: mean(a @ jnp.flip(a, 0).T),
    lambda a: mean(a[:, None, 0] - a[0]),
    lambda a: mean(a[:, None, 0] - a[:, 0]),  # 0 everywhere
    lambda a: mean(jnp.exp(a[:, None, 0] - a[:, 0])),
    lambda a: mean(a @ a.T + a),
    lambda a: mean(jnp.abs(a[:, None] - a).sum(1)),  # over one of the pair
    lambda a: mean(jnp.eye(5, k=1)) + a,
    lambda a: (a @ a.T + a.T @ a) / 2,
    (lambda a: (a[:, None] - a)[..., 0] * (a[:, None] - a)[..., 1] + a.sum() * 0, A),
)


def test_of_what_cholesky_is_given():
    text = hlo(lambda x: jnp.linalg.cholesky(x @ x.T + jnp.eye(5)), X)
    assert "cholesky(x @ x.T + np.eye(5, dtype=np.float32))" in main(text)
    factor = emitted(text).load().main(X)
    np.testing.assert_allclose(factor @ factor.T, X @ X.T + np.eye(5), rtol=1e-5, atol=1e-5)


def test_in_float64_and_of_complex_numbers():
    with jax.enable_x64(True):
        assert "/ 2" not in main(hlo(lambda x: mean(x @ x.T), X.astype(np.float64)))
    assert "/ 2" in main(hlo(lambda x: mean(x @ x.T), X.astype(np.complex64)))
