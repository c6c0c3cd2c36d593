"""Conjugate gradients for a symmetric positive-definite system, until the residual is small."""

import jax.numpy as jnp
import numpy as np
from jax import lax


def conjugate_gradient(matrix, rhs, tolerance):
    """Returns the solution, the number of iterations and the final residual norm."""

    def unfinished(state):
        _, _, _, residual_square, iteration = state
        return (residual_square > tolerance**2) & (iteration < 100)

    def improve(state):
        x, residual, direction, residual_square, iteration = state
        image = matrix @ direction
        step = residual_square / jnp.vdot(direction, image)
        x = x + step * direction
        residual = residual - step * image
        new_square = jnp.vdot(residual, residual)
        direction = residual + new_square / residual_square * direction
        return x, residual, direction, new_square, iteration + 1

    start = (jnp.zeros_like(rhs), rhs, rhs, jnp.vdot(rhs, rhs), 0)
    x, _, _, residual_square, iteration = lax.while_loop(unfinished, improve, start)
    return x, iteration, jnp.sqrt(residual_square)


def program():
    rng = np.random.default_rng(0)
    basis = rng.normal(size=(48, 48))
    matrix = (basis @ basis.T / 48 + np.eye(48)).astype(np.float32)
    rhs = rng.normal(size=48).astype(np.float32)
    return conjugate_gradient, (matrix, rhs, np.float32(1e-4))
