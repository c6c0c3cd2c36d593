"""Ridge regression by Cholesky, and samples from the posterior of its coefficients."""

import numpy as np


def main(features, targets, ridge, noise):
    precision = features.T @ features + ridge * np.eye(features.shape[1], dtype=np.float32)
    factor = np.linalg.cholesky(precision)
    mean = np.linalg.solve(factor.T, np.linalg.solve(factor, features.T @ targets))
    draws = mean + np.linalg.solve(factor.T, noise.T).T
    log_determinant = 2 * np.log(np.diagonal(factor)).sum()
    return mean, draws, log_determinant
