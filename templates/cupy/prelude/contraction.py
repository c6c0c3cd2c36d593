"""Matrix products with the accumulation rules of HLO, where CuPy's own lack them.

Source: the operation-semantics seed, Dot and DotGeneral; RaggedDot as JAX defines it.
"""

from ctypes import addressof, c_double, c_float, c_int32
from functools import cache
from math import prod
from typing import Any, NamedTuple

import cupy as cp

from ...prelude.precision import working_dtype


def matmul(a: cp.ndarray, b: cp.ndarray, dtype: Any = None) -> cp.ndarray:
    """Return ``a`` [.., m, k] @ ``b`` [.., k, n] in ``dtype`` (``a``'s by default).

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
    """Return ``a`` [*batch, m, k] @ ``b`` [*batch, k, n], of one dtype; either may be a
    matrix for the whole batch. Narrow floats are summed in float32, which may be the
    result, and int8 in int32, which is the result; with ``tf32``, float32 is rounded to
    TF32 before it is multiplied.

    CuPy's own ``@`` copies transposed matrices of a batch, and casts narrow ones.
    """
    dtype = cp.dtype(dtype or a.dtype)
    batch = a.shape[:-2] or b.shape[:-2]
    shape = (*batch, a.shape[-2], b.shape[-1])
    if 0 in (*shape, a.shape[-1]):
        return cp.zeros(shape, dtype)
    result = cp.empty(shape, dtype)
    if a.ndim > b.ndim == 2 and a.flags.c_contiguous:  # one matrix has all rows
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
    """Write ``a`` @ ``b`` into ``result``, whose rows are contiguous, or add it to the
    elements there.

    Matrices are read in place, unless neither rows nor columns are contiguous. A batch
    of several axes whose matrices are large and not evenly spaced is multiplied in turn
    along its first axis.
    """
    layout = layout_of(result)
    is_copied = result.ndim > 2 and None in (layout_of(a), layout_of(b))
    is_large = is_copied and max(a.nbytes, b.nbytes) >= SMALL_BYTES * len(result)
    if layout is None or is_large:
        for k in range(len(result)):
            left, right = (x[k] if x.ndim > 2 else x for x in (a, b))
            gemm_into(result[k], left, right, tf32=tf32, adds=adds)
        return
    number: Any = c_float
    if a.dtype == cp.int8:  # tensor cores multiply rows of bytes by columns
        a, b = rows_of_words(a), rows_of_words(b.mT).mT
        compute, number = cp.cuda.cublas.CUBLAS_COMPUTE_32I, c_int32
    elif result.dtype == cp.float64:
        compute, number = cp.cuda.cublas.CUBLAS_COMPUTE_64F, c_double
    elif tf32:
        compute = cp.cuda.cublas.CUBLAS_COMPUTE_32F_FAST_TF32
    else:
        compute = cp.cuda.cublas.CUBLAS_COMPUTE_32F
    a, layout_a = gemm_operand(a)
    b, layout_b = gemm_operand(b)
    kind, result_kind = cuda_type(a.dtype), cuda_type(result.dtype)
    one, before = factor(1, number), factor(1 if adds else 0, number)
    # cuBLAS is column-major: its b a is a b in row-major order.
    cublas_gemm(
        *(layout_b.turn, layout_a.turn, b.shape[-1], *a.shape[-2:], addressof(one)),
        *(b.data.ptr, kind, layout_b.apart, layout_b.step),
        *(a.data.ptr, kind, layout_a.apart, layout_a.step, addressof(before)),
        *(result.data.ptr, result_kind, layout.apart, layout.step),
        *(prod(result.shape[:-2]), compute, cp.cuda.cublas.CUBLAS_GEMM_DEFAULT),
    )


def rows_of_words(x: cp.ndarray) -> cp.ndarray:
    """Return bytes whose rows are contiguous and begin at a word, copied if need be."""
    x = cp.ascontiguousarray(x)
    return x.copy() if x.data.ptr % 4 else x


def cublas_gemm(*arguments: int) -> None:
    """Call cuBLAS for products of evenly spaced matrices."""
    cp.cuda.cublas.gemmStridedBatchedEx(cp.cuda.get_cublas_handle(), *arguments)


class Layout(NamedTuple):
    """How cuBLAS reads matrices: whether it transposes them, and the distances in
    elements of their rows (or columns) and of the matrices.
    """

    turn: int
    apart: int
    step: int


def gemm_operand(x: cp.ndarray) -> tuple[cp.ndarray, Layout]:
    """Return matrices [*batch, rows, columns], copied if cuBLAS cannot read them in
    place, and their layout.
    """
    layout = layout_of(x)
    return (x, layout) if layout else gemm_operand(contiguous_copy(x))


def contiguous_copy(x: cp.ndarray) -> cp.ndarray:
    """Return a copy whose rows or columns are contiguous as before; its threads copy 16
    bytes each where these consist of them.
    """
    if x.strides[-1] != x.itemsize == x.strides[-2]:
        return contiguous_copy(x.mT).mT
    steps = (x.data.ptr, x.shape[-1] * x.itemsize, *x.strides[:-1])
    if x.strides[-1] == x.itemsize and all(step % 16 == 0 for step in steps):
        return cp.ascontiguousarray(x.view(cp.complex128)).view(x.dtype)
    return cp.ascontiguousarray(x)


def layout_of(x: cp.ndarray) -> Layout | None:
    """Return ``matrix_layout`` of the matrices [*batch, rows, columns] of an array."""
    return matrix_layout(x.shape, x.strides, x.itemsize)


@cache
def matrix_layout(
    shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int
) -> Layout | None:
    """Return how cuBLAS reads matrices [*batch, rows, columns] in row-major order of
    the batch, or None if neither rows nor columns are contiguous, or the matrices are
    not evenly spaced.
    """
    (rows, columns), (row, column) = shape[-2:], (n // itemsize for n in strides[-2:])
    step, span = 0, None
    for size, stride in zip(shape[-3::-1], strides[-3::-1], strict=True):
        if size > 1:
            if stride < 0 or span not in (None, stride):
                return None
            step, span = stride // itemsize if span is None else step, stride * size
    if (column == 1 or columns == 1) and (row >= columns or rows == 1):
        return Layout(cp.cuda.cublas.CUBLAS_OP_N, max(row, columns), step)
    if (row == 1 or rows == 1) and (column >= rows or columns == 1):
        return Layout(cp.cuda.cublas.CUBLAS_OP_T, max(column, rows), step)
    return None


def contract(
    a: cp.ndarray,
    b: cp.ndarray,
    subscripts: str,
    dtype: Any = None,
    *,
    tf32: bool = False,
) -> cp.ndarray:
    """Return ``einsum`` of two arrays by ``gemm``: the axes that only the operands have
    are summed over, those that all three have are a batch.
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


@cache
def factor(value: int, number: Any) -> Any:
    """Return a factor for cuBLAS, in the memory of the host, as a ``number`` of C."""
    return number(value)


@cache
def cuda_type(dtype: Any) -> int:
    """Return CUDA's number for a dtype."""
    numbers: dict[str, int] = {
        "bfloat16": cp.cuda.runtime.CUDA_R_16BF,
        "float16": cp.cuda.runtime.CUDA_R_16F,
        "float32": cp.cuda.runtime.CUDA_R_32F,
        "float64": cp.cuda.runtime.CUDA_R_64F,
        "int8": cp.cuda.runtime.CUDA_R_8I,
        "int32": 10,  # CUDA_R_32I, which CuPy does not name
    }
    return numbers[dtype.name]


def ragged_groups(
    group_sizes: cp.ndarray, n: int, ndim: int
) -> list[tuple[cp.ndarray, cp.ndarray]]:
    """Return for each group all of the ``n`` rows, since only the device knows which
    are in it, and a mask [.., rows] of ``ndim`` axes of the rows in the group.
    """
    ends = cp.cumsum(group_sizes, axis=-1)
    starts = ends - group_sizes
    inside = (starts[..., None] <= cp.arange(n)) & (cp.arange(n) < ends[..., None])
    masks = cp.moveaxis(inside, -2, 0)
    masks = [mask.reshape((1,) * (ndim - mask.ndim) + mask.shape) for mask in masks]
    return [(cp.arange(n), mask) for mask in masks]
