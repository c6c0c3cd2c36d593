"""``cupy.cuda.cublas`` on the twin: strided batched matrix products.

The twin reads and writes memory by addresses, flags and strides, as cuBLAS does, so a wrong one gives wrong numbers.

Source: cuBLAS's documentation of cublasGemmStridedBatchedEx, and CuPy 14.2, ``cublas.pyx``. Operands of a batch may
overlap and results may interleave (Shi, Niranjan, Anandkumar, Cecka: Tensor contractions with extended BLAS kernels on
CPU and GPU, 2016): cuBLAS's documentation only requires that results do not overlap.
"""

from __future__ import annotations

import ctypes
import weakref
from typing import Any

import cupy
import ml_dtypes
import numpy as np

from . import graphs
from .installed import cublas_arguments

_RUNTIME = cupy.cuda.runtime
_DTYPES: dict[int, np.dtype[Any]] = {
    _RUNTIME.CUDA_R_16BF: np.dtype(ml_dtypes.bfloat16),
    _RUNTIME.CUDA_R_16F: np.dtype(np.float16),
    _RUNTIME.CUDA_R_32F: np.dtype(np.float32),
    _RUNTIME.CUDA_R_64F: np.dtype(np.float64),
    _RUNTIME.CUDA_R_8I: np.dtype(np.int8),
    10: np.dtype(np.int32),  # CUDA_R_32I
}
# The values of cublas_api.h.
_CONSTANTS = {
    "CUBLAS_OP_N": 0,
    "CUBLAS_OP_T": 1,
    "CUBLAS_GEMM_DEFAULT": -1,
    "CUBLAS_COMPUTE_32F": 68,
    "CUBLAS_COMPUTE_32F_FAST_TF32": 77,
    "CUBLAS_COMPUTE_64F": 70,
    "CUBLAS_COMPUTE_32I": 72,
}
# The (operand, result) types that each compute type supports.
_TYPES = {
    68: {("bfloat16", "bfloat16"), ("float16", "float16"), ("bfloat16", "float32"), ("float16", "float32")}
    | {("float32", "float32")},
    77: {("float32", "float32")},
    70: {("float64", "float64")},
    72: {("int8", "int32")},
}
# The type of alpha, beta and sums of a compute type, if not float32.
_SUMS: dict[int, tuple[type[np.generic], type[ctypes._SimpleCData[Any]]]] = {
    70: (np.float64, ctypes.c_double),
    72: (np.int32, ctypes.c_int32),
}
HANDLE = 0x5EED


class CublasError(RuntimeError):
    """cuBLAS would return CUBLAS_STATUS_INVALID_VALUE or CUBLAS_STATUS_NOT_SUPPORTED."""


class Cublas:
    """The module ``cupy.cuda.cublas``, with no name that CuPy's lacks."""

    def __getattr__(self, name: str) -> int:
        return _CONSTANTS[name]

    def gemmStridedBatchedEx(self, *arguments: int) -> None:
        """Multiply on the current stream. Raises TypeError and CublasError, and CaptureError while a stream is
        captured.
        """
        graphs.not_captured("cuBLAS is called")
        multiply(*arguments)


def multiply(*arguments: int) -> None:
    """Compute C = alpha op(A) op(B) + beta C for each matrix of a batch, from the arguments of
    ``gemmStridedBatchedEx``.

    Matrices are column-major. Raises TypeError, CublasError.
    """
    given = dict(zip(cublas_arguments("gemmStridedBatchedEx"), arguments, strict=True))
    if given["handle"] != HANDLE:
        raise CublasError("another handle")
    m, n, k, count = (given[name] for name in ("m", "n", "k", "batchCount"))
    a = _matrices(given, "A", (m, k), given["transa"])
    b = _matrices(given, "B", (k, n), given["transb"])
    c = _matrices(given, "C", (m, n), _CONSTANTS["CUBLAS_OP_N"])
    compute = given["computeType"]
    if (a.dtype.name, c.dtype.name) not in _TYPES[compute] or a.dtype != b.dtype:
        raise CublasError(f"{a.dtype} by {b.dtype} gives no {c.dtype} in {compute}")
    if given["algo"] != _CONSTANTS["CUBLAS_GEMM_DEFAULT"] or not count:
        raise CublasError(f"algorithm {given['algo']} for {count} matrices")
    if a.dtype == np.int8 and any(given[key] % 4 for key in ("lda", "ldb", "ldc", "A", "B")):
        raise CublasError("columns of bytes begin at no multiple of 4 bytes")
    scale, number = _SUMS.get(compute, (np.float32, ctypes.c_float))
    alpha, beta = (scale(number.from_address(given[name]).value) for name in ("alpha", "beta"))

    def compute_all() -> None:
        left, right = (_operand(x, compute).astype(scale) for x in (a, b))
        before = beta * c.astype(scale) if beta else scale(0)
        c[...] = (alpha * np.matmul(left, right) + before).astype(c.dtype)

    graphs.work("gemm", compute_all, [a, b], [c])


def _matrices(given: dict[str, int], name: str, shape: tuple[int, int], flag: int) -> np.ndarray:
    """Return a view of the memory of one of the three batches, [count, rows, columns]. Raises CublasError."""
    dtype, apart = _DTYPES[given[f"{name}type"]], given[f"ld{name.lower()}"]
    is_turned = flag == _CONSTANTS["CUBLAS_OP_T"]
    rows, columns = shape[::-1] if is_turned else shape
    if apart < max(rows, 1):
        raise CublasError(f"{name}: columns of {rows} are {apart} apart")
    count, step = given["batchCount"], given[f"stride{name}"]
    if name == "C" and _overlap((count, step), (columns, apart), (rows, 1)):
        raise CublasError("results lie above each other")
    flat = memory(given[name], dtype, (count - 1) * step + (columns - 1) * apart + rows)
    strides = (step * dtype.itemsize, dtype.itemsize, apart * dtype.itemsize)
    stored = np.lib.stride_tricks.as_strided(flat, (count, rows, columns), strides)
    return stored.swapaxes(1, 2) if is_turned else stored


def _overlap(*axes: tuple[int, int]) -> bool:
    """Return whether several elements have the same address, given the size and the stride of each axis: an axis whose
    stride is not larger than the span of the axes with smaller strides.
    """
    span = 0
    for step, size in sorted((step, size) for size, step in axes if size > 1):
        if step <= span:
            return True
        span += (size - 1) * step
    return False


_LENT: dict[int, weakref.ref[np.ndarray]] = {}


def address_of(array: np.ndarray) -> int:
    """Return the address of an array. From there, memory may be read and written up to the end of the array's owner."""
    if not array.size:
        return 0
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    address = array.ctypes.data
    _LENT[address] = weakref.ref(owner)
    return address


def memory(address: int, dtype: np.dtype[Any], count: int) -> np.ndarray:
    """Return an array of ``count`` numbers at an address from ``address_of``. Raises CublasError if they are not all in
    the memory of that array's owner.
    """
    owner = _LENT[address]() if address in _LENT else None
    end = 0 if owner is None else np.lib.array_utils.byte_bounds(owner)[1]
    if address + count * dtype.itemsize > end or address % dtype.itemsize:
        raise CublasError(f"{count} of {dtype} at {address:#x} are in nobody's memory")
    octets = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    return np.ndarray((count,), dtype, memoryview(octets))


def _operand(x: np.ndarray, compute: int) -> np.ndarray:
    """Return an operand as a product reads it: TF32 rounds it to ten mantissa bits."""
    if compute != _CONSTANTS["CUBLAS_COMPUTE_32F_FAST_TF32"]:
        return x
    bits = x.view(np.uint32)
    rounded = (bits + np.uint32(0xFFF) + (bits >> np.uint32(13) & np.uint32(1))) & np.uint32(0xFFFFE000)
    found: np.ndarray = np.where(np.isfinite(x), rounded.view(np.float32), x)
    return found


CUDA: dict[str, Any] = {"cublas": Cublas(), "get_cublas_handle": lambda: HANDLE}
