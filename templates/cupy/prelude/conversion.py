"""Conversions of HLO for which `astype` and `view` do not suffice."""

from typing import Any

import cupy as cp

saturate = cp.ElementwiseKernel(
    "X x, Y kind",
    "Y number",
    """
    bool is_signed = Y(-1) < Y(0);
    Y most = Y(~0ull >> (64 - 8 * sizeof(Y) + is_signed)), least = is_signed ? Y(~most) : Y(0);
    double real = (double)x;
    double bound = is_signed ? -(double)least : 2 * (double)(most / 2 + 1);  // a power of two, one above the most
    number = real != real ? Y(0) : real >= bound ? most : real <= (double)least ? least : Y(real)
    """,
    "saturate",
)


def to_int(x: cp.ndarray, dtype: Any) -> cp.ndarray:
    """Return the real numbers `x` truncated to integers: numbers that are too large
    saturate, NaN becomes 0.
    """
    return saturate(x, cp.dtype(dtype).type(0), cp.empty(x.shape, dtype=dtype))


def stochastic_convert(x: cp.ndarray, random: cp.ndarray, dtype: Any) -> cp.ndarray:
    """Return `to_int(x)`, but away from zero where the bits `random` lie below the
    fraction.
    """
    size = cp.abs(x.astype(cp.float64))
    whole = cp.floor(size)
    fraction = to_int((size - whole) * 2.0 ** (8 * random.dtype.itemsize), random.dtype)
    rounded = whole + (random < fraction)
    return to_int(cp.copysign(rounded, x.astype(cp.float64)), dtype)


def bitcast_convert(x: cp.ndarray, dtype: Any) -> cp.ndarray:
    """Return the bytes of `x` as another type; another size adds or removes a last
    axis.
    """
    dtype = cp.dtype(dtype)
    x = cp.ascontiguousarray(x) if x.ndim else x
    if dtype.itemsize < x.dtype.itemsize:
        return x[..., None].view(dtype)
    bytes_as_dtype = x.view(dtype)
    is_wider = dtype.itemsize > x.dtype.itemsize
    return bytes_as_dtype[..., 0] if is_wider else bytes_as_dtype
