"""Gravity between bodies by leapfrog; the energy at every step."""

import numpy as np


def squared_distances(positions):
    offsets = positions - positions[:, None]
    return offsets, (offsets**2).sum(axis=-1) + 0.0025


def accelerations(positions, masses):
    offsets, square = squared_distances(positions)
    return (offsets * (masses * square**-1.5)[..., None]).sum(axis=1)


def main(positions, velocities, masses):
    """Return the positions and velocities after the steps, and the energy at each."""
    for name, given, shape in (
        ("positions", positions, (24, 3)),
        ("velocities", velocities, (24, 3)),
        ("masses", masses, (24,)),
    ):
        if given.dtype != np.float32 or given.shape != shape:
            raise TypeError(f"{name}: expected float32{shape}, got {given.dtype}{given.shape}")
    energies = np.empty(40, dtype=np.float32)
    for t in range(40):
        velocities = velocities + 0.005 * accelerations(positions, masses)
        positions = positions + 0.01 * velocities
        velocities = velocities + 0.005 * accelerations(positions, masses)
        kinetic = 0.5 * (masses * (velocities**2).sum(axis=-1)).sum()
        _, square = squared_distances(positions)
        pairs = np.triu(masses[:, None] * masses / np.sqrt(square), k=1)
        energies[t] = kinetic - pairs.sum()
    return positions, velocities, energies
