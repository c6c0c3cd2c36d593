"""Cholesky factors of many equations."""

import numpy as np

FACTOR_BLOCK = 32  # equations that are factored together


def cholesky_by_blocks(a: np.ndarray, lower: bool = True) -> np.ndarray:
    """Return the triangular factor of each matrix of ``a`` [.., n, n], of which one
    triangle is read; ``np.linalg.cholesky`` takes twice as long, and converts float32
    to float64.

    A matrix that is not positive definite gives NaN in the triangle of its factor.
    """
    factor = np.tril(a if lower else a.mT.conj())
    try:
        for start in range(0, a.shape[-1], FACTOR_BLOCK):
            here = slice(start, start + FACTOR_BLOCK)
            below = slice(start + FACTOR_BLOCK, None)
            done = factor[..., start:, :start]
            factor[..., start:, here] -= done @ done[..., :FACTOR_BLOCK, :].conj().mT
            corner = np.linalg.cholesky(factor[..., here, here])
            factor[..., here, here] = corner
            right = np.linalg.solve(corner.conj(), factor[..., below, here].mT)
            factor[..., below, here] = right.mT
    except np.linalg.LinAlgError:
        if a.ndim > 2:
            return np.stack([cholesky_by_blocks(matrix, lower) for matrix in a])
        factor[...] = np.nan
    factor[np.isnan(factor).any(axis=(-2, -1))] = np.nan
    factor = np.tril(factor)
    return factor if lower else factor.mT.conj()
