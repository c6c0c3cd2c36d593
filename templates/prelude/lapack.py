"""The LAPACK routines that JAX calls on the CPU, with the results that XLA's custom
calls return.

All take a batch of matrices [.., m, n]; info [..] is 0 where the routine succeeded.
Arguments that a routine only uses as work space are returned unchanged.
"""

from contextlib import suppress

import numpy as np

from .linalg import cholesky, triangular_solve
from .schur import schur

LU_BLOCK = 32  # columns that are eliminated before the rest is updated


def potrf(a: np.ndarray, *, uplo: str = "L") -> tuple[np.ndarray, np.ndarray]:
    """Return ``a`` with the Cholesky factor in one triangle, and info."""
    factor = cholesky(a, lower=uplo == "L")
    other = np.triu(a, 1) if uplo == "L" else np.tril(a, -1)
    failed = np.isnan(factor).any(axis=(-2, -1))
    return np.where(other != 0, other, factor), failed.astype(np.int32)


def getrf(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return L (unit diagonal) and U of ``a`` with rows exchanged, the row with which
    each step exchanged its own (from 1 on), and info.
    """
    lu, count = a.copy(), min(a.shape[-2:])
    pivots = np.zeros((*a.shape[:-2], count), np.int32)
    info = np.zeros(a.shape[:-2], np.int32)
    for start in range(0, count, LU_BLOCK):
        stop = min(start + LU_BLOCK, count)
        for j in range(start, stop):
            column = lu[..., j:, j]
            row = j + (np.abs(column.real) + np.abs(column.imag)).argmax(-1)
            pivots[..., j] = row + 1
            swapped = lu[..., j, :].copy()
            lu[..., j, :] = np.take_along_axis(lu, row[..., None, None], -2)[..., 0, :]
            np.put_along_axis(lu, row[..., None, None], swapped[..., None, :], -2)
            pivot = lu[..., j, j, None]
            info = np.where((info == 0) & (pivot[..., 0] == 0), np.int32(j + 1), info)
            lu[..., j + 1 :, j] /= np.where(pivot == 0, 1, pivot)
            below, right = lu[..., j + 1 :, j, None], lu[..., j, None, j + 1 : stop]
            lu[..., j + 1 :, j + 1 : stop] -= below * right
        done = slice(start, stop)
        corner, right = lu[..., done, done], lu[..., done, stop:]
        right = triangular_solve(corner, right, lower=True, unit_diagonal=True)
        lu[..., done, stop:] = right
        lu[..., stop:, stop:] -= lu[..., stop:, done] @ right
    return lu, pivots, info


def pivots_to_permutation(pivots: np.ndarray, size: int) -> np.ndarray:
    """Return the order of ``size`` rows after exchanging row k with row ``pivots[..,
    k]`` (from 0 on), for k = 0, 1, ..; a row number that is out of range exchanges
    nothing.
    """
    order = np.arange(size, dtype=pivots.dtype)
    order = np.broadcast_to(order, (*pivots.shape[:-1], size)).copy()
    for k in range(pivots.shape[-1]):
        row = pivots[..., k, None].astype(np.int64)
        row = np.where((row >= 0) & (row < size), row, k)
        here = order[..., k, None].copy()
        order[..., k, None] = np.take_along_axis(order, row, -1)
        np.put_along_axis(order, row, here, -1)
    return order


@np.errstate(all="ignore")
def solve(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return x with ``a`` @ x == ``b``; inf and NaN where ``a`` is singular."""
    with suppress(np.linalg.LinAlgError):
        solution: np.ndarray = np.linalg.solve(a, b)
        if np.isfinite(a).all() and np.isfinite(solution).all():
            return solution
    n, rows = len(a), np.column_stack([a, b])
    for j in range(n):
        k = j + int(np.abs(rows[j:, j]).argmax())
        rows[[j, k]] = rows[[k, j]]
        rows[j + 1 :] -= np.outer(rows[j + 1 :, j] / (rows[j, j] or 1), rows[j])
    for j in reversed(range(n)):
        rows[j, n:] /= rows[j, j]
        rows[:j, n:] -= np.outer(rows[:j, j], rows[j, n:])
    return rows[:, n:].reshape(b.shape)


@np.errstate(all="ignore")
def solve_transposed(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return x with ``a.T`` @ x == ``b``; inf and NaN where ``a`` is singular."""
    with suppress(np.linalg.LinAlgError):
        solution: np.ndarray = np.linalg.solve(a.T, b)
        if np.isfinite(a).all() and np.isfinite(solution).all():
            return solution
    n, lu, order = len(a), a.copy(), np.arange(len(a))
    for j in range(n):
        k = j + int(np.abs(lu[j:, j]).argmax())
        lu[[j, k]], order[[j, k]] = lu[[k, j]], order[[k, j]]
        lu[j + 1 :, j] /= lu[j, j] or 1
        lu[j + 1 :, j + 1 :] -= np.outer(lu[j + 1 :, j], lu[j, j + 1 :])
    x = b.reshape(n, -1).copy()
    for j in range(n):
        x[j] /= lu[j, j]
        x[j + 1 :] -= np.outer(lu[j, j + 1 :], x[j])
    for j in reversed(range(n)):
        x[:j] -= np.outer(lu[j, :j], x[j])
    return x[np.argsort(order)].reshape(b.shape)


@np.errstate(all="ignore")
def solve_each(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return ``solve`` for each of several matrices ``a`` [m, n, n] and ``b`` [m, n,
    k].
    """
    with suppress(np.linalg.LinAlgError):
        solution: np.ndarray = np.linalg.solve(a, b)
        if np.isfinite(a).all() and np.isfinite(solution).all():
            return solution
    return np.array([solve(*each) for each in zip(a, b, strict=True)])


def solve_by_factors(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return ``solve`` without exceptions, by the factors of ``getrf``."""
    lu, pivots, _ = getrf(a)
    right = b[pivots_to_permutation(pivots - 1, len(b))]
    columns = right if b.ndim == 2 else right[:, None]
    half = triangular_solve(lu, columns, lower=True, unit_diagonal=True)
    return triangular_solve(lu, half).reshape(b.shape)


def eigh(a: np.ndarray, *, lower: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Return ascending eigenvalues and eigenvectors, as columns, of Hermitian matrices
    given by one triangle; NaN where a matrix is not finite.
    """
    failed = ~np.isfinite(a).all(axis=(-2, -1), keepdims=True)
    finite = np.where(failed, 0, a)
    values, vectors = np.linalg.eigh(finite, UPLO="L" if lower else "U")
    return np.where(failed[..., 0], np.nan, values), np.where(failed, np.nan, vectors)


def eigvalsh(a: np.ndarray, *, lower: bool = True) -> np.ndarray:
    """Return ascending eigenvalues of Hermitian matrices given by one triangle; NaN
    where a matrix is not finite.
    """
    failed = ~np.isfinite(a).all(axis=(-2, -1), keepdims=True)
    finite = np.where(failed, 0, a)
    values = np.linalg.eigvalsh(finite, UPLO="L" if lower else "U")
    return np.where(failed[..., 0], np.nan, values)


def syevd(
    a: np.ndarray, *, mode: str = "V", uplo: str = "L"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return eigenvectors as columns, ascending eigenvalues of Hermitian matrices given
    by one triangle, and info.
    """
    values, vectors = eigh(a, lower=uplo == "L")
    return vectors, values, without_nan(a)[1].astype(np.int32)


def without_nan(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``a`` with zeros in place of the matrices that are not finite, and the
    mask of these matrices.
    """
    failed = ~np.isfinite(a).all(axis=(-2, -1))
    return np.where(failed[..., None, None], a.dtype.type(0), a), failed


def nan_where(failed: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return ``x`` with NaN for the matrices that ``failed`` [..]."""
    failed = failed.reshape(failed.shape + (1,) * (x.ndim - failed.ndim))
    return np.where(failed, x.dtype.type(np.nan), x)


def svd(
    a: np.ndarray, *, full_matrices: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return U, descending singular values and V^H; NaN if a matrix is not finite."""
    failed = ~np.isfinite(a).all(axis=(-2, -1), keepdims=True)
    finite = np.where(failed, 0, a)
    u, values, vh = np.linalg.svd(finite, full_matrices=full_matrices)
    values = np.where(failed[..., 0], np.nan, values)
    return np.where(failed, np.nan, u), values, np.where(failed, np.nan, vh)


def svdvals(a: np.ndarray) -> np.ndarray:
    """Return descending singular values; NaN where a matrix is not finite."""
    failed = ~np.isfinite(a).all(axis=(-2, -1), keepdims=True)
    values = np.linalg.svd(np.where(failed, 0, a), compute_uv=False)
    return np.where(failed[..., 0], np.nan, values)


def gesdd(
    a: np.ndarray, *, mode: str = "S"
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return ``a``, descending singular values, U, V^H, info; ``mode`` asks for "A" all
    vectors, "S" min(m, n) or "N" none.
    """
    failed = without_nan(a)[1]
    if mode == "N":
        values = svdvals(a)
        shapes = [(*a.shape[:-2], n, n) for n in a.shape[-2:]]
        u, vh = (nan_where(failed, np.zeros(shape, dtype=a.dtype)) for shape in shapes)
    else:
        u, values, vh = svd(a, full_matrices=mode == "A")
    return a, values, u, vh, failed.astype(np.int32)


def geev(
    a: np.ndarray, *, compute_left: str = "V", compute_right: str = "V"
) -> tuple[np.ndarray, ...]:
    """Return eigenvalues (for a real ``a``, their real and imaginary parts), left and
    right eigenvectors, info.

    Eigenvectors are columns of length 1, or zero if they were not requested.
    """
    finite, failed = without_nan(a)
    dtype = np.result_type(a.dtype, np.complex64)
    values, right = (x.astype(dtype) for x in np.linalg.eig(finite))
    left = np.zeros_like(right)
    if compute_left == "V":
        left = np.linalg.pinv(right).conj().mT
        largest = np.take_along_axis(left, np.abs(left).argmax(-2, keepdims=True), -2)
        turned = left * (largest.conj() / np.abs(largest))  # the largest entry is real
        left = turned / np.linalg.norm(left, axis=-2, keepdims=True)
    if compute_right != "V":
        right = np.zeros_like(right)
    values, left, right = (nan_where(failed, x) for x in (values, left, right))
    parts = (values,) if a.dtype.kind == "c" else (values.real, values.imag)
    return *parts, left, right, failed.astype(np.int32)


def gees(a: np.ndarray, *, mode: str = "V", sort: str = "N") -> tuple[np.ndarray, ...]:
    """Return the Schur form T and vectors Z with ``a`` == Z @ T @ Z^H, eigenvalues (as
    geev), 0 as the number of sorted ones, info.
    """
    finite, failed = without_nan(a)
    forms, vectors = np.empty_like(a), np.zeros_like(a)
    for index in np.ndindex(a.shape[:-2]):
        forms[index], vectors[index] = schur(finite[index])
    values = np.diagonal(forms, axis1=-2, axis2=-1).copy()
    vectors = vectors if mode == "V" else np.zeros_like(a)
    results = nan_where(failed, forms), nan_where(failed, vectors)
    none_sorted, info = np.zeros(a.shape[:-2], np.int32), failed.astype(np.int32)
    if a.dtype.kind == "c":
        return *results, values, none_sorted, info
    below, above = (np.diagonal(forms, offset, -2, -1) for offset in (-1, 1))
    half = np.sqrt(np.abs(below * above)) * (below != 0)
    imaginary = np.zeros_like(values)
    imaginary[..., :-1] += half
    imaginary[..., 1:] -= half
    return *results, values, imaginary, none_sorted, info


def gtsv(
    lower: np.ndarray, diagonal: np.ndarray, upper: np.ndarray, b: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the three diagonals [.., n], x [.., n, k] with the tridiagonal matrix
    times x == ``b``, and info.

    ``lower[.., 0]`` and ``upper[.., n - 1]`` are outside of the matrix.
    """
    n, zero = diagonal.shape[-1], np.zeros_like(diagonal[..., :1])
    # An equation is the coefficients of x[i], x[i + 1], x[i + 2], then its right side.
    bands = np.stack([diagonal, upper, np.zeros_like(upper)], -1)
    equations = np.concatenate([bands, b], -1)
    equations[..., -1:, 1] = 0
    info = np.zeros(diagonal.shape[:-1], np.int32)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for i in range(n - 1):
            this, following = equations[..., i, :], equations[..., i + 1, :]
            below = lower[..., i + 1, None]
            parts = [below, following[..., :2], following[..., 3:]]
            shifted = np.concatenate(parts, -1)
            exchange = np.abs(shifted[..., :1]) > np.abs(this[..., :1])
            pivot = np.where(exchange, shifted, this)
            other = np.where(exchange, this, shifted)
            rest = other - other[..., :1] / pivot[..., :1] * pivot
            rest = np.concatenate([rest[..., 1:3], zero, rest[..., 3:]], -1)
            equations[..., i, :], equations[..., i + 1, :] = pivot, rest
        x = np.zeros((*b.shape[:-2], n + 2, b.shape[-1]), b.dtype)
        for i in reversed(range(n)):
            pivot, next_one, next_two = np.moveaxis(equations[..., i, :3, None], -2, 0)
            known = next_one * x[..., i + 1, :] + next_two * x[..., i + 2, :]
            x[..., i, :] = (equations[..., i, 3:] - known) / pivot
            info = np.where(pivot[..., 0] == 0, np.int32(i + 1), info)
    return lower, diagonal, upper, x[..., :n, :], info


def gtsv_perturbed(
    lower: np.ndarray, diagonal: np.ndarray, upper: np.ndarray, b: np.ndarray
) -> np.ndarray:
    """Return x [.., n, k] with the tridiagonal matrix times x == ``b``, finite also
    where the matrix is singular: pivots near 0 are moved by eps times the largest
    coefficient.

    ``lower[.., 0]`` and ``upper[.., n - 1]`` are outside of the matrix. Source: xLAGTF
    and xLAGTS of LAPACK.
    """
    n, zero = diagonal.shape[-1], np.zeros_like(diagonal[..., :1])
    # An equation is the coefficients of x[i], x[i + 1], x[i + 2], then its right side.
    bands = np.stack([diagonal, upper, np.zeros_like(upper)], -1)
    equations = np.concatenate([bands, b], -1)
    equations[..., -1:, 1] = 0
    sizes = np.abs(equations[..., :3]).sum(axis=-1, keepdims=True)
    sizes[..., 1:, 0] += np.abs(lower[..., 1:])
    first = np.abs(equations[..., 0, :2]).max(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scale = sizes[..., :1, 0]
        for i in range(n - 1):
            this, following = equations[..., i, :], equations[..., i + 1, :]
            below, scale_below = lower[..., i + 1, None], sizes[..., i + 1, :]
            parts = [below, following[..., :2], following[..., 3:]]
            shifted = np.concatenate(parts, -1)
            size = np.where(this[..., :1] == 0, 0, np.abs(this[..., :1]) / scale)
            exchange = (below != 0) & (np.abs(below) / scale_below > size)
            pivot = np.where(exchange, shifted, this)
            other = np.where(exchange, this, shifted)
            quotient = other[..., :1] / pivot[..., :1]
            factor = np.where(other[..., :1] == 0, zero, quotient)
            rest = other - factor * pivot
            rest = np.concatenate([rest[..., 1:3], zero, rest[..., 3:]], -1)
            equations[..., i, :], equations[..., i + 1, :] = pivot, rest
            found = np.abs(rest[..., :2]).sum(axis=-1, keepdims=True)
            scale = np.where(exchange, found, scale_below)
        found = np.abs(equations[..., :3])
        found[..., -2:-1, :] = 0  # jaxlib does not look at these
        largest = np.maximum(found.max(axis=-2).max(axis=-1, keepdims=True), first)
        step = np.finfo(b.dtype).eps * largest
        x = np.zeros((*b.shape[:-2], n + 2, b.shape[-1]), b.dtype)
        for i in reversed(range(n)):
            pivot, next_one, next_two = np.moveaxis(equations[..., i, :3, None], -2, 0)
            known = next_one * x[..., i + 1, :] + next_two * x[..., i + 2, :]
            right = equations[..., i, 3:] - known
            pivot, right = with_finite_quotient(pivot, right, step)
            x[..., i, :] = right * (1 / pivot)
    return x[..., :n, :]


def with_finite_quotient(
    pivot: np.ndarray, right: np.ndarray, step: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``pivot`` [.., 1] and ``right`` [.., k], both made larger, or the pivot
    moved by ``step`` and its doubles, until ``right / pivot`` and ``1 / pivot`` are
    finite.
    """
    least = np.finfo(right.dtype).tiny
    most = np.abs(right).max(axis=-1, keepdims=True, initial=0)
    step = np.copysign(np.maximum(step, least), pivot.real)
    while True:
        size = np.abs(pivot)
        is_lost = (size < 1) & ((size == 0) | (most * least > size))
        is_small = (size < least) & ~is_lost
        pivot = np.where(
            is_small, pivot / least, np.where(is_lost, pivot + step, pivot)
        )
        right = np.where(is_small, right / least, right)
        step = np.where(is_lost, 2 * step, step)
        if not is_lost.any():
            return pivot, right
