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


def gemm(
    a: cp.ndarray, b: cp.ndarray, dtype: Any = None, *, tf32: bool = False
) -> cp.ndarray:
    """``a`` [*batch, m, k] @ ``b`` [*batch, k, n], of one dtype; either may be a matrix
    for the whole batch. Narrow floats are summed in float32, which may be the result;
    with ``tf32``, float32 is rounded to TF32 before it is multiplied.

    CuPy's own ``@`` copies matrices of a batch that are turned, and casts narrow ones.
    """
    dtype = cp.dtype(dtype or a.dtype)
    batch = a.shape[:-2] or b.shape[:-2]
    shape = (*batch, a.shape[-2], b.shape[-1])
    if 0 in (*shape, a.shape[-1]):
        return cp.zeros(shape, dtype)
    result = cp.empty(shape, dtype)
    if b.ndim == 2 and a.flags.c_contiguous:  # one matrix has all rows
        rows = a.reshape(-1, a.shape[-1])
        gemm_into(result.reshape(-1, b.shape[-1]), rows, b, tf32=tf32)
    else:
        gemm_into(result, a, b, tf32=tf32)
    return result


SMALL_BYTES = 1 << 25  # operands that are copied faster than products are launched


def gemm_into(
    result: cp.ndarray,
    a: cp.ndarray,
    b: cp.ndarray,
    *,
    tf32: bool = False,
    adds: bool = False,
) -> None:
    """Write ``a`` @ ``b`` into ``result``, the elements of whose rows lie together, or
    add it to what is there.

    Matrices are read where they are, unless neither rows nor columns lie together.
    Those of a batch of several axes are multiplied in turn along the first where they
    are large and not all equally far apart.
    """
    steps = [batch_step(x) for x in (result, a, b)]
    is_large = max(a.nbytes, b.nbytes) >= SMALL_BYTES * len(result)
    if steps[0] is None or (is_large and None in steps):
        for k in range(len(result)):
            left, right = (x[k] if x.ndim > 2 else x for x in (a, b))
            gemm_into(result[k], left, right, tf32=tf32, adds=adds)
        return
    a, turn_a, apart_a, step_a = gemm_operand(a)
    b, turn_b, apart_b, step_b = gemm_operand(b)
    _, _, apart, step = gemm_operand(result)
    m, n, k = a.shape[-2], b.shape[-1], a.shape[-1]
    kind, result_kind = cuda_type(a.dtype), cuda_type(result.dtype)
    scale: Any = c_double if result.dtype == cp.float64 else c_float
    one, before = scale(1), scale(1 if adds else 0)
    compute = cp.cuda.cublas.CUBLAS_COMPUTE_32F
    if tf32:
        compute = cp.cuda.cublas.CUBLAS_COMPUTE_32F_FAST_TF32
    if result.dtype == cp.float64:
        compute = cp.cuda.cublas.CUBLAS_COMPUTE_64F
    # Row by row, a b is what cuBLAS calls b a, as it counts column by column.
    cublas_gemm(
        *(turn_b, turn_a, n, m, k, addressof(one)),
        *(b.data.ptr, kind, apart_b, step_b),
        *(a.data.ptr, kind, apart_a, step_a, addressof(before)),
        *(result.data.ptr, result_kind, apart, step, prod(result.shape[:-2])),
        compute,
        cp.cuda.cublas.CUBLAS_GEMM_DEFAULT,
    )


def cublas_gemm(*arguments: int) -> None:
    """Call cuBLAS for products of matrices that lie equally far apart."""
    cp.cuda.cublas.gemmStridedBatchedEx(cp.cuda.get_cublas_handle(), *arguments)


def gemm_operand(x: cp.ndarray) -> tuple[cp.ndarray, int, int, int]:
    """Matrices [*batch, rows, columns] as cuBLAS takes them, with whether they are
    turned and how many elements their rows (or columns) and they themselves are apart.
    They are copied where that cannot be said.
    """
    rows, columns = x.shape[-2:]
    row, column = (stride // x.itemsize for stride in x.strides[-2:])
    step = batch_step(x)
    if step is not None and step >= 0:
        if (column == 1 or columns == 1) and (row >= columns or rows == 1):
            return x, cp.cuda.cublas.CUBLAS_OP_N, max(row, columns), step
        if (row == 1 or rows == 1) and (column >= rows or columns == 1):
            return x, cp.cuda.cublas.CUBLAS_OP_T, max(column, rows), step
    return gemm_operand(cp.ascontiguousarray(x))


def batch_step(x: cp.ndarray) -> int | None:
    """Return how many elements the matrices [*batch, rows, columns] are apart, in
    row-major order of the batch; None where that differs.
    """
    step, span = 0, None
    for axis in reversed([axis for axis in range(x.ndim - 2) if x.shape[axis] > 1]):
        stride = x.strides[axis] // x.itemsize
        if span is not None and stride != span:
            return None
        step = step if span is not None else stride
        span = stride * x.shape[axis]
    return step


def contract(
    a: cp.ndarray,
    b: cp.ndarray,
    subscripts: str,
    dtype: Any = None,
    *,
    tf32: bool = False,
) -> cp.ndarray:
    """``einsum`` of two arrays by ``gemm``: the axes that only the operands have are
    summed over, those that all three have are a batch.
    """
    left, right, axes = subscripts.replace("->", ",").split(",")
    sizes = dict(zip(left + right, a.shape + b.shape, strict=True))
    batch = [axis for axis in axes if axis in left and axis in right]
    rows = [axis for axis in axes if axis not in right]
    columns = [axis for axis in axes if axis not in left]
    summed = [axis for axis in left if axis not in axes]
    m, k, n = (prod(sizes[axis] for axis in part) for part in (rows, summed, columns))
    a = a.transpose([left.index(axis) for axis in (*batch, *rows, *summed)])
    b = b.transpose([right.index(axis) for axis in (*batch, *summed, *columns)])
    shape = [sizes[axis] for axis in batch]
    a, b = a.reshape(*shape, m, k), b.reshape(*shape, k, n)
    product = gemm(a, b, dtype, tf32=tf32)
    order = [*batch, *rows, *columns]
    product = product.reshape([sizes[axis] for axis in order])
    return product.transpose([order.index(axis) for axis in axes])


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
