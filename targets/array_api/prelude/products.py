"""Products and factors of matrices beyond ``matmul`` and the extension ``linalg``."""

from math import prod
from typing import Any

from array_api_compat import array_namespace, device


def einsum(subscripts: str, x: Any, y: Any) -> Any:
    """Return the product of two arrays whose axes have letters: ``"bqd,bkd->bqk"``.

    Axes of both arrays that the result has are batches of a matrix product; those that
    the result lacks are summed over.
    """
    xp = array_namespace(x, y)
    given, wanted = subscripts.split("->")
    left, right = given.split(",")
    sizes = dict(zip(left + right, x.shape + y.shape, strict=True))
    batch = "".join(c for c in left if c in right and c in wanted)
    rows = "".join(c for c in left if c not in right)
    columns = "".join(c for c in right if c not in left)
    summed = "".join(c for c in left if c in right and c not in wanted)

    def matrices(array: Any, letters: str, *groups: str) -> Any:
        array = xp.permute_dims(array, tuple(map(letters.index, "".join(groups))))
        return xp.reshape(array, tuple(prod(sizes[c] for c in g) for g in groups))

    product = matrices(x, left, batch, rows, summed) @ matrices(
        y, right, batch, summed, columns
    )
    letters = batch + rows + columns
    product = xp.reshape(product, tuple(sizes[c] for c in letters))
    return xp.permute_dims(product, tuple(map(letters.index, wanted)))


def triangular_solve(
    a: Any, b: Any, lower: bool = False, unit_diagonal: bool = False
) -> Any:
    """Return the x [.., n, k] with ``a`` @ x == ``b``, of ``a`` [.., n, n] one
    triangle.

    ``unit_diagonal`` takes the diagonal as 1.
    """
    xp = array_namespace(a, b)
    a = xp.tril(a) if lower else xp.triu(a)
    if unit_diagonal:
        n = a.shape[-1]
        ones = xp.eye(n, dtype=a.dtype, device=device(a))
        a = xp.where(xp.astype(ones, xp.bool), ones, a)
    return xp.linalg.solve(a, b)


def cholesky(a: Any, lower: bool = True) -> Any:
    """Return the triangular factor of each matrix of ``a`` [.., n, n], of which one
    triangle is read; the library decides about a matrix that is not positive definite.
    """
    xp = array_namespace(a)
    half = xp.tril(a, k=-1) if lower else xp.triu(a, k=1)
    if xp.isdtype(a.dtype, "complex floating"):
        half = xp.conj(half)
    whole = (xp.tril(a) if lower else xp.triu(a)) + xp.matrix_transpose(half)
    return xp.linalg.cholesky(whole, upper=not lower)
