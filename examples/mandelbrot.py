"""Escape times of the Mandelbrot set, in complex numbers."""

import jax.numpy as jnp
import numpy as np
from jax import lax


def escape_times(center, scale):
    """center: complex64; scale: half the width of the picture. Returns int32[40, 60]."""
    imaginary, real = jnp.meshgrid(jnp.linspace(-1, 1, 40), jnp.linspace(-1.5, 1.5, 60), indexing="ij")
    c = center + scale * (real + 1j * imaginary)

    def iterate(_, state):
        z, count = state
        inside = jnp.abs(z) <= 2
        return jnp.where(inside, z * z + c, z), count + inside

    _, count = lax.fori_loop(0, 30, iterate, (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int32)))
    return count


def program():
    return escape_times, (np.complex64(-0.5), np.float32(1))
