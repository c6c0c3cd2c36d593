"""Escape times of the Mandelbrot set."""

import numpy as np


def main(center, scale):
    """Return after how many steps each point around ``center`` escapes, 30 at most."""
    for name, given, dtype, shape in (("center", center, "complex64", ()), ("scale", scale, "float32", ())):
        if given.dtype != dtype or given.shape != shape:
            raise TypeError(f"{name}: expected {dtype}{shape}, got {given.dtype}{given.shape}")
    imaginary = np.linspace(-1, 1, 40, dtype=np.float32)[:, None]
    real = np.linspace(-1.5, 1.5, 60, dtype=np.float32)
    c = center + scale * (real + 1j * imaginary)
    z = np.zeros_like(c)
    count = np.zeros(c.shape, dtype=np.int32)
    for _ in range(30):
        inside = np.abs(z) <= 2
        z = np.where(inside, z * z + c, z)
        count = count + inside
    return count
