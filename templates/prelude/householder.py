"""Factors held as Householder reflectors, as the LAPACK routines of the same names
return them.

Reflector k is 1 - tau[k] * v @ v^H with v = [0, .., 0, 1, column k below its first
entry]. All functions take a batch of matrices; real and complex alike.
"""

import numpy as np

from .linalg import triangular_solve


def reflector(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return v [.., n] with v[0] == 1, tau and real beta [..] such that (1 - tau v
    v^H)^H ``x`` is [beta, 0, .., 0].
    """
    alpha = x[..., 0]
    tail = np.linalg.norm(x[..., 1:], axis=-1)
    is_done = (tail == 0) & (alpha.imag == 0)
    length = np.hypot(np.abs(alpha), tail)
    beta = np.where(is_done, alpha.real, -np.copysign(length, alpha.real))
    tau = np.where(is_done, 0, (beta - alpha) / np.where(beta == 0, 1, beta))
    v = x / np.where(is_done, 1, alpha - beta)[..., None]
    v = np.where(is_done[..., None], 0, v).astype(x.dtype)
    v[..., 0] = 1
    return v, tau.astype(x.dtype), beta


def reflect(a: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Return (1 - tau v v^H) @ ``a`` for ``a`` [.., m, n], ``v`` [.., m] and ``tau``
    [..].
    """
    column = v[..., None]
    result: np.ndarray = a - tau[..., None, None] * (column @ (column.conj().mT @ a))
    return result


def apply_q(
    a: np.ndarray, tau: np.ndarray, c: np.ndarray, *, adjoint: bool = False
) -> np.ndarray:
    """Return Q @ ``c`` (or Q^H @ ``c``) of the reflectors in ``a`` [.., m, k] and
    ``tau`` [.., k], which are applied all at once.
    """
    k = tau.shape[-1]
    v = np.tril(a[..., :k], -1) + np.eye(a.shape[-2], k, dtype=a.dtype)
    v = np.where(tau[..., None, :] == 0, 0, v).astype(a.dtype)
    diagonal = np.eye(k, dtype=a.dtype) / np.where(tau == 0, 1, tau)[..., None]
    inverse = np.triu(v.conj().mT @ v, 1) + diagonal
    inverse = inverse.conj().mT if adjoint else inverse
    result: np.ndarray = c - v @ triangular_solve(
        inverse, v.conj().mT @ c, lower=adjoint
    )
    return result


def geqrf(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return R above and the reflectors of Q below the diagonal of ``a`` [.., m, n],
    and tau.

    ``a`` == Q @ R; tau is [.., min(m, n)].
    """
    packed, tau = np.linalg.qr(a, mode="raw")
    return packed.mT, tau


def geqp3(
    a: np.ndarray, pivots: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``geqrf`` of ``a`` with its columns in a new order, their numbers from 1
    on, and tau. Columns whose ``pivots`` are not 0 come first, the others by the
    falling norm of their remaining rows.
    """
    m, n = a.shape[-2:]
    order = np.broadcast_to(np.arange(n), pivots.shape).copy()
    pinned = np.zeros_like(order[..., :1])
    for j in range(n):  # a pinned column changes places with the first that is not
        there = np.where(pivots[..., j, None] != 0, pinned, j)
        order[..., j, None] = np.take_along_axis(order, there, -1)
        np.put_along_axis(order, there, j, -1)
        pinned += pivots[..., j, None] != 0
    a = np.take_along_axis(a, order[..., None, :], -1)
    pivots = (order + 1).astype(pivots.dtype)
    tau = np.zeros((*a.shape[:-2], min(m, n)), a.dtype)
    for k in range(min(m, n)):
        largest = k + np.linalg.norm(a[..., k:, k:], axis=-2).argmax(-1, keepdims=True)
        largest = np.where(k < pinned, k, largest)
        order = np.broadcast_to(np.arange(n), pivots.shape).copy()
        np.put_along_axis(order, largest, k, -1)
        order[..., k, None] = largest
        a = np.take_along_axis(a, order[..., None, :], -1)
        pivots = np.take_along_axis(pivots, order, -1)
        v, tau[..., k], beta = reflector(a[..., k:, k])
        a[..., k:, k + 1 :] = reflect(a[..., k:, k + 1 :], v, tau[..., k].conj())
        a[..., k:, k] = v
        a[..., k, k] = beta
    return a, pivots, tau


def orgqr(a: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Return the first n columns of Q, whose reflectors are in ``a`` [.., m, n] and
    ``tau`` [.., k].
    """
    m, n = a.shape[-2:]
    return apply_q(a, tau, np.broadcast_to(np.eye(m, n, dtype=a.dtype), a.shape))


def ormqr(
    a: np.ndarray,
    tau: np.ndarray,
    c: np.ndarray,
    *,
    left: bool = True,
    transpose: bool = False,
) -> np.ndarray:
    """Return Q @ ``c``, or ``c`` @ Q unless ``left``, or with Q^H in place of Q if
    ``transpose``.
    """
    if left:
        return apply_q(a, tau, c, adjoint=transpose)
    return apply_q(a, tau, c.conj().mT, adjoint=not transpose).conj().mT


def gehrd(
    a: np.ndarray, *, low: int = 1, high: int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Q^H @ ``a`` @ Q, 0 below its subdiagonal in columns ``low`` to ``high``
    (from 1 on), and tau, info.

    The reflectors of Q are stored below the subdiagonal.
    """
    a, n = a.copy(), a.shape[-1]
    high = n if high is None else high
    tau = np.zeros((*a.shape[:-2], max(n - 1, 0)), a.dtype)
    for k in range(low - 1, high - 1):
        rows = slice(k + 1, high)
        v, tau[..., k], beta = reflector(a[..., rows, k])
        scale = tau[..., k].conj()
        left = reflect(a[..., :high, rows].conj().mT, v, scale)
        a[..., :high, rows] = left.conj().mT
        a[..., rows, k + 1 :] = reflect(a[..., rows, k + 1 :], v, scale)
        a[..., rows, k] = v
        a[..., k + 1, k] = beta
    return a, tau, np.zeros(a.shape[:-2], np.int32)


def sytrd(
    a: np.ndarray, *, uplo: str = "L"
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return Q^H @ ``a`` @ Q, tridiagonal, of a Hermitian matrix of which one triangle
    is read, with the real part of its diagonal.

    The results are this matrix, packed with the reflectors, its diagonal, its
    off-diagonal, tau, and info.
    """
    if uplo == "U":  # turned by 180 degrees, it is a lower triangle
        packed, *vectors, info = sytrd(a[..., ::-1, ::-1], uplo="L")
        diagonal, off_diagonal, tau = (vector[..., ::-1] for vector in vectors)
        return packed[..., ::-1, ::-1], diagonal, off_diagonal, tau, info
    n, strict = a.shape[-1], np.tril(a, -1)
    on_diagonal = np.eye(n, dtype=bool)
    work = np.where(on_diagonal, a.real, strict + strict.conj().mT)
    tau = np.zeros((*a.shape[:-2], max(n - 1, 0)), a.dtype)
    for k in range(n - 1):
        v, tau[..., k], beta = reflector(work[..., k + 1 :, k])
        scale = tau[..., k].conj()
        left = reflect(work[..., k + 1 :, k + 1 :], v, scale).conj().mT
        work[..., k + 1 :, k + 1 :] = reflect(left, v, scale).conj().mT
        work[..., k + 1 :, k] = v
        work[..., k + 1, k] = beta
    packed = np.where(on_diagonal, work.real, np.tril(work) + np.triu(a, 1))
    diagonal = np.diagonal(work.real, 0, -2, -1).copy()
    off_diagonal = np.diagonal(work.real, -1, -2, -1).copy()
    return packed, diagonal, off_diagonal, tau, np.zeros(a.shape[:-2], np.int32)
