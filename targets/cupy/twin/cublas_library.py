"""The library of cuBLAS on the twin, as ``ctypes`` finds and calls it without CuPy.

``argtypes`` must be C's declarations, and arguments must fit them. A handle works on the stream that was set last,
which must be the current one. While that stream is captured, the handle must have a workspace of the graph's own, since
other calls use the default workspace at the same time.

Source: cuBLAS's documentation, "CUDA Graphs Support", cublasSetStream and cublasSetWorkspace; the declarations of the
same functions in CuPy 14.2, ``cublas.pyx``.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from . import graphs
from .cublas import HANDLE, CublasError, memory, multiply
from .installed import cublas_types

_PATH = "libcublas.so of the twin"
_CTYPES: dict[str, Any] = {
    "intptr_t": ctypes.c_void_p,
    "size_t": ctypes.c_void_p,  # addresses, as CuPy declares them
    "int": ctypes.c_int,
    "long long": ctypes.c_longlong,
}


class _Handle:
    """CuPy's handle, which remembers its stream and the size of its workspace."""

    def __init__(self) -> None:
        self.stream, self.workspace = 0, 0

    def set_stream(self, handle: int, stream: int) -> None:
        self.stream, self.workspace = stream, 0

    def set_workspace(self, handle: int, address: int, size: int) -> None:
        memory(address, np.dtype(np.uint8), size)
        self.workspace = size

    def gemm(self, *arguments: int) -> None:
        if self.stream != graphs.current_stream():
            raise CublasError("the handle works on another stream than the current one")
        if graphs.is_captured() and not self.workspace:
            raise graphs.CaptureError("cuBLAS works in memory that is not the graph's")
        multiply(*arguments)


_HANDLE = _Handle()
_FUNCTIONS: dict[str, tuple[Callable[..., None], list[Any]]] = {
    "cublasSetStream_v2": (_HANDLE.set_stream, [_CTYPES[name] for name in cublas_types("setStream")]),
    "cublasSetWorkspace_v2": (_HANDLE.set_workspace, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]),
    "cublasGemmStridedBatchedEx": (_HANDLE.gemm, [_CTYPES[name] for name in cublas_types("gemmStridedBatchedEx")]),
}


class _Function:
    """A function of the library: it returns 0, or raises where cuBLAS would return an error."""

    argtypes: Any = None

    def __init__(self, name: str) -> None:
        self._call, self._types = _FUNCTIONS[name]

    def __call__(self, *arguments: int) -> int:
        if list(self.argtypes or ()) != self._types:
            raise CublasError("C declares other parameters")
        for kind, argument in zip(self._types, arguments, strict=True):
            if (kind(argument).value or 0) != argument:
                raise CublasError(f"{argument} does not fit {kind}")
        if arguments[0] != HANDLE:
            raise CublasError("another handle")
        self._call(*arguments)
        return 0


class _Library:
    def __getitem__(self, name: str) -> _Function:
        return _Function(name)


def loaded(name: str, *arguments: Any, **keywords: Any) -> Any:
    """Return the twin's library for its path, as ``ctypes.CDLL`` does for other libraries."""
    return _Library() if name == _PATH else _load(name, *arguments, **keywords)


def _find(name: str) -> SimpleNamespace:
    if name != "cublas":
        raise ValueError(f"no library {name}")
    return SimpleNamespace(abs_path=_PATH)


_load = ctypes.CDLL
PATHFINDER = ModuleType("cuda.pathfinder")
PATHFINDER.load_nvidia_dynamic_lib = _find  # type: ignore[attr-defined]
