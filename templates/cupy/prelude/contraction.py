"""Matrix products with the accumulation rules of HLO, where CuPy's own do not go.

Source: the operation-semantics seed, Dot and DotGeneral; RaggedDot as JAX defines it.
"""

from typing import Any

import cupy as cp

from ...prelude.precision import working_dtype


def matmul(a: cp.ndarray, b: cp.ndarray, dtype: Any = None) -> cp.ndarray:
    """``a`` [.., m, k] @ ``b`` [.., k, n] in ``dtype`` (default: that of ``a``).

    Integers wrap at the width of the result, predicates are or-ed, narrow floats are
    accumulated in float32.
    """
    dtype = cp.dtype(dtype or a.dtype)
    if dtype.kind == "b":
        return (a.astype(cp.float32) @ b.astype(cp.float32)) != 0
    if dtype.kind in "iu":
        return a.astype(dtype) @ b.astype(dtype)
    work = cp.result_type(*(working_dtype(each) for each in (dtype, a.dtype, b.dtype)))
    return (a.astype(work) @ b.astype(work)).astype(dtype)


def ragged_groups(
    group_sizes: cp.ndarray, n: int, ndim: int
) -> list[tuple[cp.ndarray, cp.ndarray]]:
    """Return for each group all of the ``n`` rows, as which it has is known on the
    device alone, and a mask [.., rows] of ``ndim`` axes of those in it.
    """
    ends = cp.cumsum(group_sizes, axis=-1)
    starts = ends - group_sizes
    inside = (starts[..., None] <= cp.arange(n)) & (cp.arange(n) < ends[..., None])
    masks = cp.moveaxis(inside, -2, 0)
    masks = [mask.reshape((1,) * (ndim - mask.ndim) + mask.shape) for mask in masks]
    return [(cp.arange(n), mask) for mask in masks]
