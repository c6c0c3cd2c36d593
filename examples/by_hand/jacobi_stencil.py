"""Jacobi relaxation of the heat equation on a plate with fixed edges."""

import numpy as np


def main(temperature):
    """Return the ``temperature`` after 50 sweeps, and the largest change of one sweep more."""
    if temperature.dtype != np.float32 or temperature.shape != (40, 60):
        raise TypeError(f"temperature: expected float32[40, 60], got {temperature.dtype}{temperature.shape}")

    def sweep(t):
        swept = t.copy()
        swept[1:-1, 1:-1] = 0.25 * (t[:-2, 1:-1] + t[2:, 1:-1] + t[1:-1, :-2] + t[1:-1, 2:])
        return swept

    for _ in range(50):
        temperature = sweep(temperature)
    return temperature, np.abs(temperature - sweep(temperature)).max()
