"""The modules ``cupy`` and ``cupyx`` of the twin, and the conversion of values to and from its arrays."""

from __future__ import annotations

import builtins
import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import cupy
import numpy as np

from .. import held
from . import cublas, cublas_library, cudnn, graphs, host_kernels
from .device_array import DeviceArray, HiddenWait, call_ufunc, called, fetched, functions, written
from .differences import DIFFERENT
from .installed import MAY_WAIT, WAITS, cupyx_function

# Functions of cupy that accept only CuPy's arrays, and the arguments for which that holds.
_ARRAYS_ONLY: dict[str, Callable[..., Any]] = {
    "concatenate": lambda parts, *_, **__: parts,
    "stack": lambda parts, *_, **__: parts,
    "tensordot": lambda a, b, *_, **__: (a, b),
    "einsum": lambda subscripts, *operands: operands,
    "pad": lambda a, *_, **__: (a,),
    "delete": lambda a, *_, **__: (a,),
    "take": lambda a, *_, **__: (a,),
    "sort": lambda a, *_, **__: (a,),
    "argsort": lambda a, *_, **__: (a,),
}


_NUMBERS_TOO = frozenset("where full full_like clip asarray array result_type".split())


class Namespace(ModuleType):
    """The twin of ``cupy`` or of one of its modules, with the names of the real one."""

    def __init__(self, real: ModuleType) -> None:
        super().__init__(real.__name__)
        self._real = real
        self._dotted = real.__name__.removeprefix("cupy").removeprefix(".")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        dotted = f"{self._dotted}.{name}".lstrip(".")
        if self._dotted == "cuda" and name in _CUDA:
            return _CUDA[name]
        real = getattr(self._real, name)  # AttributeError where CuPy has no such name
        if name in WAITS and not any(frame in MAY_WAIT for frame in functions()):
            raise HiddenWait(f"cupy.{dotted} waits for the device")
        if name == "asnumpy":
            return to_host
        if name in _CLASSES:
            return _CLASSES[name]
        if isinstance(real, ModuleType):
            return Namespace(real)
        if isinstance(real, cupy.ufunc):
            return ufunc(name)
        if isinstance(real, type) or not callable(real):
            return real
        return lambda *arguments, **keywords: self._call(name, dotted, real, arguments, keywords)

    def _call(self, name: str, dotted: str, real: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        with contextlib.suppress(ValueError):  # compiled functions have no signature
            inspect.signature(real).bind(*arguments, **keywords)
        if self._dotted == "linalg" and name != "norm":
            graphs.not_captured("cuSOLVER is called")
        if self._dotted == "fft":
            graphs.not_captured("cuFFT has a plan that may go")
        if dotted in ("tensordot", "einsum") and not all(x.dtype.kind in "iu" for x in arguments[-2:]):
            graphs.not_captured("cuBLAS is called")
        if dotted in ("array", "asarray"):
            if not isinstance(arguments[0], DeviceArray) and np.ndim(arguments[0]):
                graphs.not_captured("an array is copied from the host")
            return DeviceArray(np.array(*map(_listed, arguments), **keywords))
        if dotted in _ARRAYS_ONLY:
            for array in _ARRAYS_ONLY[dotted](*arguments, **keywords):
                if not isinstance(array, DeviceArray):
                    raise TypeError(f"{dotted} of a {type(array).__name__}")
        if dotted in ("concatenate", "stack") and sends_addresses(arguments[0]):
            graphs.not_captured("addresses are copied from the host")
        if arguments and isinstance(arguments[0], np.generic) and dotted not in _NUMBERS_TOO:
            raise TypeError(f"{dotted} of the number {arguments[0]!r}")
        function: Any = DIFFERENT.get(dotted)
        if function is None:
            function = np
            for part in dotted.split("."):
                function = getattr(function, part)
        return called(function, arguments, keywords)


def sends_addresses(parts: Any) -> bool:
    """Return whether CuPy joins arrays in one kernel, which gets an array of their addresses: many small ones of one
    type.
    """
    arrays = list(parts)
    total = sum(array.nbytes for array in arrays)
    return len(arrays) > 8 and len({array.dtype for array in arrays}) == 1 and total < len(arrays) << 21


def _listed(value: Any) -> Any:
    return value.on_host if isinstance(value, DeviceArray) else value


class Ufunc:
    """A ufunc of CuPy."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, *operands: Any, out: DeviceArray | None = None) -> DeviceArray:
        result = call_ufunc(self.__name__, operands)
        return result if out is None else written(out, result)


@cache
def ufunc(name: str) -> Ufunc:
    """Return the same object at each call for a ufunc."""
    return Ufunc(name)


_RUNTIME = SimpleNamespace(**vars(cupy.cuda.runtime) | {"getDeviceCount": lambda: 2})
_CUDA = graphs.CUDA | cublas.CUDA | {"runtime": _RUNTIME}
_CLASSES: dict[str, Any] = {"ndarray": DeviceArray, "ufunc": Ufunc, **host_kernels.KINDS}


class Extras(ModuleType):
    """The twin of ``cupyx`` or of one of its modules."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        dotted = f"{self.__name__}.{name}"
        if dotted in ("cupyx.scipy", "cupyx.scipy.linalg"):
            return Extras(dotted)
        real = cupyx_function(dotted)
        if dotted == "cupyx.errstate":
            return lambda **keywords: contextlib.nullcontext(inspect.signature(real).bind(**keywords))
        if dotted == "cupyx.empty_pinned":
            return np.empty
        function = DIFFERENT[dotted]

        def call(*arguments: Any, **keywords: Any) -> Any:
            if dotted.startswith("cupyx.scipy.linalg."):
                graphs.not_captured("cuBLAS is called")
            if real is not None:
                inspect.signature(real).bind(*arguments, **keywords)
            return called(function, arguments, keywords)

        return call


@contextlib.contextmanager
def twin() -> Iterator[None]:
    """Make ``import cupy`` find the twin while the context is entered."""
    cupyx = Extras("cupyx")
    modules = {
        "cupy": Namespace(cupy),
        "cupyx": cupyx,
        "cupyx.scipy": cupyx.scipy,
        "cupyx.scipy.linalg": cupyx.scipy.linalg,
        "cuda.pathfinder": cublas_library.PATHFINDER,
        "cudnn": cudnn.CUDNN,
    }
    cdll = mock.patch("ctypes.CDLL", cublas_library.loaded)
    with _imported_as(modules), cdll, np.errstate(all="ignore"):
        yield


@contextlib.contextmanager
def _imported_as(modules: Mapping[str, Any]) -> Iterator[None]:
    """Replace these modules in ``sys.modules``. Other modules imported meanwhile stay, since some cannot be loaded
    twice.
    """
    before = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module


def to_device(value: Any) -> Any:
    """Return nested arguments with device arrays, as ``main`` takes them."""
    if isinstance(value, builtins.tuple | list):
        return type(value)(map(to_device, value))
    return DeviceArray(graphs.work("to the device", lambda: held(np.array(value)))) if value is not None else None


def to_host(value: Any) -> Any:
    if isinstance(value, builtins.tuple | list):
        return type(value)(map(to_host, value))
    if value is None:
        return None
    if not isinstance(value, DeviceArray):
        raise TypeError(f"main returned a {type(value).__name__}, no array of CuPy")
    return fetched(value)
