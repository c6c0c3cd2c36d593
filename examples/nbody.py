"""Gravity between bodies, integrated by leapfrog; the energy is recorded at every step."""

import jax.numpy as jnp
import numpy as np
from jax import lax

SOFTENING = 0.05
TIME_STEP = 0.01


def accelerations(positions, masses):
    offsets = positions[None, :, :] - positions[:, None, :]
    square_distances = jnp.sum(offsets**2, axis=-1) + SOFTENING**2
    return jnp.sum(offsets * (masses * square_distances**-1.5)[:, :, None], axis=1)


def energy(positions, velocities, masses):
    kinetic = 0.5 * jnp.sum(masses * jnp.sum(velocities**2, axis=-1))
    offsets = positions[None, :, :] - positions[:, None, :]
    distances = jnp.sqrt(jnp.sum(offsets**2, axis=-1) + SOFTENING**2)
    pairs = jnp.triu(masses[:, None] * masses[None, :] / distances, k=1)
    return kinetic - jnp.sum(pairs)


def simulate(positions, velocities, masses):
    """positions, velocities: [bodies, 3]. Returns both after 40 steps and the energies on the way."""

    def leapfrog(state, _):
        positions, velocities = state
        velocities = velocities + 0.5 * TIME_STEP * accelerations(positions, masses)
        positions = positions + TIME_STEP * velocities
        velocities = velocities + 0.5 * TIME_STEP * accelerations(positions, masses)
        return (positions, velocities), energy(positions, velocities, masses)

    (positions, velocities), energies = lax.scan(leapfrog, (positions, velocities), length=40)
    return positions, velocities, energies


def program():
    rng = np.random.default_rng(0)
    positions = rng.normal(size=(24, 3)).astype(np.float32)
    velocities = rng.normal(scale=0.2, size=(24, 3)).astype(np.float32)
    masses = rng.uniform(0.5, 1.5, size=24).astype(np.float32) / 24
    return simulate, (positions, velocities, masses)
