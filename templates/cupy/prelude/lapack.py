"""The LAPACK routines that JAX calls, by way of cuSOLVER. Its status is not read, since
that would wait for the device.
"""

import cupy as cp
import cupyx
import numpy as np

from ...prelude.lapack import (
    getrf,
    nan_where,
    pivots_to_permutation,
    solve_by_factors,
    without_nan,
)
from ...prelude.schur import schur
from .linalg import triangular_solve


def geqrf(a: cp.ndarray) -> tuple[cp.ndarray, cp.ndarray]:
    """Return R above and reflectors of Q below the diagonal of ``a`` [.., m, n], and
    tau.

    ``a`` == Q @ R; tau is [.., min(m, n)].
    """
    with cupyx.errstate(linalg="ignore"):
        packed, tau = cp.linalg.qr(a, mode="raw")
    return packed.mT, tau


def solve(a: cp.ndarray, b: cp.ndarray) -> cp.ndarray:
    """Return x with ``a`` @ x == ``b``, of a matrix ``a`` [n, n] and ``b`` [n] or [n,
    k].

    A singular ``a`` gives inf and NaN, by division by 0.
    """
    return solve_by_factors(a, b)


def solve_transposed(a: cp.ndarray, b: cp.ndarray) -> cp.ndarray:
    """Return x with ``a.T`` @ x == ``b``, as ``solve`` does."""
    lu, pivots, _ = getrf(a)
    columns = b if b.ndim == 2 else b[:, None]
    half = triangular_solve(lu.T, columns, lower=True)
    rows = triangular_solve(lu.T, half, unit_diagonal=True)
    order = cp.argsort(pivots_to_permutation(pivots - 1, len(b)))
    return rows[order].reshape(b.shape)


def solve_each(a: cp.ndarray, b: cp.ndarray) -> cp.ndarray:
    """Return ``solve`` for each of several matrices ``a`` [m, n, n] and ``b`` [m, n,
    k].
    """
    lu, pivots, _ = getrf(a)
    order = pivots_to_permutation(pivots - 1, a.shape[-1])
    right = cp.take_along_axis(b, order[..., None], 1)
    half = triangular_solve(lu, right, lower=True, unit_diagonal=True)
    return triangular_solve(lu, half)


def eigh(a: cp.ndarray, *, lower: bool = True) -> tuple[cp.ndarray, cp.ndarray]:
    """Return ascending eigenvalues and eigenvectors, as columns, of Hermitian matrices
    given by one triangle; NaN where a matrix is not finite.
    """
    finite, failed = without_nan(a)
    with cupyx.errstate(linalg="ignore"):
        values, vectors = cp.linalg.eigh(finite, UPLO="L" if lower else "U")
    return nan_where(failed, values), nan_where(failed, vectors)


def eigvalsh(a: cp.ndarray, *, lower: bool = True) -> cp.ndarray:
    """Return ascending eigenvalues of Hermitian matrices given by one triangle; NaN
    where a matrix is not finite.
    """
    finite, failed = without_nan(a)
    with cupyx.errstate(linalg="ignore"):
        values = cp.linalg.eigvalsh(finite, UPLO="L" if lower else "U")
    return nan_where(failed, values)


def svd(
    a: cp.ndarray, *, full_matrices: bool = True
) -> tuple[cp.ndarray, cp.ndarray, cp.ndarray]:
    """Return U, descending singular values and V^H; NaN if a matrix is not finite."""
    finite, failed = without_nan(a)
    with cupyx.errstate(linalg="ignore"):
        u, values, vh = cp.linalg.svd(finite, full_matrices=full_matrices)
    return nan_where(failed, u), nan_where(failed, values), nan_where(failed, vh)


def svdvals(a: cp.ndarray) -> cp.ndarray:
    """Return descending singular values; NaN where a matrix is not finite."""
    finite, failed = without_nan(a)
    with cupyx.errstate(linalg="ignore"):
        values = cp.linalg.svd(finite, compute_uv=False)
    return nan_where(failed, values)


def geev(
    a: cp.ndarray, *, compute_left: str = "V", compute_right: str = "V"
) -> tuple[cp.ndarray, ...]:
    """Return eigenvalues (for a real ``a``, their real and imaginary parts), left and
    right eigenvectors, info.

    Eigenvectors are columns of length 1, or zero if they were not requested. The left
    ones are the eigenvectors of the inverse of the right ones' matrix, by its singular
    values.
    """
    finite, failed = without_nan(a)
    dtype = cp.result_type(a.dtype, cp.complex64)
    with cupyx.errstate(linalg="ignore"):
        values, right = (x.astype(dtype) for x in cp.linalg.eig(finite))
        left = cp.zeros(right.shape, dtype=dtype)
        if compute_left == "V":
            u, sizes, vh = cp.linalg.svd(right, full_matrices=False)
            inverse = vh.conj().mT @ (u.conj().mT / sizes[..., None])
            left = inverse.conj().mT
            row = cp.abs(left).argmax(-2)[..., None, :]
            largest = cp.take_along_axis(left, row, -2)
            turned = left * (largest.conj() / cp.abs(largest))  # that entry is real
            left = turned / cp.linalg.norm(left, axis=-2, keepdims=True)
    if compute_right != "V":
        right = cp.zeros(right.shape, dtype=dtype)
    values, left, right = (nan_where(failed, x) for x in (values, left, right))
    parts = (values,) if a.dtype.kind == "c" else (values.real, values.imag)
    return *parts, left, right, failed.astype(cp.int32)


def gees(a: cp.ndarray, *, mode: str = "V", sort: str = "N") -> tuple[cp.ndarray, ...]:
    """Return the Schur form T and vectors Z with ``a`` == Z @ T @ Z^H, eigenvalues (as
    geev), 0 as the number of sorted ones, info.

    cuSOLVER has no Schur form: it is computed on the host, which waits for ``a``.
    """
    finite, failed = without_nan(a)
    given = cp.asnumpy(finite)
    host_forms, host_vectors = np.empty_like(given), np.zeros_like(given)
    for index in np.ndindex(given.shape[:-2]):
        host_forms[index], host_vectors[index] = schur(given[index])
    forms = nan_where(failed, cp.asarray(host_forms))
    vectors = nan_where(failed, cp.asarray(host_vectors))
    if mode != "V":
        vectors = cp.zeros(a.shape, dtype=a.dtype)
    values = cp.diagonal(cp.asarray(host_forms), axis1=-2, axis2=-1).copy()
    none_sorted, info = cp.zeros(a.shape[:-2], dtype=cp.int32), failed.astype(cp.int32)
    if a.dtype.kind == "c":
        return forms, vectors, values, none_sorted, info
    below, above = (
        cp.diagonal(cp.asarray(host_forms), offset, -2, -1) for offset in (-1, 1)
    )
    half = cp.sqrt(cp.abs(below * above)) * (below != 0).astype(a.dtype)
    edge = cp.zeros((*half.shape[:-1], 1), dtype=a.dtype)
    imaginary = cp.concatenate([half, edge], axis=-1)
    imaginary = imaginary - cp.concatenate([edge, half], axis=-1)
    return forms, vectors, values, imaginary, none_sorted, info
