"""The functions whose results differ between CuPy and NumPy, as the twin computes them, by name.

Source: CuPy 14.2, the bodies of its loops (``cupy.add._ops``), and NVRTC's compilation of C++ casts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cupy._sorting import search

_GARBAGE = 0x5A  # in place of results that are undefined in C++


def astype(x: np.ndarray, dtype: np.dtype[Any], copy: bool = True) -> np.ndarray:
    """Return an array cast as the device does it. Floats saturate at 32 or 64 bits and are truncated from there to
    narrower integers; subnormals are flushed between float32 and float64.
    """
    if x.dtype.char + dtype.char in ("fd", "df"):
        return flushed(flushed(x).astype(dtype))
    if x.dtype.kind in "iub" or dtype.kind not in "iu" or x.dtype.kind == "c":
        return x.astype(dtype, copy=copy)
    wide = np.dtype(f"{dtype.kind}{max(dtype.itemsize, 4)}")
    info = np.iinfo(wide)
    number = np.trunc(x.astype(np.float64))
    inside = np.clip(np.nan_to_num(number, nan=0.0), float(info.min), np.nextafter(float(info.max), 0))
    result: np.ndarray = inside.astype(wide)
    result[number >= float(info.max)] = info.max
    if wide.itemsize == 8:
        result[np.isnan(number)] = wide.type(1) << wide.type(63)
    return result.astype(dtype)


KEEP_SUBNORMALS = frozenset("signbit copysign nextafter".split())  # work on bits


def flushed(x: np.ndarray) -> np.ndarray:
    """Return an array with the subnormals of float32 and bfloat16 as signed zeros: CuPy compiles all kernels with
    ``-ftz=true``, and computes bfloat16 in float32.
    """
    if x.dtype.char not in "fE":
        return x
    is_subnormal = np.abs(x) < np.finfo(np.float32).tiny
    return np.where(is_subnormal, np.copysign(x.dtype.type(0), x), x) if is_subnormal.any() else x


def _shift(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a shift that gives garbage for amounts of the width or more, which are undefined in C++."""

    def shifted(x: np.ndarray, amount: np.ndarray) -> Any:
        inside = (amount >= 0) & (amount < 8 * x.dtype.itemsize)
        return np.where(inside, function(x, np.where(inside, amount, 0)), x.dtype.type(_GARBAGE))

    return shifted


def _floor_divide(a: np.ndarray, b: np.ndarray) -> Any:
    return np.where(b == 0, a.dtype.type(0), np.floor_divide(a, b)) if a.dtype.kind in "iu" else np.floor_divide(a, b)


def _fmod(a: np.ndarray, b: np.ndarray) -> Any:
    """Return the remainder of integers, computed in float64 as CuPy does."""
    if a.dtype.kind not in "iu":
        return np.fmod(a, b)
    return astype(np.fmod(a.astype(np.float64), b.astype(np.float64)), a.dtype)


def _clip(x: Any, low: Any = None, high: Any = None, **_: Any) -> Any:
    """Return clipped values. NaN bounds have no effect; if the bounds are in the wrong order, the lower one wins."""
    array = np.asarray(x)
    result = array if high is None else np.where(array > high, np.asarray(high).astype(array.dtype), array)
    return result if low is None else np.where(array < low, np.asarray(low).astype(array.dtype), result)


def _where(condition: Any, *choices: Any) -> Any:
    """Return a choice, in the result type of CuPy's loop; there is none for bfloat16."""
    if len(choices) != 2:
        raise AssertionError("where with one argument waits for the count")
    if isinstance(condition, bool):
        raise AttributeError("'bool' object has no attribute 'astype'")
    weak = [type(each) if type(each) in (int, float, complex) else False for each in choices]
    dtypes = (np.dtype(bool), *(np.asarray(each).dtype for each in choices))
    loop = search._where_ufunc._ops._guess_routine_from_in_types(dtypes, (False, *weak) if not all(weak) else None)
    return np.where(condition, *choices).astype(loop.out_types[0])


def _full(shape: Any, fill: Any, dtype: Any = None) -> Any:
    """Return a filled array. Zeros are written as zero bytes, so -0 loses its sign."""
    return np.full(shape, fill, dtype) if np.any(fill) else np.zeros(shape, dtype or np.asarray(fill).dtype)


def empty(shape: Any, dtype: Any = float, order: str = "C") -> np.ndarray:
    """Return an array of implausible values, so that a test finds a read of elements that were never written."""
    array: np.ndarray = np.empty(shape, dtype, order)  # type: ignore[call-overload]
    array.ravel(order="K").view(np.uint8)[...] = 0x7D if array.dtype != np.bool_ else 1
    return array


def _no_bfloat16(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def checked(x: Any, *arguments: Any, **keywords: Any) -> Any:
        if np.asarray(x).dtype.name == "bfloat16":
            raise TypeError(f"{name} of bfloat16 is not supported")
        return function(x, *arguments, **keywords)

    return checked


def _reduction(name: str) -> Callable[..., Any]:
    """Return a reduction that sums narrow floats in float32."""

    def reduce(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" and dtype is None:
            return getattr(np, name)(x.astype(np.float32), axis, np.float32, keepdims=keepdims).astype(x.dtype)
        return getattr(np, name)(x, axis, dtype, keepdims=keepdims)

    return reduce


def tensordot(a: np.ndarray, b: np.ndarray, axes: Any = 2) -> np.ndarray:
    """Return a product; narrow floats are summed in float32. Raises TypeError for a narrow float product that is one
    number, whose terms CuPy rounds one by one.
    """
    dtype = np.result_type(a.dtype, b.dtype)
    is_narrow = dtype.itemsize == 2 and dtype.kind not in "iu"
    wide = np.float32 if is_narrow else dtype
    result: np.ndarray = np.tensordot(a.astype(wide), b.astype(wide), axes)
    if is_narrow and result.size == 1:
        raise TypeError(f"a product of {dtype} that is one number")
    return result.astype(dtype)


def einsum(subscripts: str, *operands: np.ndarray) -> np.ndarray:
    """Return a product. Raises TypeError for bfloat16, which CuPy lacks."""
    if any(x.dtype.name == "bfloat16" for x in operands):
        raise TypeError("einsum of bfloat16 is not supported")
    result: np.ndarray = np.einsum(subscripts, *operands)
    return result


def _argsort(x: np.ndarray, axis: int = -1, kind: Any = None) -> Any:
    """Return the order of a sort. CuPy sorts float vectors by bits, so that NaN with a sign come first; in arrays of
    more axes all NaN come last.
    """
    order = np.argsort(x, axis, kind="stable")
    if x.ndim != 1 or x.dtype.kind != "f":
        return order
    first = np.isnan(x) & np.signbit(x)
    return np.concatenate([np.flatnonzero(first), order[~first[order]]])


def _sort(x: np.ndarray, axis: int = -1, kind: Any = None) -> Any:
    return np.take_along_axis(x, _argsort(x, axis), axis)


def _scatter(ufunc: np.ufunc, dtypes: str) -> Callable[..., Any]:
    def scatter(a: np.ndarray, slices: Any, value: Any) -> None:
        if a.dtype.char not in dtypes:
            raise TypeError(f"scatter of {a.dtype} is not supported")
        ufunc.at(a, slices, np.asarray(value).astype(a.dtype))

    return scatter


def _cholesky(a: np.ndarray) -> np.ndarray:
    """Return Cholesky factors without an exception: the factor of a matrix that is not positive definite is
    arbitrary.
    """
    result = np.empty_like(a)
    for index in np.ndindex(a.shape[:-2]):
        try:
            result[index] = np.linalg.cholesky(a[index])
        except np.linalg.LinAlgError:
            result[index] = np.tril(a[index]) * 0.25
    return result


def _triangular(a: np.ndarray, b: np.ndarray, trans: Any = 0, lower: bool = False, **options: Any) -> np.ndarray:
    """Return the solution of cuBLAS's trsm, which divides by zero as floats do."""
    matrix = np.tril(a) if lower else np.triu(a)
    if options.get("unit_diagonal"):
        diagonal = np.arange(a.shape[-1])
        matrix[..., diagonal, diagonal] = 1
    if trans in (1, "T", 2, "C"):
        matrix, lower = np.swapaxes(matrix.conj() if trans in (2, "C") else matrix, -1, -2), not lower
    x, n = b.astype(np.result_type(a, b)), a.shape[-1]
    for i in range(n) if lower else reversed(range(n)):
        x[..., i, :] /= matrix[..., i, i, None]
        rest = slice(i + 1, None) if lower else slice(None, i)
        x[..., rest, :] -= matrix[..., rest, i, None] * x[..., i, None, :]
    return x


DIFFERENT: dict[str, Callable[..., Any]] = {
    "left_shift": _shift(np.left_shift),
    "right_shift": _shift(np.right_shift),
    "floor_divide": _floor_divide,
    "fmod": _fmod,
    "clip": _clip,
    "where": _where,
    "empty": empty,
    "full": _full,
    "bitwise_count": lambda x: np.bitwise_count(np.abs(x)),
    "argmax": _no_bfloat16("argmax", np.argmax),
    "argmin": _no_bfloat16("argmin", np.argmin),
    "sort": _no_bfloat16("sort", _sort),
    "argsort": _no_bfloat16("argsort", _argsort),
    "cumsum": _no_bfloat16("cumsum", np.cumsum),
    "cumprod": _no_bfloat16("cumprod", np.cumprod),
    "tensordot": tensordot,
    "einsum": einsum,
    "ndarray.argmax": _no_bfloat16("argmax", np.argmax),
    "ndarray.argmin": _no_bfloat16("argmin", np.argmin),
    "ndarray.cumsum": _no_bfloat16("cumsum", np.cumsum),
    "ndarray.cumprod": _no_bfloat16("cumprod", np.cumprod),
    "ndarray.clip": _clip,
    "ndarray.sum": _reduction("sum"),
    "ndarray.prod": _reduction("prod"),
    "linalg.cholesky": _cholesky,
    "linalg.qr": lambda a, mode="reduced": tuple(np.linalg.qr(a, mode)),
    "cupyx.rsqrt": lambda x: 1 / np.sqrt(x),
    "cupyx.scatter_add": _scatter(np.add, "ilqILQefd"),
    "cupyx.scatter_max": _scatter(np.maximum, "ilqILQfd"),
    "cupyx.scatter_min": _scatter(np.minimum, "ilqILQfd"),
    "cupyx.scipy.linalg.solve_triangular": _triangular,
}
