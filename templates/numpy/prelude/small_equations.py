"""Cholesky factors and linear equations of small matrices, in loops of Numba.

A few equations are solved here before LAPACK would have checked its arguments. As in
HLO, no matrix raises an error.
"""

from typing import Any

import numpy as np
from numba import njit


@njit(error_model="numpy", fastmath={"contract", "reassoc"}, cache=True, nogil=True)
def small_cholesky(a: np.ndarray, lower: bool = True) -> np.ndarray:
    """Return the triangular factor of the matrix ``a`` [n, n], of which one triangle is
    read; NaN in the factor's triangle if ``a`` is not positive definite.
    """
    n = len(a)
    factor = np.zeros((n, n), a.dtype)
    for i in range(n):
        for j in range(i):
            rest = a[i, j] if lower else a[j, i]
            for k in range(j):
                rest -= factor[i, k] * factor[j, k]
            factor[i, j] = rest / factor[j, j]
        rest = a[i, i]
        for k in range(i):
            rest -= factor[i, k] * factor[i, k]
        if not rest > 0:
            for row in range(n):
                for column in range(row + 1):
                    factor[row, column] = np.nan
            break
        factor[i, i] = np.sqrt(rest)
    return factor if lower else factor.T.copy()


@njit(error_model="numpy", fastmath={"contract"}, cache=True, nogil=True)
def small_triangular_solve(
    a: np.ndarray,
    b: np.ndarray,
    lower: bool = False,
    unit_diagonal: bool = False,
) -> np.ndarray:
    """Return x [n, k] with ``a`` @ x == ``b``, of ``a`` [n, n] one triangle."""
    x, n = b.copy(), len(a)
    for step in range(n):
        i = step if lower else n - 1 - step
        for done in range(step):
            k = done if lower else n - 1 - done
            for column in range(x.shape[1]):
                x[i, column] -= a[i, k] * x[k, column]
        if not unit_diagonal:
            for column in range(x.shape[1]):
                x[i, column] /= a[i, i]
    return x


@njit(error_model="numpy", fastmath={"contract"}, cache=True, nogil=True)
def small_solve(a: np.ndarray, b: np.ndarray) -> Any:
    """Return x with ``a`` @ x == ``b``, by the largest pivots; inf and NaN where the
    matrix ``a`` is singular.
    """
    n = len(a)
    rows, x = a.copy(), b.copy().reshape((n, -1))
    for j in range(n):
        largest = j
        for i in range(j + 1, n):
            if not abs(rows[i, j]) <= abs(rows[largest, j]):
                largest = i
        for matrix in (rows, x):
            for column in range(matrix.shape[1]):
                here = matrix[j, column]
                matrix[j, column] = matrix[largest, column]
                matrix[largest, column] = here
        for i in range(j + 1, n):
            ratio = rows[i, j] / rows[j, j] if rows[j, j] != 0 else rows[i, j]
            for column in range(j, n):
                rows[i, column] -= ratio * rows[j, column]
            for column in range(x.shape[1]):
                x[i, column] -= ratio * x[j, column]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            for column in range(x.shape[1]):
                x[i, column] -= rows[i, k] * x[k, column]
        for column in range(x.shape[1]):
            x[i, column] /= rows[i, i]
    return x.reshape(b.shape)
