"""Lloyd's k-means: centers, each point's cluster, the inertia."""

import numpy as np


def squared_distances(points, centers):
    return ((points[:, None] - centers) ** 2).sum(axis=-1)


def main(points, centers):
    """Return the centers after ten rounds, the cluster of each of the ``points``, and the sum of squared distances."""
    for name, given, shape in (("points", points, (300, 2)), ("centers", centers, (6, 2))):
        if given.dtype != np.float32 or given.shape != shape:
            raise TypeError(f"{name}: expected float32{shape}, got {given.dtype}{given.shape}")
    for _ in range(10):
        assignment = squared_distances(points, centers).argmin(axis=1)
        sums = np.zeros_like(centers)
        np.add.at(sums, assignment, points)
        counts = np.bincount(assignment, minlength=len(centers)).astype(np.float32)[:, None]
        centers = np.where(counts > 0, sums / np.maximum(counts, 1), centers)
    distances = squared_distances(points, centers)
    return centers, distances.argmin(axis=1).astype(np.int32), distances.min(axis=1).sum()
