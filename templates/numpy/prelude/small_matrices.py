"""Factors, determinants and eigenvalues of matrices in loops of Numba, whose LAPACK
raises for matrices that are not finite: here they give NaN, as in HLO.
"""

from typing import Any

import numpy as np
from numba import njit

from .elements import copy_into
from .small_equations import small_solve, small_triangular_solve


@njit(error_model="numpy", fastmath={"contract"}, cache=True, nogil=True)
def small_getrf(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Return L (unit diagonal) and U of ``a`` [m, n] with rows exchanged, the row with
    which each step exchanged its own (from 1 on), and info.
    """
    lu, info = a.copy(), 0
    m, n = lu.shape
    pivots = np.empty(min(m, n), np.int32)
    for j in range(len(pivots)):
        largest = j
        for i in range(j + 1, m):
            if not abs(lu[i, j]) <= abs(lu[largest, j]):
                largest = i
        pivots[j] = largest + 1
        for k in range(n):
            here = lu[j, k]
            lu[j, k] = lu[largest, k]
            lu[largest, k] = here
        if lu[j, j] == 0:
            info = info or j + 1
            continue
        for i in range(j + 1, m):
            lu[i, j] /= lu[j, j]
            for k in range(j + 1, n):
                lu[i, k] -= lu[i, j] * lu[j, k]
    return lu, pivots, info


@njit(error_model="numpy", cache=True, nogil=True)
def small_permutation(pivots: np.ndarray, size: int) -> np.ndarray:
    """Return the order of ``size`` rows after exchanging row k with row ``pivots[k]``
    (from 0 on), for k = 0, 1, ..; a row number that is out of range exchanges nothing.
    """
    order = np.empty(size, pivots.dtype)
    for k in range(size):
        order[k] = k
    for k in range(len(pivots)):
        row = pivots[k]
        if 0 <= row < size:
            here = order[k]
            order[k] = order[row]
            order[row] = here
    return order


@njit(error_model="numpy", fastmath={"contract"}, cache=True, nogil=True)
def small_slogdet(a: np.ndarray) -> tuple[Any, Any]:
    """Return the sign of the determinant of ``a`` [n, n] and the logarithm of its
    magnitude.
    """
    lu, pivots, _ = small_getrf(a)
    sign, size = a.dtype.type(1), np.log(abs(lu[0, 0]))
    for i in range(len(a)):
        if (pivots[i] != i + 1) != (lu[i, i] < 0):
            sign = -sign
        if i > 0:
            size += np.log(abs(lu[i, i]))
    for i in range(len(a)):
        if lu[i, i] == 0:
            return a.dtype.type(0), a.dtype.type(-np.inf)
    return sign, size


@njit(error_model="numpy", fastmath={"contract"}, cache=True, nogil=True)
def small_determinant(a: np.ndarray) -> Any:
    """Return the determinant of ``a`` [n, n]."""
    sign, size = small_slogdet(a)
    return sign * np.exp(size)


@njit(error_model="numpy", fastmath={"contract"}, cache=True, nogil=True)
def small_geqrf(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return R above, reflectors of Q below the diagonal of ``a`` [m, n], and tau."""
    packed = a.copy()
    m, n = packed.shape
    tau = np.zeros(min(m, n), a.dtype)
    for j in range(min(m, n)):
        first, square = packed[j, j], packed[j, j] * 0
        for i in range(j + 1, m):
            square += packed[i, j] * packed[i, j]
        if square == 0:
            continue
        norm = np.sqrt(first * first + square)
        norm = norm if first < 0 else -norm
        tau[j] = (norm - first) / norm
        packed[j, j] = norm
        for i in range(j + 1, m):
            packed[i, j] /= first - norm
        for k in range(j + 1, n):
            total = packed[j, k]
            for i in range(j + 1, m):
                total += packed[i, j] * packed[i, k]
            packed[j, k] -= tau[j] * total
            for i in range(j + 1, m):
                packed[i, k] -= tau[j] * total * packed[i, j]
    return packed, tau


@njit(error_model="numpy", fastmath={"contract"}, cache=True, nogil=True)
def small_orgqr(a: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Return the first n columns of Q, whose reflectors are in ``a`` [m, n] and
    ``tau``.
    """
    m, n = a.shape
    q = np.zeros((m, n), a.dtype)
    for i in range(min(m, n)):
        q[i, i] = 1
    for j in range(len(tau) - 1, -1, -1):
        for k in range(n):
            total = q[j, k]
            for i in range(j + 1, m):
                total += a[i, j] * q[i, k]
            q[j, k] -= tau[j] * total
            for i in range(j + 1, m):
                q[i, k] -= tau[j] * total * a[i, j]
    return q


@njit(error_model="numpy", fastmath={"contract"}, cache=True, nogil=True)
def small_qr(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Q [m, k] and R [k, n] with Q @ R == ``a`` [m, n], k the smaller of m and
    n.
    """
    packed, tau = small_geqrf(a)
    q = small_orgqr(np.ascontiguousarray(packed[:, : len(tau)]), tau)
    return q, np.triu(packed[: len(tau)])


@njit(error_model="numpy", cache=True, nogil=True)
def small_eigh(a: np.ndarray, lower: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Return ascending eigenvalues and eigenvectors, as columns, of a symmetric matrix
    given by one triangle; NaN if it is not finite.
    """
    if not np.isfinite(a).all():
        return np.full(len(a), np.nan, a.dtype), np.full(a.shape, np.nan, a.dtype)
    values, vectors = np.linalg.eigh(a.copy() if lower else a.T.copy())
    return values, np.ascontiguousarray(vectors)


@njit(error_model="numpy", cache=True, nogil=True)
def small_eigvalsh(a: np.ndarray, lower: bool = True) -> np.ndarray:
    """Return ascending eigenvalues of a symmetric matrix given by one triangle; NaN if
    it is not finite.
    """
    if not np.isfinite(a).all():
        return np.full(len(a), np.nan, a.dtype)
    return np.linalg.eigvalsh(a.copy() if lower else a.T.copy())


@njit(error_model="numpy", cache=True, nogil=True)
def small_svd(
    a: np.ndarray, full_matrices: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return U, descending singular values and V^T; NaN if the matrix is not finite."""
    matrix, is_finite = a.copy(), np.isfinite(a).all()
    if not is_finite:
        matrix[:] = 0
    u, values, vt = np.linalg.svd(matrix, full_matrices)
    u, vt = np.ascontiguousarray(u), np.ascontiguousarray(vt)
    if not is_finite:
        u[:], values[:], vt[:] = np.nan, np.nan, np.nan
    return u, values, vt


@njit(error_model="numpy", cache=True, nogil=True)
def small_svdvals(a: np.ndarray) -> np.ndarray:
    """Return descending singular values; NaN if the matrix is not finite."""
    return small_svd(a, False)[1]


@njit(error_model="numpy", cache=True, nogil=True)
def small_solve_transposed(a: np.ndarray, b: np.ndarray) -> Any:
    """Return x with ``a.T`` @ x == ``b``, by the largest pivots of ``a``; inf and NaN
    where it is singular.
    """
    lu, pivots, _ = small_getrf(a)
    columns = b.copy().reshape((len(b), -1))
    half = small_triangular_solve(lu.T, columns, lower=True)
    rows = small_triangular_solve(lu.T, half, unit_diagonal=True)
    x = np.empty_like(rows)
    x[small_permutation(pivots - 1, len(b))] = rows
    return x.reshape(b.shape)


@njit(error_model="numpy", fastmath={"contract"}, cache=True, nogil=True)
def small_solve_each(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return ``small_solve`` of each of several matrices ``a`` [m, n, n] and ``b``."""
    x = np.empty(b.shape, b.dtype)
    for k in range(len(a)):
        copy_into(x[k], small_solve(a[k], b[k]))
    return x


@njit(error_model="numpy", fastmath={"contract"}, cache=True, nogil=True)
def small_gtsv(
    lower: np.ndarray, diagonal: np.ndarray, upper: np.ndarray, b: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
    """Return the three diagonals [n], x [n, k] with the tridiagonal matrix times x ==
    ``b``, and info. ``lower[0]`` and ``upper[n - 1]`` are outside of the matrix.
    """
    n, info, x = len(diagonal), 0, b.copy()
    first, second, third = diagonal.copy(), upper.copy(), np.zeros(n, b.dtype)
    second[n - 1] = 0
    for i in range(n - 1):
        below, here, right = lower[i + 1], first[i + 1], second[i + 1]
        if abs(below) > abs(first[i]):
            ratio = first[i] / below
            first[i + 1], second[i + 1] = second[i] - ratio * here, -ratio * right
            first[i], second[i], third[i] = below, here, right
            for k in range(x.shape[1]):
                exchanged = x[i + 1, k]
                x[i + 1, k] = x[i, k] - ratio * exchanged
                x[i, k] = exchanged
        else:
            ratio = below / first[i]
            first[i + 1] = here - ratio * second[i]
            for k in range(x.shape[1]):
                x[i + 1, k] -= ratio * x[i, k]
    for i in range(n - 1, -1, -1):
        info = i + 1 if first[i] == 0 else info
        for k in range(x.shape[1]):
            if i + 1 < n:
                x[i, k] -= second[i] * x[i + 1, k]
            if i + 2 < n:
                x[i, k] -= third[i] * x[i + 2, k]
            x[i, k] /= first[i]
    return lower, diagonal, upper, x, info
