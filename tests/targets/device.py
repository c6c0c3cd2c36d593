"""A stand-in for CuPy on a machine without a GPU: NumPy underneath, CuPy's names, types and refusals on top.

What CuPy would refuse or wait for fails here: names, signatures and ufunc loops that it does not have, NumPy arrays,
operands of different dtypes (its promotion is not NumPy's), and whatever brings a value back to the host.
"""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

import cupy
import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

_SCALARS = (bool, int, float, complex, np.generic)


class DeviceArray(NDArrayOperatorsMixin):
    """Like ``cupy.ndarray``: an array that only the device can look into."""

    def __init__(self, host: Any) -> None:
        self._host = np.asarray(host)
        supported(self._host.dtype)

    @property
    def on_host(self) -> np.ndarray:
        """The values, for tests."""
        return self._host

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(cupy.ndarray, name):
            raise AttributeError(f"cupy.ndarray has no {name}")
        assert name not in ("item", "get", "tolist"), "this waits for the device"
        value = getattr(self._host, name)
        if isinstance(value, np.ndarray):
            return DeviceArray(value)
        return _bound(name, value) if callable(value) else value

    def __getitem__(self, index: Any) -> DeviceArray:
        return DeviceArray(self._host[_index(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        self._host[_index(index)] = _operand(value)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **keywords: Any) -> Any:
        if method != "__call__" or keywords:
            raise TypeError(f"cupy does not know {ufunc.__name__}.{method} with {keywords}")
        return call_ufunc(ufunc.__name__, operands)

    def _waits(self, *_: Any) -> Any:
        raise AssertionError("this waits for the device")

    __array__ = __bool__ = __int__ = __float__ = __complex__ = __index__ = __iter__ = _waits


def supported(dtype: np.dtype[Any]) -> None:
    """Raise as CuPy does for a dtype that it does not have."""
    cupy.dtype(dtype)
    from cupy._core import _scalar

    _scalar.get_typename(dtype)


def _operand(value: Any) -> Any:
    if isinstance(value, DeviceArray):
        return value.on_host
    if not isinstance(value, _SCALARS):
        raise TypeError(f"Unsupported type {type(value)}")
    return value


def _index(index: Any) -> Any:
    """Whole numbers that the host knows, slices, and arrays of indices."""
    parts = index if isinstance(index, tuple) else (index,)
    for part in parts:
        for bound in (part.start, part.stop, part.step) if isinstance(part, slice) else (part,):
            assert not (isinstance(bound, DeviceArray) and bound.ndim == 0), "indexing by a number waits"
            assert not isinstance(bound, np.ndarray), "an index on the host"
    return tuple(part.on_host if isinstance(part, DeviceArray) else part for part in parts)


def call_ufunc(name: str, operands: tuple[Any, ...]) -> DeviceArray:
    """The ufunc that CuPy calls so, where it has a loop for the operands."""
    real = getattr(cupy, "true_divide" if name == "divide" else name)
    values = [_operand(operand) for operand in operands]
    dtypes = {np.asarray(value).dtype for value in values if isinstance(value, np.ndarray | np.generic)}
    assert len(dtypes) <= 1, f"{name} of {sorted(map(str, dtypes))} relies on promotion"
    if name != "matmul":
        (dtype,) = dtypes or {np.result_type(*values)}
        assert _has_loop(real, dtype), f"cupy.{name} has no loop for {dtype}"
    return DeviceArray(getattr(np, name)(*values))


def _has_loop(ufunc: Any, dtype: np.dtype[Any]) -> bool:
    """A loop of exactly the dtype; comparisons of integers may widen them."""
    loops = [loop.split("->") for loop in ufunc.types]
    widened = dtype.newbyteorder("=").kind.replace("i", "q").replace("u", "Q")
    exact, comparing = dtype.char * ufunc.nin, widened * ufunc.nin
    return any(inputs == exact or (inputs, result) == (comparing, "?") for inputs, result in loops)


def _bound(name: str, method: Any) -> Any:
    def call(*arguments: Any, **keywords: Any) -> DeviceArray:
        result = method(*map(_operand_or_static, arguments), **{k: _operand_or_static(v) for k, v in keywords.items()})
        return DeviceArray(result)

    return call


def _operand_or_static(value: Any) -> Any:
    """Arrays become the host's; lists and tuples are gone through; dtypes, axes and texts stay."""
    if isinstance(value, list | tuple):
        return type(value)(map(_operand_or_static, value))
    assert not isinstance(value, np.ndarray), "an array on the host"
    return value.on_host if isinstance(value, DeviceArray) else value


# Functions that take arrays of their own library and nothing else, at these places.
_ARRAYS_ONLY = {
    "concatenate": lambda parts, **_: parts,
    "stack": lambda parts, **_: parts,
    "tensordot": lambda a, b, **_: (a, b),
    "einsum": lambda subscripts, *operands: operands,
    "pad": lambda a, *_, **__: (a,),
    "take": lambda a, *_, **__: (a,),
}


class StandIn(ModuleType):
    """The module that ``import cupy`` finds."""

    def __init__(self) -> None:
        super().__init__("cupy")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        real = getattr(cupy, name)  # AttributeError where CuPy has no such name
        if isinstance(real, cupy.ufunc):
            return lambda *operands: call_ufunc(name, operands)
        if isinstance(real, type) or not callable(real):
            return real
        return lambda *arguments, **keywords: self._call(name, real, arguments, keywords)

    def _call(self, name: str, real: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> DeviceArray:
        inspect.signature(real).bind(*arguments, **keywords)
        if name in ("array", "asarray"):
            return DeviceArray(np.array(*arguments, **keywords))
        if name in _ARRAYS_ONLY:
            arrays = _ARRAYS_ONLY[name](*arguments, **keywords)
            assert all(isinstance(array, DeviceArray) for array in arrays), f"{name} of a scalar"
        if name == "where":
            kinds = {x.dtype for x in arguments[1:] if isinstance(x, DeviceArray | np.generic)}
            assert len(kinds) <= 1 and arguments[0].dtype == bool, f"where of {arguments} relies on promotion"
        positional = [_operand_or_static(argument) for argument in arguments]
        named = {key: _operand_or_static(value) for key, value in keywords.items()}
        return DeviceArray(getattr(np, name)(*positional, **named))
