"""Cholesky factors and triangular systems: batched, one triangle read, no exceptions
and no waiting.

Source: the operation-semantics seed, Cholesky and TriangularSolve.
"""

import cupy as cp
import cupyx
from cupyx.scipy.linalg import solve_triangular

from ...prelude.precision import working_dtype


def cholesky(a: cp.ndarray, lower: bool = True) -> cp.ndarray:
    """Return triangular factors of matrices ``a`` [.., n, n], given by one triangle.

    A matrix that is not positive definite gives NaN in the triangle of its factor:
    cuSOLVER then stops without a sign, so the diagonal of factor @ factor^H is compared
    with that of ``a``.
    """
    wide = (a if lower else a.conj().mT).astype(working_dtype(a.dtype))
    if wide.size == 0:
        return a
    wide = cp.tril(wide) + cp.tril(wide, -1).conj().mT
    with cupyx.errstate(linalg="ignore"):
        factor = cp.tril(cp.linalg.cholesky(wide))
    diagonal = cp.diagonal(wide, axis1=-2, axis2=-1).real
    pivots = cp.diagonal(factor, axis1=-2, axis2=-1).real
    squares = (factor * factor.conj()).real.sum(axis=-1)
    good = (pivots > 0) & (cp.abs(squares - diagonal) <= 1e-3 * diagonal)
    factor = cp.tril(cp.where(good.all(axis=-1)[..., None, None], factor, cp.nan))
    return (factor if lower else factor.conj().mT).astype(a.dtype)


def triangular_solve(
    a: cp.ndarray,
    b: cp.ndarray,
    lower: bool = False,
    unit_diagonal: bool = False,
) -> cp.ndarray:
    """Return the x [.., n, k] with ``a`` @ x == ``b``, of ``a`` [.., n, n] one
    triangle.

    ``unit_diagonal`` takes the diagonal as 1.
    """
    work = cp.result_type(working_dtype(a.dtype), working_dtype(b.dtype))
    if b.size == 0:
        return b
    x = solve_triangular(
        a.astype(work),
        b.astype(work),
        lower=lower,
        unit_diagonal=unit_diagonal,
        check_finite=False,
    )
    return x.astype(b.dtype)
