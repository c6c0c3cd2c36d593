"""Lloyd's k-means: a fixed number of assignment and update rounds."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def squared_distances(points, centers):
    return jnp.sum((points[:, None, :] - centers[None, :, :]) ** 2, axis=-1)


def kmeans(points, centers):
    """points: [n, d]; centers: [k, d]. Returns the centers after 10 rounds, each point's cluster, the inertia."""
    clusters = centers.shape[0]

    def update(_, centers):
        assignment = jnp.argmin(squared_distances(points, centers), axis=1)
        sums = jax.ops.segment_sum(points, assignment, num_segments=clusters)
        counts = jax.ops.segment_sum(jnp.ones(len(points)), assignment, num_segments=clusters)
        return jnp.where(counts[:, None] > 0, sums / jnp.maximum(counts, 1)[:, None], centers)

    centers = lax.fori_loop(0, 10, update, centers)
    distances = squared_distances(points, centers)
    return centers, jnp.argmin(distances, axis=1), jnp.sum(jnp.min(distances, axis=1))


def program():
    rng = np.random.default_rng(0)
    blobs = rng.uniform(-5, 5, size=(6, 2))
    points = (blobs[rng.integers(0, 6, size=300)] + rng.normal(scale=0.4, size=(300, 2))).astype(np.float32)
    return kmeans, (points, points[:6])
