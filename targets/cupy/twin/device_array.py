"""Arrays of the twin: NumPy arrays with CuPy's methods, loops and refusals."""

from __future__ import annotations

import ast
import linecache
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import cupy
import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from . import graphs
from .cublas import address_of
from .differences import DIFFERENT, KEEP_SUBNORMALS, astype, flushed
from .installed import MAY_WAIT, WAITS

_SCALARS = (bool, int, float, complex, np.generic)
_DATA = frozenset("dtype shape ndim size itemsize nbytes strides flags".split())
_VIEWS = frozenset("T mT real imag".split())


class HiddenWait(AssertionError):
    """The host would wait for the device in a place where a reader of the code cannot see it."""


def _comparison(ufunc: np.ufunc) -> Any:
    """Return an operator that accepts 0-d NumPy arrays as numbers, which CuPy's other operators do not."""

    def compare(self: DeviceArray, other: Any) -> Any:
        return ufunc(self, other.item() if isinstance(other, np.ndarray) and not other.ndim else other)

    return compare


class DeviceArray(NDArrayOperatorsMixin):
    """An array like ``cupy.ndarray``, whose values only the device can read."""

    __slots__ = ("_host",)
    _host: np.ndarray

    def __init__(self, host: Any) -> None:
        object.__setattr__(self, "_host", np.asarray(host))
        supported(self._host.dtype)

    @property
    def on_host(self) -> np.ndarray:
        """The values, for tests and for the twin."""
        return self._host

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(cupy.ndarray, name):
            raise AttributeError(f"cupy.ndarray has no {name}")
        if name in WAITS and not any(function in MAY_WAIT for function in functions()):
            raise HiddenWait(f".{name} waits for the device")
        if name == "get":
            return partial(fetched, self)
        if name in _DATA:
            return getattr(self._host, name)
        if name == "data":
            return SimpleNamespace(ptr=address_of(self._host))
        if name in _VIEWS:
            return DeviceArray(getattr(self._host, name))
        if name == "astype":
            return lambda dtype, copy=True: DeviceArray(
                graphs.work(f"astype to {dtype}", lambda: astype(self._host, np.dtype(dtype), copy), [self._host])
            )
        return _method(name, self)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in ("real", "imag"):
            raise AttributeError(f"{name} of a cupy.ndarray cannot be set")
        new = operand(value)
        graphs.work(f"set {name}", lambda: setattr(self._host, name, new), [new], [getattr(self._host, name)])

    def __getitem__(self, index: Any) -> DeviceArray:
        places = _index(index, reads=True)
        return DeviceArray(graphs.work("getitem", lambda: _part(self._host, places), [self._host, places]))

    def __setitem__(self, index: Any, value: Any) -> None:
        new = operand(value)
        places = _index(index, reads=isinstance(new, np.ndarray) and new.size > 1)
        graphs.work("setitem", lambda: self._host.__setitem__(places, new), [new, places], [self._host[places]])

    __lt__, __le__, __gt__, __ge__ = map(_comparison, (np.less, np.less_equal, np.greater, np.greater_equal))
    __eq__, __ne__ = map(_comparison, (np.equal, np.not_equal))
    __hash__ = None  # type: ignore[assignment]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **keywords: Any) -> Any:
        (out,) = keywords.pop("out", (None,))
        if method != "__call__" or keywords:
            raise TypeError(f"cupy does not know {ufunc.__name__}.{method} with {keywords}")
        result = call_ufunc(ufunc.__name__, operands)
        return result if out is None else written(out, result)

    def __array_function__(self, func: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        if not all(issubclass(kind, DeviceArray | np.generic) for kind in types):
            return NotImplemented
        return getattr(import_module("cupy"), func.__name__)(*arguments, **keywords)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        host = self._host
        data, strides = (address_of(host), False), None if host.flags.c_contiguous else host.strides
        return {"shape": host.shape, "typestr": host.dtype.str, "data": data, "strides": strides, "version": 3}

    def __len__(self) -> int:
        return len(self._host)

    def __iter__(self) -> Iterator[DeviceArray]:
        return (self[k] for k in range(len(self)))

    def __bool__(self) -> bool:
        caller = sys._getframe(1)
        lines = linecache.getlines(caller.f_code.co_filename)
        line = "".join(lines[caller.f_lineno - 1 : caller.f_lineno]).strip()
        is_visible = line.startswith(("while ", "if ", "elif ")) and "return" not in line
        if not is_visible and not _is_in_condition("".join(lines), caller.f_lineno):
            raise HiddenWait(f"waits for the device: {line}")
        graphs.not_captured("the host asks for a value")
        return bool(self._host)

    def __int__(self) -> int:
        caller = sys._getframe(1)
        line = linecache.getline(caller.f_code.co_filename, caller.f_lineno).strip()
        is_bound = "int(" in line and _OF_BOUND.match(line)
        if not is_bound and not any(frame in MAY_WAIT for frame in functions()):
            raise HiddenWait("int() waits for the device")
        graphs.not_captured("the host asks for a value")
        return int(self._host)

    def _waits(self, *_: Any) -> Any:
        raise HiddenWait("this waits for the device")

    __array__ = __float__ = __complex__ = __index__ = _waits


_OF_BOUND = re.compile(r"for |\w+ = int\(")  # the line with the bound of a loop


def _is_in_condition(text: str, line: int) -> bool:
    """Return whether a line is part of a condition that spans several lines."""
    conditions = (node.test for node in ast.walk(ast.parse(text)) if isinstance(node, ast.While | ast.If))
    return any(each.lineno <= line <= (each.end_lineno or 0) > each.lineno for each in conditions)


def functions() -> Iterator[str]:
    """Yield the names of the running functions, innermost first."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        frame = frame.f_back
        yield frame.f_code.co_name


def supported(dtype: np.dtype[Any]) -> None:
    """Raise CuPy's exception for a dtype that it lacks."""
    from cupy._core import _scalar

    _scalar.get_typename(dtype)


def operand(value: Any) -> Any:
    """Return the host's array or number of an operand. Raises TypeError for a value that CuPy does not accept."""
    if isinstance(value, DeviceArray):
        return value.on_host
    if not isinstance(value, _SCALARS):
        raise TypeError(f"Unsupported type {type(value)}")
    return value


def _index(index: Any, reads: bool) -> Any:
    """Return an index with the host's arrays. Raises TypeError, IndexError for an index that CuPy refuses, and
    HiddenWait for bounds on the device, or for a mask if ``reads``.
    """
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
    """Return the result of a CuPy ufunc, computed in the loop that CuPy chooses for the operands."""
    values = [operand(each) for each in operands]
    if name == "matmul":
        if not all(value.dtype.kind in "iu" for value in values):
            graphs.not_captured("cuBLAS is called")
        return DeviceArray(graphs.work(name, lambda: _matmul(*values), values))
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

    return DeviceArray(graphs.work(f"{name} of {loop.in_types}", compute, values))


def written(out: DeviceArray, result: DeviceArray) -> DeviceArray:
    graphs.work("written", lambda: out.on_host.__setitem__(..., result.on_host), writes=[])
    return out


def _matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a product; narrow floats are summed in float32. Raises TypeError for products that CuPy refuses or
    rounds.
    """
    dtype = np.result_type(a.dtype, b.dtype)
    if dtype.name == "bfloat16" and max(a.ndim, b.ndim) > 2:
        raise TypeError("a batched product of bfloat16 is not supported")
    if dtype.itemsize == 2 and dtype.kind not in "iu" and a.shape[:-1] + b.shape[1:] == (1, 1):
        raise TypeError(f"a product of {dtype} that is one number")
    if dtype.kind == "b":
        raise TypeError("a product of bool goes through integers")
    wide = np.float32 if dtype.itemsize == 2 and dtype.kind not in "iu" else dtype
    product: np.ndarray = np.matmul(a.astype(wide), b.astype(wide)).astype(dtype)
    return product


def fetched(array: DeviceArray, out: np.ndarray | None = None, blocking: bool = True) -> np.ndarray:
    """Return the array on the host: a copy in ``out``, which is there after the next wait unless ``blocking``."""
    graphs.not_captured("an array is copied to the host")
    if out is None:
        return array.on_host
    if (out.dtype, out.shape) != (array.dtype, array.shape) or not out.flags.c_contiguous:
        raise TypeError("an array of another type, shape or order")
    copied = array.on_host.copy()
    graphs.CUDA["get_current_stream"]().copies.append(lambda: np.copyto(out, copied))
    if blocking:
        graphs.CUDA["get_current_stream"]().synchronize()
    return out


def _unwrapped(value: Any) -> Any:
    """Return a nest of arguments with the host's arrays; other values stay. Raises TypeError for NumPy arrays."""
    if isinstance(value, list | tuple):
        return type(value)(map(_unwrapped, value))
    if isinstance(value, np.ndarray):
        raise TypeError("Unsupported type numpy.ndarray: an array on the host")
    return value.on_host if isinstance(value, DeviceArray) else value


def _part(host: np.ndarray, places: Any) -> np.ndarray:
    """Return the elements at an index. A single element is a view, as in CuPy."""
    found = host[places]
    if isinstance(found, np.ndarray):
        return found
    element: np.ndarray = host[(*places, ...) if isinstance(places, tuple) else (places, ...)]
    return element


def wrapped(value: Any) -> Any:
    """Return a result with device arrays in place of the host's."""
    if isinstance(value, np.ndarray | np.generic):
        return DeviceArray(value)
    if isinstance(value, tuple | list):
        return tuple(map(wrapped, value))
    return value


def called(function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    named = {key: _unwrapped(value) for key, value in keywords.items()}
    plain = tuple(map(_unwrapped, arguments))
    name = getattr(function, "__name__", "")
    return wrapped(graphs.work(name, lambda: function(*plain, **named), [plain, [*named.values()]]))


def _method(name: str, array: DeviceArray) -> Callable[..., Any]:
    function = DIFFERENT.get(f"ndarray.{name}")

    def call(*arguments: Any, **keywords: Any) -> Any:
        if name in ("dot",):
            raise TypeError(f"{name} is not used")
        if function is not None:
            return called(function, (array, *arguments), keywords)
        return called(getattr(np.ndarray, name), (array, *arguments), keywords)

    return call
