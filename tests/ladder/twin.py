"""A twin of CuPy on a machine without a GPU: NumPy underneath, CuPy's names, types and refusals on top.

Emitted modules run on it unchanged. Ufuncs choose the loop that the installed CuPy would choose, by its own tables.
What CuPy would refuse or silently wait for fails here: names, signatures and loops that it does not have, NumPy
arrays, and whatever brings a value back to the host elsewhere than in the head of a ``while`` or an ``if``. Where
CuPy computes something else than NumPy, so does the twin. Kernels are compiled for the host (``host_kernels``).
"""

from __future__ import annotations

import builtins
import contextlib
import inspect
import linecache
import sys
from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType
from typing import Any
from unittest import mock

import cupy
import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from xla2py.targets.cupy import held
from xla2py.tests.ladder import graphs, host_kernels
from xla2py.tests.ladder.differences import DIFFERENT, KEEP_SUBNORMALS, astype, flushed
from xla2py.tests.ladder.static import VISIBLE, WAITS, cupyx_function
from xla2py.transpile.equivalence.comparison import flatten
from xla2py.transpile.equivalence.tasks import map_arrays
from xla2py.transpile.hlo.carriers import as_declared, carried

_SCALARS = (bool, int, float, complex, np.generic)
_DATA = frozenset("dtype shape ndim size itemsize nbytes strides".split())
_VIEWS = frozenset("T mT real imag".split())


class HiddenWait(AssertionError):
    """The host would wait for the device, and no reader of the code could tell."""


class DeviceArray(NDArrayOperatorsMixin):
    """Like ``cupy.ndarray``: an array that only the device can look into."""

    __slots__ = ("_host",)

    def __init__(self, host: Any) -> None:
        object.__setattr__(self, "_host", np.asarray(host))
        supported(self._host.dtype)

    @property
    def on_host(self) -> np.ndarray:
        """The values, for tests."""
        return self._host

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(cupy.ndarray, name):
            raise AttributeError(f"cupy.ndarray has no {name}")
        if name in WAITS and not any(function in VISIBLE for function in _functions()):
            raise HiddenWait(f".{name} waits for the device")
        if name == "get":
            return lambda: to_host(self)
        if name in _DATA:
            return getattr(self._host, name)
        if name in _VIEWS:
            return DeviceArray(getattr(self._host, name))
        if name == "astype":
            return lambda dtype, copy=True: DeviceArray(
                graphs.work(f"astype to {dtype}", lambda: astype(self._host, np.dtype(dtype), copy))
            )
        return _method(name, self)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in ("real", "imag"):
            raise AttributeError(f"{name} of a cupy.ndarray cannot be set")
        new = operand(value)
        graphs.work(f"set {name}", lambda: setattr(self._host, name, new))

    def __getitem__(self, index: Any) -> DeviceArray:
        places = _index(index, reads=True)
        return DeviceArray(graphs.work("getitem", lambda: self._host[places]))

    def __setitem__(self, index: Any, value: Any) -> None:
        new = operand(value)
        places = _index(index, reads=isinstance(new, np.ndarray) and new.size > 1)
        graphs.work("setitem", lambda: self._host.__setitem__(places, new))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **keywords: Any) -> Any:
        (out,) = keywords.pop("out", (None,))
        if method != "__call__" or keywords:
            raise TypeError(f"cupy does not know {ufunc.__name__}.{method} with {keywords}")
        result = call_ufunc(ufunc.__name__, operands)
        return result if out is None else _written(out, result)

    def __len__(self) -> int:
        return len(self._host)

    def __iter__(self) -> Iterator[DeviceArray]:
        return (self[k] for k in range(len(self)))

    def __bool__(self) -> bool:
        caller = sys._getframe(1)
        line = linecache.getline(caller.f_code.co_filename, caller.f_lineno).strip()
        if not line.startswith(("while ", "if ", "elif ")) or "return" in line:
            raise HiddenWait(f"waits for the device: {line}")
        graphs.not_captured("the host asks for a value")
        return bool(self._host)

    def __int__(self) -> int:
        if not any(frame in VISIBLE for frame in _functions()):
            raise HiddenWait("int() waits for the device")
        graphs.not_captured("the host asks for a value")
        return int(self._host)

    def _waits(self, *_: Any) -> Any:
        raise HiddenWait("this waits for the device")

    __array__ = __float__ = __complex__ = __index__ = _waits


def _functions() -> Iterator[str]:
    """The names of the functions that are running, innermost first."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        frame = frame.f_back
        yield frame.f_code.co_name


def supported(dtype: np.dtype[Any]) -> None:
    """Raise as CuPy does for a dtype that it does not have."""
    from cupy._core import _scalar

    _scalar.get_typename(dtype)


def operand(value: Any) -> Any:
    """The host's array or number for what may be an operand."""
    if isinstance(value, DeviceArray):
        return value.on_host
    if not isinstance(value, _SCALARS):
        raise TypeError(f"Unsupported type {type(value)}")
    return value


def _index(index: Any, reads: bool) -> Any:
    """Whole numbers, slices of such, and arrays of whole numbers."""
    parts = index if isinstance(index, tuple) else (index,)
    for part in parts:
        for bound in (part.start, part.stop, part.step) if isinstance(part, slice) else ():
            if isinstance(bound, DeviceArray):
                raise HiddenWait("slicing by a number on the device waits for it")
        if isinstance(part, np.ndarray):
            raise TypeError("an index on the host")
        if isinstance(part, DeviceArray) and part.dtype == bool and reads:
            raise HiddenWait("indexing by a mask waits for the count")
        if isinstance(part, DeviceArray) and part.dtype.kind not in "iub":
            raise IndexError(f"an index of {part.dtype}")
    return tuple(part.on_host if isinstance(part, DeviceArray) else part for part in parts)


def call_ufunc(name: str, operands: tuple[Any, ...]) -> DeviceArray:
    """The ufunc that CuPy calls so, in the loop that CuPy chooses for the operands."""
    values = [operand(each) for each in operands]
    if name == "matmul":
        if not all(value.dtype.kind in "iu" for value in values):
            graphs.not_captured("cuBLAS is called")
        return DeviceArray(graphs.work(name, lambda: _matmul(*values)))
    real = getattr(cupy, "true_divide" if name == "divide" else name)
    dtypes = tuple(np.asarray(value).dtype for value in values)
    weak = tuple(type(value) if type(value) in (int, float, complex) else False for value in values)
    if all(weak):
        weak = (False,) * len(weak)
    loop = real._ops._guess_routine_from_in_types(dtypes, weak)
    if loop is None:
        raise TypeError(f"cupy.{name} has no loop for {dtypes}")
    function, flushes = DIFFERENT.get(name, getattr(np, name)), name not in KEEP_SUBNORMALS

    def compute() -> np.ndarray:
        inputs = [np.asarray(value).astype(dtype) for value, dtype in zip(values, loop.in_types, strict=True)]
        result = np.asarray(function(*map(flushed, inputs)) if flushes else function(*inputs))
        return (flushed(result) if flushes else result).astype(loop.out_types[0], copy=False)

    return DeviceArray(graphs.work(f"{name} of {loop.in_types}", compute))


def _written(out: DeviceArray, result: DeviceArray) -> DeviceArray:
    graphs.work("written", lambda: out.on_host.__setitem__(..., result.on_host))
    return out


def _matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Narrow floats are summed in float32; a batch of bfloat16 is refused."""
    dtype = np.result_type(a.dtype, b.dtype)
    if dtype.name == "bfloat16" and max(a.ndim, b.ndim) > 2:
        raise TypeError("a batched product of bfloat16 is not supported")
    if dtype.kind == "b":
        raise TypeError("a product of bool goes through integers")
    wide = np.float32 if dtype.itemsize == 2 and dtype.kind not in "iu" else dtype
    return np.matmul(a.astype(wide), b.astype(wide)).astype(dtype)


def _unwrapped(value: Any) -> Any:
    """Arrays become the host's; lists and tuples are gone through; dtypes, axes and texts stay."""
    if isinstance(value, list | tuple):
        return type(value)(map(_unwrapped, value))
    if isinstance(value, np.ndarray):
        raise TypeError("Unsupported type numpy.ndarray: an array on the host")
    return value.on_host if isinstance(value, DeviceArray) else value


def wrapped(value: Any) -> Any:
    """What a function gives back, on the device."""
    if isinstance(value, np.ndarray | np.generic):
        return DeviceArray(value)
    if isinstance(value, tuple | list):
        return tuple(map(wrapped, value))
    return value


def _call(function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    named = {key: _unwrapped(value) for key, value in keywords.items()}
    plain = tuple(map(_unwrapped, arguments))
    return wrapped(graphs.work(getattr(function, "__name__", ""), lambda: function(*plain, **named)))


def _method(name: str, array: DeviceArray) -> Callable[..., Any]:
    function = DIFFERENT.get(f"ndarray.{name}")

    def call(*arguments: Any, **keywords: Any) -> Any:
        if name in ("dot",):
            raise TypeError(f"{name} is not used")
        if function is not None:
            return _call(function, (array, *arguments), keywords)
        return _call(getattr(array.on_host, name), arguments, keywords)

    return call


# Functions of cupy that take arrays of their own library and nothing else, at these places.
_ARRAYS_ONLY: dict[str, Callable[..., Any]] = {
    "concatenate": lambda parts, *_, **__: parts,
    "stack": lambda parts, *_, **__: parts,
    "tensordot": lambda a, b, *_, **__: (a, b),
    "einsum": lambda subscripts, *operands: operands,
    "pad": lambda a, *_, **__: (a,),
    "take": lambda a, *_, **__: (a,),
    "sort": lambda a, *_, **__: (a,),
    "argsort": lambda a, *_, **__: (a,),
}


_NUMBERS_TOO = frozenset("where full full_like clip asarray array result_type".split())


class Namespace(ModuleType):
    """``cupy`` or a module in it, by the names of the real one."""

    def __init__(self, real: ModuleType) -> None:
        super().__init__(real.__name__)
        self._real = real
        self._dotted = real.__name__.removeprefix("cupy").removeprefix(".")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        dotted = f"{self._dotted}.{name}".lstrip(".")
        real = getattr(self._real, name)  # AttributeError where CuPy has no such name
        if name in WAITS and not any(frame in VISIBLE for frame in _functions()):
            raise HiddenWait(f"cupy.{dotted} waits for the device")
        if name == "asnumpy":
            return to_host
        if self._dotted == "cuda" and name in graphs.CUDA:
            return graphs.CUDA[name]
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
        return _call(function, arguments, keywords)


def sends_addresses(parts: Any) -> bool:
    """CuPy joins many small arrays of one type in one kernel, which is given their addresses in an array."""
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
        return result if out is None else _written(out, result)


@cache
def ufunc(name: str) -> Ufunc:
    """One object a ufunc."""
    return Ufunc(name)


_CLASSES: dict[str, Any] = {"ndarray": DeviceArray, "ufunc": Ufunc, **host_kernels.KINDS}


class Extras(ModuleType):
    """``cupyx`` and the modules in it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        dotted = f"{self.__name__}.{name}"
        if dotted in ("cupyx.scipy", "cupyx.scipy.linalg"):
            return Extras(dotted)
        real = cupyx_function(dotted)
        if dotted == "cupyx.errstate":
            return lambda **keywords: contextlib.nullcontext(inspect.signature(real).bind(**keywords))
        function = DIFFERENT[dotted]

        def call(*arguments: Any, **keywords: Any) -> Any:
            if dotted.startswith("cupyx.scipy.linalg."):
                graphs.not_captured("cuBLAS is called")
            if real is not None:
                inspect.signature(real).bind(*arguments, **keywords)
            return _call(function, arguments, keywords)

        return call


@contextlib.contextmanager
def twin() -> Iterator[None]:
    """``import cupy`` finds the twin."""
    cupyx = Extras("cupyx")
    modules = {
        "cupy": Namespace(cupy),
        "cupyx": cupyx,
        "cupyx.scipy": cupyx.scipy,
        "cupyx.scipy.linalg": cupyx.scipy.linalg,
    }
    with mock.patch.dict(sys.modules, modules), np.errstate(all="ignore"):
        yield


def on_twin(emitted: Any, arguments: Any, **host: Any) -> Any:
    """The results of ``main`` of a generated module on the twin, as host arrays of the program's types, in a nest.

    ``host`` are the functions that the program takes from its caller.
    """
    with twin():
        results = to_host(emitted.load().main(*to_device(arguments), **host))
    arrays = [array for _, array in flatten(results)]
    declared = as_declared(arrays, emitted.program.original.entry.root.shape)
    for array, own in zip(arrays, declared, strict=True):
        if array.dtype != own.dtype and (carried(own) != array).any():
            raise AssertionError(f"{array[carried(own) != array][0]} in {array.dtype} is no {own.dtype}")
    left = iter(declared)
    return map_arrays(lambda _: next(left), results)


def to_device(value: Any) -> Any:
    """Arguments as ``main`` takes them, nested in any way."""
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
    graphs.not_captured("an array is copied to the host")
    return value.on_host
