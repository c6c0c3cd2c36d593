"""Conversions of HLO for which `astype` and `view` do not suffice."""

import re

import numpy as np
from numpy.typing import DTypeLike


def to_int(x: np.ndarray, dtype: DTypeLike) -> np.ndarray:
    """Return the real numbers `x` truncated to integers: numbers that are too large
    saturate, NaN becomes 0.
    """
    dtype = np.dtype(dtype)
    width = int(dtype.name.strip("uint"))  # 4 for int4
    low, high = -(2 ** (width - 1)), 2 ** (width - 1) - 1
    if dtype.name.startswith("u"):
        low, high = 0, 2**width - 1
    with np.errstate(invalid="ignore"):
        is_plain = x.dtype.kind == "f" and x.size > 0
        if is_plain and low <= float(x.min()) and float(x.max()) < high:
            return x.astype(dtype)  # none is NaN
        # clip cannot tell high from high + 1
        number = np.nan_to_num(x.astype(np.float64), nan=0).clip(low, high)
        return np.where(number < high, number.astype(dtype), dtype.type(high))


def round_to(x: np.ndarray, dtype: DTypeLike) -> np.ndarray:
    """Return `x.astype(dtype)` of float64 for a type of ml_dtypes, rounded once.

    `astype` rounds to float32 first. Here that step truncates, and makes inexact
    numbers odd, so that they do not look like ties between two results.
    """
    with np.errstate(over="ignore"):
        near = x.astype(np.float32)
    cut = np.where(np.abs(near) > np.abs(x), np.nextafter(near, np.float32(0)), near)
    odd: np.ndarray = cut.view(np.uint32) | (cut != x)
    return odd.view(np.float32).astype(dtype)


def stochastic_convert(
    x: np.ndarray, random: np.ndarray, dtype: DTypeLike
) -> np.ndarray:
    """Return `to_int(x)`, but away from zero where the bits `random` lie below the
    fraction.
    """
    size = np.abs(x.astype(np.float64))
    whole = np.floor(size)
    with np.errstate(invalid="ignore"):  # inf - inf
        fraction = np.ldexp(size - whole, 8 * random.dtype.itemsize)
        rounded = whole + (random < fraction.astype(random.dtype))
    return to_int(np.copysign(rounded, x), dtype)


def bitcast_convert(x: np.ndarray, dtype: DTypeLike) -> np.ndarray:
    """Return the bytes of `x` as another type; another size adds or removes a last
    axis.
    """
    dtype = np.dtype(dtype)
    x = np.asarray(x, order="C")
    if dtype.itemsize < x.dtype.itemsize:
        return x[..., np.newaxis].view(dtype)
    bytes_as_dtype = x.view(dtype)
    is_wider = dtype.itemsize > x.dtype.itemsize
    return bytes_as_dtype[..., 0] if is_wider else bytes_as_dtype


def bitcast_convert_packed(x: np.ndarray, dtype: DTypeLike) -> np.ndarray:
    """Return `bitcast_convert` to or from int4 and the like, packed with low bits
    first.
    """
    dtype = np.dtype(dtype)
    old_width, width = (int(re.findall(r"\d+", t.name)[0]) for t in (x.dtype, dtype))
    shape = x.shape[:-1] if width > old_width else x.shape
    if width < old_width:
        shape = (*shape, old_width // width)
    octets = np.asarray(x, order="C")[..., np.newaxis].view(np.uint8)
    bits = np.unpackbits(octets, axis=-1, bitorder="little")[..., :old_width]
    words = np.packbits(bits.reshape(*shape, width), axis=-1, bitorder="little")
    return words.view(dtype)[..., 0]
