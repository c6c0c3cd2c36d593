"""Cholesky factors and triangular systems: batched, one triangle read, no exceptions.

Source: the operation-semantics seed, Cholesky and TriangularSolve.
"""

import numpy as np

from .precision import working_dtype

SOLVE_BLOCK = 64  # equations that are solved together


def cholesky(a: np.ndarray, lower: bool = True) -> np.ndarray:
    """Return triangular factors of matrices ``a`` [.., n, n], given by one triangle.

    A matrix that is not positive definite gives NaN in the triangle of its factor.
    """
    wide = a.astype(working_dtype(a.dtype), copy=False)
    try:
        factor = np.linalg.cholesky(wide, upper=not lower)
    except np.linalg.LinAlgError:
        if a.ndim > 2:
            return np.stack([cholesky(matrix, lower) for matrix in a])
        factor = np.full_like(wide, np.nan)
    missing = np.isnan(factor)
    if missing.any():
        factor[missing.any(axis=(-2, -1))] = np.nan
        factor = np.tril(factor) if lower else np.triu(factor)
    return factor if wide.dtype == a.dtype else factor.astype(a.dtype)


def small_det(a: np.ndarray) -> np.ndarray:
    """Return the determinants of matrices ``a`` [.., n, n] of a few rows, by
    elimination below the largest pivots.
    """
    rows = [a[..., k, :] for k in range(a.shape[-1])]
    determinant = np.ones(a.shape[:-2], a.dtype)
    with np.errstate(all="ignore"):
        for k in range(len(rows)):
            for i in range(k + 1, len(rows)):
                swaps = np.abs(rows[i][..., k, None]) > np.abs(rows[k][..., k, None])
                larger = np.where(swaps, rows[i], rows[k])
                rows[k], rows[i] = larger, np.where(swaps, rows[k], rows[i])
                determinant = np.where(swaps[..., 0], -determinant, determinant)
            pivot = rows[k][..., k, None]
            determinant = determinant * pivot[..., 0]
            for i in range(k + 1, len(rows)):
                factor = np.where(pivot == 0, 0, rows[i][..., k, None] / pivot)
                rows[i] = rows[i] - factor * rows[k]
    return determinant


def det_3x3(matrix: np.ndarray) -> np.ndarray:
    """Return the determinants of matrices [.., 3, 3], as a sum of products."""
    (a, b, c), (d, e, f), (g, h, i) = np.moveaxis(matrix, (-2, -1), (0, 1))
    with np.errstate(all="ignore"):
        total: np.ndarray = a * e * i + b * f * g + c * d * h
        total = total - c * e * g - a * f * h - b * d * i
    return total


def triangular_solve(
    a: np.ndarray,
    b: np.ndarray,
    lower: bool = False,
    unit_diagonal: bool = False,
) -> np.ndarray:
    """Return the x [.., n, k] with ``a`` @ x == ``b``, of ``a`` [.., n, n] one
    triangle.

    ``unit_diagonal`` takes the diagonal as 1.
    """
    work = np.result_type(working_dtype(a.dtype), working_dtype(b.dtype))
    matrix, x = a.astype(work, copy=False), b.astype(work)
    if lower:  # turned by 180 degrees, it is an upper triangle
        matrix, x = matrix[..., ::-1, ::-1], x[..., ::-1, :]
    if matrix.shape[-1] <= SOLVE_BLOCK:
        x = back_substitute(matrix, x, unit_diagonal)
    else:
        for start in reversed(range(0, matrix.shape[-1], SOLVE_BLOCK)):
            stop = start + SOLVE_BLOCK
            here, after = slice(start, stop), slice(stop, None)
            block = x[..., here, :] - matrix[..., here, after] @ x[..., after, :]
            triangle = matrix[..., here, here]
            x[..., here, :] = back_substitute(triangle, block, unit_diagonal)
    solution = x[..., ::-1, :] if lower else x
    return solution if work == b.dtype else solution.astype(b.dtype)


def back_substitute(a: np.ndarray, x: np.ndarray, unit_diagonal: bool) -> np.ndarray:
    """Solve ``a`` @ y == ``x`` in place of ``x``, by the upper triangle of ``a``.

    ``a`` is [.., n, n] and ``x`` [.., n, k]; division by 0 gives infinities or NaN.
    """
    upper = np.triu(a)
    if unit_diagonal:
        upper = np.triu(a, 1) + np.eye(a.shape[-1], dtype=a.dtype)
    if np.isfinite(upper).all() and np.diagonal(upper, 0, -2, -1).all():
        x = np.linalg.solve(upper, x)  # it has nothing to eliminate
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            for i in reversed(range(a.shape[-1])):
                x[..., i, :] /= upper[..., i, i, None]
                x[..., :i, :] -= upper[..., :i, i, None] * x[..., i, None, :]
    return x
