"""QR factorisations and singular values of tall matrices whose rows are cut, as LAPACK
computes them.

Source: J. Demmel, L. Grigori, M. Hoemmen, J. Langou, Communication-Optimal Parallel and
Sequential QR and LU Factorizations, 2012 (TSQR).

The effect of LAPACK's reflectors on the first n rows depends on the other rows only by
the lengths of their columns and the angles between these. So R, tau and the first n
rows of the reflectors are those of the first n rows above the triangle of the others;
the rows below are those of that triangle, multiplied by its Q.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import dask.array as da
import numpy as np

from .chunked_tasks import one_of, part_of
from .householder import geqrf
from .lapack import svd, svdvals
from .tiles_in_files import Stored
from .tiles_recut import cut_into

Product = Callable[[da.Array], da.Array]


def qr_in_chunks(a: da.Array) -> tuple[da.Array, da.Array]:
    """Return ``np.linalg.qr`` of a matrix [m, n] with m >= 2 n, whose rows are cut."""
    return below_first_rows(np.linalg.qr, a, (a.shape[1], a.shape[1]))


def geqrf_in_chunks(a: da.Array) -> tuple[da.Array, da.Array]:
    """Return ``geqrf`` of a matrix [m, n] with m >= 2 n, whose rows are cut."""
    return below_first_rows(geqrf, a, (a.shape[1],))


def svd_in_chunks(a: da.Array) -> tuple[da.Array, da.Array, da.Array]:
    """Return ``svd`` of a matrix [m, n] with m >= 2 n, whose rows are cut, with n
    vectors on the left. It is computed from that of R, as by LAPACK for such a matrix.
    """
    q, r = qr_in_chunks(a)
    found = da.blockwise(svd, "kl", r, "kl", meta=np.empty(0, object))
    types = (a.dtype, a.real.dtype, a.dtype)
    left, values, right = (
        da.blockwise(
            partial(part_of, number=number),
            letters,
            found,
            "kl",
            meta=np.zeros((0,) * len(letters), types[number]),
        )
        for number, letters in enumerate(("kl", "k", "kl"))
    )
    both = (q, "ij", left, "jk")
    meta = np.empty((0, 0), a.dtype)
    left = da.blockwise(np.matmul, "ik", *both, concatenate=True, meta=meta)
    return left, values, right


def svdvals_in_chunks(a: da.Array) -> da.Array:
    """Return ``svdvals`` of a matrix [m, n] with m >= 2 n, whose rows are cut."""
    meta = np.empty(0, a.real.dtype)
    r = qr_in_chunks(a)[1]
    values: da.Array = da.blockwise(svdvals, "k", r, "kl", concatenate=True, meta=meta)
    return values


def below_first_rows(
    factor: Callable[..., Any], a: da.Array, shape: tuple[int, ...]
) -> tuple[da.Array, da.Array]:
    """Return the results of ``factor``: the first is as large as ``a``, and all its
    rows but the first n are computed by the triangle of those of ``a``; the other one
    has this ``shape``.
    """
    n = a.shape[1]
    if max(a.chunks[0]) < 2 * n:
        a = a.rechunk((2 * n, n))
    triangle, product = triangle_and_product(a[n:])
    both = da.concatenate([a[:n], triangle]).rechunk((2 * n, n))
    meta, letters = np.empty(0, a.dtype), "kl"[: len(shape)]
    found = da.blockwise(factor, "ij", both, "ij", meta=np.empty(0, object))
    first = one_of(found, 0, meta)
    other = da.blockwise(
        partial(part_of, number=1),
        letters,
        found,
        "ij",
        new_axes=dict(zip(letters, shape, strict=True)),
        meta=meta,
    )
    rows = da.concatenate([first[:n], product(first[n:])])
    return rows.rechunk(a.chunks), other


def triangle_and_product(a: da.Array) -> tuple[da.Array, Product]:
    """Return R of a matrix whose rows are cut, and a function that multiplies Q by a
    matrix.

    Each chunk is factored on its own, then their triangles are, in chunks of as many
    rows, until one is left. All factors lie in files.
    """
    meta, rows, n = np.empty(0, a.dtype), a.chunks[0], a.shape[1]
    parts = da.blockwise(factored, "ij", a, "ij", meta=np.empty(0, object))
    sizes = tuple(min(size, n) for size in rows)
    triangles = da.blockwise(
        triangle_of, "ij", parts, "ij", adjust_chunks={"i": sizes}, meta=meta
    )

    def product(right: da.Array) -> da.Array:
        rows_of_product: da.Array = da.blockwise(
            product_with,
            "ik",
            parts,
            "ij",
            right,
            "ik",
            align_arrays=False,
            adjust_chunks={"i": rows},
            meta=meta,
        )
        return rows_of_product

    if len(rows) == 1:
        return triangles, product
    length = max(2 * n, max(rows))
    stacked = triangles.rechunk({0: cut_into(sum(sizes), length)})
    triangle, inner = triangle_and_product(stacked)
    return triangle, lambda right: product(inner(right).rechunk({0: sizes}))


def factored(a: np.ndarray) -> tuple[Stored, Stored]:
    """Return Q and R, in files, where both stay until the product with Q."""
    q, r = np.linalg.qr(a)
    return Stored(q), Stored(r)


def triangle_of(part: Any) -> np.ndarray:
    """Return R of a part."""
    r: np.ndarray = part_of(part, 1).read()
    return r


def product_with(part: Any, right: np.ndarray) -> np.ndarray:
    """Return the Q of a part, times a matrix."""
    ((q, _),) = part
    result: np.ndarray = q.read() @ right
    return result
