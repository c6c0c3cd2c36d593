"""Factors and linear equations by SciPy, whose BLAS and LAPACK routines work on one
triangle.

Arrays are passed transposed: that is their memory in Fortran's order.
"""

import numpy as np
from scipy.linalg import get_blas_funcs, get_lapack_funcs

from ...prelude.lapack import solve
from ...prelude.linalg import triangular_solve


def cholesky_by_lapack(a: np.ndarray, lower: bool = True) -> np.ndarray:
    """Return the triangular factor of the matrix ``a`` [n, n], of which one triangle is
    read; NaN in the factor's triangle if ``a`` is not positive definite.
    """
    potrf = get_lapack_funcs("potrf", (a,))
    factor, info = potrf(a.T, lower=not lower)
    if info or np.isnan(factor).any():
        factor = np.full_like(a, np.nan)
        return np.tril(factor) if lower else np.triu(factor)
    return np.asarray(factor.T)


def triangular_solve_by_blas(
    a: np.ndarray,
    b: np.ndarray,
    lower: bool = False,
    unit_diagonal: bool = False,
) -> np.ndarray:
    """Return ``triangular_solve`` of one matrix ``a`` [n, n]."""
    if not (np.isfinite(a).all() and np.isfinite(b).all() and np.diagonal(a).all()):
        return triangular_solve(a, b, lower=lower, unit_diagonal=unit_diagonal)
    trsm = get_blas_funcs("trsm", (a, b))
    if a.flags.f_contiguous:  # it is not copied
        x = trsm(1, a, b.T, True, lower, 1, unit_diagonal)
    else:
        x = trsm(1, a.T, b.T, True, not lower, 0, unit_diagonal)
    return np.asarray(x.T)


def solve_by_lapack(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return x with ``a`` @ x == ``b``; inf and NaN where ``a`` is singular."""
    gesv = get_lapack_funcs("gesv", (a, b))
    _, _, x, info = gesv(a, b.reshape(len(a), -1))
    if info == 0 and np.isfinite(a).all() and np.isfinite(x).all():
        return np.ascontiguousarray(x).reshape(b.shape)
    return solve(a, b)
