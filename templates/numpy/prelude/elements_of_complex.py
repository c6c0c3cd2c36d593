"""Functions of one complex number for loops of Numba, whose own are not HLO's."""

from typing import Any

import numpy as np

from .elements import element
from .mathematics_f32 import cos_f32, exp_f32, sin_f32
from .mathematics_f64 import exp_f64


@element
def complex_divide(a: Any, b: Any) -> Any:
    """Return `a / b`; where `b` is 0, each part of `a` divided by `b.real`.

    By Smith's method, as NumPy: Algorithm 116, Communications of the ACM 5 (1962).
    """
    if b == 0:
        return complex(a.real / b.real, a.imag / b.real)
    if abs(b.real) >= abs(b.imag):
        ratio = b.imag / b.real
        size = b.real + b.imag * ratio
        real, imag = a.real + a.imag * ratio, a.imag - a.real * ratio
    else:
        ratio = b.real / b.imag
        size = b.imag + b.real * ratio
        real, imag = a.real * ratio + a.imag, a.imag * ratio - a.real
    return complex(real / size, imag / size)


@element
def complex_abs_c64(z: Any) -> np.float32:
    """Return the magnitude; NaN if a part is NaN."""
    real, imag = np.float64(z.real), np.float64(z.imag)
    return np.float32(np.sqrt(real * real + imag * imag))


@element
def complex_abs_c128(z: Any) -> float:
    """Return the magnitude; NaN if a part is NaN."""
    return abs(z) if z == z else np.nan


@element
def complex_of_size(size: Any, half: Any, cos: Any, sin: Any) -> Any:
    """Return a number by its magnitude, the square of `half`, and its angle."""
    is_huge = size == np.inf
    real = half * cos * half if is_huge else size * cos
    return complex(real, half * sin * half if is_huge else size * sin)


@element
def complex_exp_c64(z: Any) -> Any:
    """Return `exp(z)`, real for real numbers, with overflow only in the result."""
    x, y = z.real, z.imag
    half = exp_f32(x * np.float32(0.5))
    made = complex_of_size(exp_f32(x), half, cos_f32(y), sin_f32(y))
    return complex(made.real, np.float32(0)) if y == 0 else made


@element
def complex_exp_c128(z: Any) -> Any:
    """Return `exp(z)`, real for real numbers, with overflow only in the result."""
    x, y = z.real, z.imag
    made = complex_of_size(exp_f64(x), exp_f64(x * 0.5), np.cos(y), np.sin(y))
    return complex(made.real, 0.0) if y == 0 else made
