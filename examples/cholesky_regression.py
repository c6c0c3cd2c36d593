"""Ridge regression by Cholesky, and samples from the posterior of its coefficients."""

import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve, solve_triangular


def posterior(features, targets, ridge, noise):
    """features: [samples, d]; noise: standard normal [draws, d]. Returns mean, draws and the log determinant."""
    size = features.shape[1]
    precision = features.T @ features + ridge * jnp.eye(size, dtype=features.dtype)
    factor = jnp.linalg.cholesky(precision)
    mean = cho_solve((factor, True), features.T @ targets)
    draws = mean + solve_triangular(factor, noise.T, lower=True, trans=1).T
    log_determinant = 2 * jnp.sum(jnp.log(jnp.diagonal(factor)))
    return mean, draws, log_determinant


def program():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(100, 8)).astype(np.float32)
    targets = (features @ rng.normal(size=8) + rng.normal(scale=0.1, size=100)).astype(np.float32)
    noise = rng.normal(size=(5, 8)).astype(np.float32)
    return posterior, (features, targets, np.float32(0.1), noise)
