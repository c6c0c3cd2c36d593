"""Matrix products turned round."""

import numpy as np

from xla2py.tests.passes.raising import STAYS, assert_agrees, cases, hlo, lacks, main, optimised
from xla2py.tests.recording.lazy_jax import jax, jnp, lax

A = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
B = np.linspace(-2, 1, 20, dtype=np.float32).reshape(4, 5)
Q = np.linspace(-1, 1, 2 * 5 * 3 * 4, dtype=np.float32).reshape(2, 5, 3, 4)
W = np.linspace(0, 1, 2 * 3 * 6 * 5, dtype=np.float32).reshape(2, 3, 6, 5)

test_products = cases("products", A, B)(
    (lambda a, b: (b.T @ a.T).T, "return a @ b"),
    (lambda a, b: (b.T @ a.T * 0.5).T, "return a @ b * 0.5"),
    (lambda a, b: (b.T @ a.T).T, (A[:, :0], B[:0])),
    (jax.grad(lambda w, x: jnp.tanh(x @ w).sum()), (B, A), "x.T @ ", lacks(").T")),  # the weights of a dense layer
    (lambda a, b: jnp.exp(b.T @ a.T).T - 1, "return np.exp(a @ b) - 1"),
    (lambda a, b: (b.T @ a.T).T + (b.T @ a.T * 2).T, "a_dot_b = a @ b\nreturn a_dot_b + a_dot_b * 2"),
)

OUTER = ((), ()), ((), ())
ODD = np.array([np.nan, np.inf, -0.0, 1e-40, 3], np.float32)
test_outer_products = cases("products", A[0], B[0], claims=[lacks(".T")])(
    (lambda a, b: lax.dot_general(a, b, OUTER).T, "return b[:, None] * a"),
    (lambda a, b: lax.dot_general(b, a, OUTER).T, (A[0], ODD), "return a[:, None] * b"),
    (lambda a, b: lax.dot_general(a, b, OUTER).T, (A[0, :0], B[0])),
)
test_outer_products_that_are_read_as_they_are_stay = cases("products", A[0], B[0])(
    (lambda a, b: (lambda ab: (ab.T, ab))(lax.dot_general(a, b, OUTER)), ".T"),
)


X = np.linspace(-1, 1, 2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)
Y = np.linspace(-2, 1, 2 * 3 * 5, dtype=np.float32).reshape(2, 3, 5)
G = np.linspace(-1, 2, 2 * 3 * 6 * 7, dtype=np.float32).reshape(2, 3, 6, 7)

test_contractions = cases("products", claims=[lacks("transpose"), lacks(".T")])(
    (lambda x, y: jnp.tensordot(y, x, ((0, 1), (0, 1))).T, (X, Y), "np.tensordot(x, y, axes=((0, 1), (0, 1)))"),
    (
        lambda x, g: jnp.tensordot(g, x, ((0, 1), (0, 1))).transpose(2, 0, 1) * 2,
        (X, G),
        "np.tensordot(x, g, axes=((0, 1), (0, 1))) * 2",
    ),
    (
        lambda x, g: jnp.exp(jnp.tensordot(x, g, ((0, 1), (0, 1))) * 2).transpose(1, 2, 0),
        (X, G),
        "np.exp(np.tensordot(g, x, axes=((0, 1), (0, 1))) * 2)",
    ),
)


def test_the_sum_of_all_squares_reads_a_product_that_is_turned():
    def clipped(a, b):
        gradient = (b.T @ a.T).T
        return gradient / jnp.sqrt((gradient.T * gradient.T).sum())

    text = hlo(clipped, A, B)
    assert "a_dot_b = a @ b\n" in main(text)
    assert ".T" not in main(text)
    assert_agrees(text, A, B, without="products")


test_contractions_that_stay = cases("products", X, G, claims=[STAYS])(
    lambda x, g: jnp.tensordot(g, x, ((0, 1), (0, 1))).transpose(0, 2, 1),  # another order
    lambda x, g: jnp.tensordot(g, x, ((0, 1), (0, 1))).sum(axis=0),
)

test_products_that_stay = cases(
    "products", A, B, claims=[STAYS]
)(
    lambda a, b: b.T @ a.T,  # read as it is
    lambda a, b: (a @ b).T,  # nothing to gain
    lambda a, b: ((b.T @ a.T).T, b.T @ a.T),
    lambda a, b: ((b.T @ a.T) + b.T[:, :3]).T,  # another array in between
    lambda a, b: (b.T @ a[0]).T,
)

test_attention = cases("products", Q, W, forms=(hlo, optimised))(
    (lambda q, w: jnp.einsum("bhqk,bkhd->bqhd", w, q), "w @ q.transpose(0, 2, 1, 3)"),
)


def test_attention_of_narrow_floats():
    q, w = Q.astype(jnp.bfloat16), W.astype(jnp.bfloat16)
    text = hlo(lambda q, w: jnp.einsum("bhqk,bkhd->bqhd", w, q), q, w)
    assert "w.astype(np.float32) @ q.astype(np.float32).transpose(0, 2, 1, 3)" in main(text)
    assert_agrees(text, q, w, without="products")
