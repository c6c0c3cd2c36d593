"""cuBLAS on a stream that is captured, where CuPy's own calls of it refuse to work.

Source: CuPy 14.2, cublas.pyx, whose calls begin with ``setStream``, which refuses;
cuBLAS's documentation, "CUDA Graphs Support", cublasSetStream, cublasSetWorkspace and
cublasGemmStridedBatchedEx.
"""

from ctypes import CDLL, c_int, c_longlong, c_size_t, c_void_p
from functools import cache
from typing import Any

import cupy as cp
from cuda.pathfinder import load_nvidia_dynamic_lib

WORKSPACE_BYTES = 32 << 20  # what cuBLAS has itself on the largest devices


def cublas_gemm(*arguments: int) -> None:
    """Call cuBLAS for products of evenly spaced matrices. CuPy's own call refuses while
    a stream is captured. cuBLAS works in memory of the current pool, which is the
    graph's own, until CuPy's next call sets the stream.
    """
    handle = cp.cuda.get_cublas_handle()
    workspace = cp.empty(WORKSPACE_BYTES, cp.uint8)
    call_cublas("cublasSetStream_v2", handle, cp.cuda.get_current_stream().ptr)
    call_cublas("cublasSetWorkspace_v2", handle, workspace.data.ptr, workspace.nbytes)
    call_cublas("cublasGemmStridedBatchedEx", handle, *arguments)


MATRICES = (c_void_p, c_int, c_int, c_longlong)  # where, type, distances of both axes
PARAMETERS: dict[str, Any] = {
    "cublasSetStream_v2": (c_void_p, c_void_p),
    "cublasSetWorkspace_v2": (c_void_p, c_void_p, c_size_t),
    "cublasGemmStridedBatchedEx": (
        *(c_void_p, *[c_int] * 5, c_void_p, *MATRICES, *MATRICES),
        *(c_void_p, *MATRICES, *[c_int] * 3),
    ),
}


def call_cublas(name: str, *arguments: int) -> None:
    """Call a function of the cuBLAS that CuPy has loaded. Raises RuntimeError."""
    status = cublas_function(name)(*arguments)
    if status:
        raise RuntimeError(f"{name} answers with status {status}")


@cache
def cublas_function(name: str) -> Any:
    """Return a function of the library, by its name in C."""
    function = CDLL(load_nvidia_dynamic_lib("cublas").abs_path)[name]
    function.argtypes = PARAMETERS[name]
    return function
