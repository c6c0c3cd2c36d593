"""Least squares twice: by QR, and by a truncated singular value decomposition."""

import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular


def least_squares(matrix, rhs):
    """matrix: [rows, columns], rows >= columns. Returns both solutions and the singular values."""
    q, r = jnp.linalg.qr(matrix)
    by_qr = solve_triangular(r, q.T @ rhs)
    u, singular_values, vt = jnp.linalg.svd(matrix, full_matrices=False)
    keep = singular_values > 1e-3 * singular_values[0]
    inverse = jnp.where(keep, 1 / singular_values, 0)
    by_svd = vt.T @ (inverse * (u.T @ rhs))
    return by_qr, by_svd, singular_values


def program():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(30, 6)).astype(np.float32)
    rhs = rng.normal(size=30).astype(np.float32)
    return least_squares, (matrix, rhs)
