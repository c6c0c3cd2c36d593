"""Complex functions of HLO where NumPy's are inexact or lose infinities."""

import numpy as np


def complex_from_parts(real: np.ndarray, imag: np.ndarray) -> np.ndarray:
    """Return the number `real + 1j * imag`, without the NaN of infinite parts."""
    shape = np.broadcast_shapes(real.shape, imag.shape)
    z = np.empty(shape, np.result_type(real.dtype, np.complex64))
    z.real, z.imag = real, imag
    return z


def complex_maximum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return `a` or `b`, by the real part alone; `a` where it is equal in both."""
    return np.where(a.real >= b.real, a, b)


def complex_minimum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return `a` or `b`, by the real part alone; `a` where it is equal in both."""
    return np.where(a.real <= b.real, a, b)


def complex_sign(z: np.ndarray) -> np.ndarray:
    """Return `z / abs(z)`, or `z` if it is 0; NaN for infinities, unlike `np.sign`."""
    with np.errstate(invalid="ignore"):
        size = np.abs(z)
        return np.where(z == 0, z, complex_from_parts(z.real / size, z.imag / size))


def complex_rsqrt(z: np.ndarray) -> np.ndarray:
    """Return `1 / np.sqrt(z)`, also for infinities."""
    with np.errstate(divide="ignore", invalid="ignore"):
        size = 1 / np.sqrt(np.abs(z))
        angle = np.arctan2(z.imag, z.real + 0) / -2  # + 0 makes -0 positive
        return complex_from_parts(size * np.cos(angle), size * np.sin(angle))


def complex_log1p(z: np.ndarray) -> np.ndarray:
    """Return `np.log1p(z)`, exact also where the magnitude of `1 + z` is near 1."""
    x, y = z.real, z.imag
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        rest = x * (2 + x) + y * y  # abs(1 + z) ** 2 - 1
        near = np.log1p(rest) / 2
        far = np.log(1 + z).real
    size = np.where(np.abs(rest) < 0.5, near, far)
    return complex_from_parts(size, np.arctan2(y, 1 + x))


def complex_atan2(y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the angle whose tangent is `y / x`; NaN where `x**2 + y**2` is 0 or
    overflows.
    """
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        angle: np.ndarray = -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))
    return angle


def complex_exp(z: np.ndarray) -> np.ndarray:
    """Return `np.exp(z)`, real for real numbers, with overflow only in the result."""
    with np.errstate(over="ignore", invalid="ignore"):
        size, half = np.exp(z.real), np.exp(z.real * 0.5)
        cos, sin = np.cos(z.imag), np.sin(z.imag)
        real = np.where(size == np.inf, half * cos * half, size * cos)
        imag = np.where(size == np.inf, half * sin * half, size * sin)
    return complex_from_parts(real, np.where(z.imag == 0, 0, imag))


def complex_expm1(z: np.ndarray) -> np.ndarray:
    """Return `np.expm1(z)`, real for real numbers also where it overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        result = np.expm1(z)
    return complex_from_parts(result.real, np.where(z.imag == 0, z.imag, result.imag))


def complex_logistic(z: np.ndarray) -> np.ndarray:
    """Return `1 / (1 + exp(-z))` without overflow."""
    is_right = z.real >= 0
    with np.errstate(invalid="ignore"):
        decay = np.exp(np.where(is_right, -z, z))
        return np.asarray(np.where(is_right, 1, decay) / (1 + decay))


def complex_square(z: np.ndarray) -> np.ndarray:
    """Return `z * z`, also where the parts or their squares are infinite."""
    x, y = z.real, z.imag
    with np.errstate(over="ignore", invalid="ignore"):
        is_zero = np.isfinite(x) & (np.abs(x) == np.abs(y))
        real = np.where(is_zero, 0, (x - y) * (x + y))
        return complex_from_parts(real, x * y * 2)


def complex_sqrt(z: np.ndarray) -> np.ndarray:
    """Return `np.sqrt(z)`; -0 counts as 0, which is above the branch cut."""
    root: np.ndarray = np.sqrt(z + 0)
    return root


def complex_sinh(z: np.ndarray) -> np.ndarray:
    """Return `np.sinh(z)` as a difference of exponentials, real for real numbers."""
    log_2 = 0.6931471805599453
    sinh: np.ndarray = complex_exp(z - log_2) - complex_exp(-log_2 - z)
    return sinh


def complex_cosh(z: np.ndarray) -> np.ndarray:
    """Return `np.cosh(z)` as a sum of exponentials, real for real numbers."""
    log_2 = 0.6931471805599453
    cosh: np.ndarray = complex_exp(z - log_2) + complex_exp(-log_2 - z)
    return cosh


def complex_logaddexp(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return `log(exp(a) + exp(b))`, with an angle from -pi to pi."""
    is_larger = np.where(a.real == b.real, a.imag > b.imag, a.real > b.real)
    larger = np.where(is_larger, a, b)
    total = larger + complex_log1p(complex_exp(a + b - larger * 2))
    angle = np.mod(total.imag + np.pi, 2 * np.pi) - np.pi
    return complex_from_parts(total.real, angle)


def complex_sin(z: np.ndarray) -> np.ndarray:
    """Return `np.sin(z)`; NaN in both parts where the real part is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(np.isfinite(z.real), np.sin(z), complex("nan+nanj"))


def complex_cos(z: np.ndarray) -> np.ndarray:
    """Return `np.cos(z)`; NaN in both parts where the real part is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(np.isfinite(z.real), np.cos(z), complex("nan+nanj"))


def complex_arcsin(z: np.ndarray) -> np.ndarray:
    """Return `np.arcsin(z)`; an imaginary part of -0 is 0, above the branch cuts."""
    angle: np.ndarray = np.arcsin(complex_from_parts(z.real, z.imag + 0))
    return angle


def complex_arccos(z: np.ndarray) -> np.ndarray:
    """Return `np.arccos(z)`; an imaginary part of -0 is 0, above the branch cuts."""
    angle: np.ndarray = np.arccos(complex_from_parts(z.real, z.imag + 0))
    return angle


def complex_arcsinh(z: np.ndarray) -> np.ndarray:
    """Return `np.arcsinh(z)`; a real part of -0 is 0, right of the branch cuts."""
    result: np.ndarray = np.arcsinh(complex_from_parts(z.real + 0, z.imag))
    return result


def complex_arccosh(z: np.ndarray) -> np.ndarray:
    """Return `np.arccosh(z)`; an imaginary part of -0 is 0, above the branch cut."""
    result: np.ndarray = np.arccosh(complex_from_parts(z.real, z.imag + 0))
    return result
