"""Narrow floats for loops of Numba, which has none: arrays hold their bits, numbers are
float32 and are rounded after every step.
"""

from typing import Any

import numpy as np

from .elements import element


@element
def bf16(x: Any) -> Any:
    """Return the bfloat16 nearest to ``x`` as a float32, ties to even."""
    bits = np.float32(x).view(np.uint32)
    rounded = np.uint32((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000)
    return np.float32(np.nan) if np.isnan(x) else rounded.view(np.float32)


@element
def float_of_bf16(bits: int) -> Any:
    """Return the number whose bits as a bfloat16 are given."""
    return np.uint32(bits << 16).view(np.float32)


@element
def bits_of_bf16(x: Any) -> Any:
    """Return the bits of a number that is a bfloat16."""
    return np.uint16(np.float32(x).view(np.uint32) >> 16)


@element
def f16(x: Any) -> Any:
    """Return the float16 nearest to ``x`` as a float32, ties to even."""
    size = np.float32(abs(x))
    bits = size.view(np.uint32)
    rounded = np.uint32((bits + 0xFFF + (bits >> 13 & 1)) & 0xFFFFE000)
    normal = rounded.view(np.float32)
    normal = normal if normal < np.float32(65536) else np.float32(np.inf)
    # Float32 next to 0.5 are as far from each other as the smallest float16.
    small = (size + np.float32(0.5)) - np.float32(0.5)
    result = small if size < np.float32(6.1035156e-05) else normal
    return np.float32(np.nan) if np.isnan(x) else np.copysign(result, np.float32(x))


@element
def float_of_f16(bits: int) -> Any:
    """Return the number whose bits as a float16 are given."""
    rest = np.uint32((bits & 0x7FFF) << 13)
    size = rest.view(np.float32) * np.float32(2.0**112)
    is_finite = rest < np.uint32(0x0F800000)
    bits_of_size = np.float32(size).view(np.uint32)
    bare = bits_of_size if is_finite else np.uint32(rest | 0x7F800000)
    return np.uint32(bare | (bits & 0x8000) << 16).view(np.float32)


@element
def bits_of_f16(x: Any) -> Any:
    """Return the bits of a number that is a float16."""
    bits = np.float32(x).view(np.uint32)
    size = abs(np.float32(x))
    sign = bits >> 16 & 0x8000
    normal = ((bits & 0x7FFFFFFF) - 0x38000000) >> 13
    small = np.int64(size * np.float32(2.0**24)) if size < np.float32(1) else 0
    kept = small if size < np.float32(6.1035156e-05) else normal
    kept = kept if size < np.float32(np.inf) else 0x7C00
    return np.uint16(sign | (0x7E00 if np.isnan(x) else kept))


@element
def odd_f32(x: float) -> np.float32:
    """Return a float64 truncated to float32, whose last bit tells whether anything was
    cut off: the result rounds to narrower floats as ``x`` does.
    """
    near = np.float32(x)
    bits = near.view(np.uint32)
    cut = np.uint32(bits - 1 if abs(np.float64(near)) > abs(x) else bits)
    is_exact = np.float64(cut.view(np.float32)) == x
    return (
        near
        if np.isnan(x)
        else np.uint32(cut if is_exact else cut | 1).view(np.float32)
    )
