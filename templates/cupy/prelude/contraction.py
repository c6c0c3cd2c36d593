"""Matrix products with the accumulation rules of HLO, where CuPy's own do not go.

Source: the operation-semantics seed, Dot and DotGeneral; RaggedDot as JAX defines it.
"""

from ctypes import addressof, c_double, c_float
from math import prod
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


def gemm(a: cp.ndarray, b: cp.ndarray, dtype: Any = None) -> cp.ndarray:
    """``a`` [*batch, m, k] @ ``b`` [*batch, k, n], of one dtype; either may be a matrix
    for the whole batch. Narrow floats are summed in float32, which may be the result.

    CuPy's own ``@`` copies matrices of a batch that are turned, and casts narrow ones.
    """
    dtype = cp.dtype(dtype or a.dtype)
    batch = a.shape[:-2] or b.shape[:-2]
    shape = (*batch, a.shape[-2], b.shape[-1])
    if 0 in (*shape, a.shape[-1]):
        return cp.zeros(shape, dtype)
    if b.ndim == 2 and a.flags.c_contiguous:
        a, batch = a.reshape(-1, a.shape[-1]), ()  # one matrix has all rows
    result = cp.empty(shape, dtype)
    a, turn_a, apart_a, step_a = gemm_operand(a)
    b, turn_b, apart_b, step_b = gemm_operand(b)
    m, n, k = a.shape[-2], b.shape[-1], a.shape[-1]
    kind, result_kind = cuda_type(a.dtype), cuda_type(dtype)
    scale: Any = c_double if dtype == cp.float64 else c_float
    one, zero = scale(1), scale(0)
    compute = cp.cuda.cublas.CUBLAS_COMPUTE_32F
    if dtype == cp.float64:
        compute = cp.cuda.cublas.CUBLAS_COMPUTE_64F
    # Row by row, a b is what cuBLAS calls b a, as it counts column by column.
    cp.cuda.cublas.gemmStridedBatchedEx(
        cp.cuda.get_cublas_handle(),
        *(turn_b, turn_a, n, m, k, addressof(one)),
        *(b.data.ptr, kind, apart_b, step_b),
        *(a.data.ptr, kind, apart_a, step_a, addressof(zero)),
        *(result.data.ptr, result_kind, n, m * n, prod(batch)),
        compute,
        cp.cuda.cublas.CUBLAS_GEMM_DEFAULT,
    )
    return result


def gemm_operand(x: cp.ndarray) -> tuple[cp.ndarray, int, int, int]:
    """Matrices [count, rows, columns] as cuBLAS takes them, with whether they are
    turned and how many elements their rows (or columns) and they themselves are apart.
    They are copied where neither rows nor columns lie together.
    """
    x = x.reshape(-1, *x.shape[-2:])
    _, rows, columns = x.shape
    step, row, column = (stride // x.itemsize for stride in x.strides)
    step = step if len(x) > 1 else 0
    if step >= 0:
        if (column == 1 or columns == 1) and (row >= columns or rows == 1):
            return x, cp.cuda.cublas.CUBLAS_OP_N, max(row, columns), step
        if (row == 1 or rows == 1) and (column >= rows or columns == 1):
            return x, cp.cuda.cublas.CUBLAS_OP_T, max(column, rows), step
    step = rows * columns if len(x) > 1 else 0
    return cp.ascontiguousarray(x), cp.cuda.cublas.CUBLAS_OP_N, columns, step


def cuda_type(dtype: Any) -> int:
    """The number of a dtype among CUDA's."""
    numbers: dict[str, int] = {
        "bfloat16": cp.cuda.runtime.CUDA_R_16BF,
        "float16": cp.cuda.runtime.CUDA_R_16F,
        "float32": cp.cuda.runtime.CUDA_R_32F,
        "float64": cp.cuda.runtime.CUDA_R_64F,
    }
    return numbers[dtype.name]


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
