"""Ridge regression by Cholesky, and samples from the posterior of its coefficients."""

import numpy as np


def main(features, targets, ridge, noise):
    """Return the mean of the coefficients, draws of them [5, 8], and the log determinant of their precision."""
    for name, given, shape in (
        ("features", features, (100, 8)),
        ("targets", targets, (100,)),
        ("ridge", ridge, ()),
        ("noise", noise, (5, 8)),
    ):
        if given.dtype != np.float32 or given.shape != shape:
            raise TypeError(f"{name}: expected float32{shape}, got {given.dtype}{given.shape}")
    precision = features.T @ features + ridge * np.eye(features.shape[1], dtype=np.float32)
    factor = np.linalg.cholesky(precision)
    mean = np.linalg.solve(factor.T, np.linalg.solve(factor, features.T @ targets))
    draws = mean + np.linalg.solve(factor.T, noise.T).T
    log_determinant = 2 * np.log(np.diagonal(factor)).sum()
    return mean, draws, log_determinant
