"""Fourier transforms and convolutions of small arrays in loops of Numba."""

import math
from typing import Any

import numpy as np
from numba import njit

from .elements import copy_into


@njit(error_model="numpy", nogil=True)
def roots_of_unity(n: int, sign: int) -> np.ndarray:
    """Return ``exp(sign * 2j * pi * k / n)`` for k < ``n``: products of two short
    tables.
    """
    roots = np.empty(n, np.complex128)
    step = 1
    while step * step < n:
        step += 1
    for start in range(0, n, step):
        angle = sign * 2 * math.pi * start / n
        roots[start] = complex(math.cos(angle), math.sin(angle))
    for k in range(1, min(step, n)):
        angle = sign * 2 * math.pi * k / n
        factor = complex(math.cos(angle), math.sin(angle))
        for at in range(k, n, step):
            roots[at] = roots[at - k] * factor
    return roots


@njit(error_model="numpy", fastmath={"contract"}, nogil=True)
def transform_line(x: np.ndarray, other: np.ndarray, roots: np.ndarray) -> np.ndarray:
    """Return the transform of ``x`` [n], in one of the two arrays given.

    Source: Stockham's algorithm of any radix, Van Loan, Computational Frameworks for
    the Fast Fourier Transform.
    """
    n, done, left = len(x), 1, len(x)
    while left > 1:
        radix = 2
        while left % radix:
            radix += 1
        left //= radix
        for q in range(left):
            if radix == 2:
                turn = roots[q * done]
                for k in range(done * q, done * (q + 1)):
                    a, b = x[k], x[k + done * left]
                    other[k + done * q] = a + b
                    other[k + done * (q + 1)] = (a - b) * turn
                continue
            for t in range(radix):
                turn, to = roots[q * t * done % n], done * (q * (radix - 1) + t)
                for k in range(done * q, done * (q + 1)):
                    total = x[k]
                    for r in range(1, radix):
                        part = roots[n // radix * (r * t % radix)]
                        total += x[k + done * left * r] * part
                    other[k + to] = total * turn
        x, other = other, x
        done *= radix
    return x


@njit(error_model="numpy", nogil=True)
def transform_lines(x: np.ndarray, sign: int) -> None:
    """Transform each row of ``x`` [m, n] complex128 in place, and divide by n where
    ``sign`` is 1.
    """
    n = x.shape[1]
    roots, line, other = (
        roots_of_unity(n, sign),
        np.empty(n, x.dtype),
        np.empty(n, x.dtype),
    )
    for row in range(len(x)):
        copy_into(line, x[row])
        made = transform_line(line, other, roots)
        for k in range(n):
            x[row, k] = made[k] / n if sign > 0 else made[k]


@njit(error_model="numpy", nogil=True)
def lines_of(x: np.ndarray, length: int) -> np.ndarray:
    """Return the rows of ``x`` [.., n] as complex128, with zeros up to a length."""
    rows = np.ascontiguousarray(x).reshape((-1, x.shape[-1]))
    lines = np.zeros((len(rows), length), np.complex128)
    for row in range(len(rows)):
        for k in range(rows.shape[1]):
            lines[row, k] = rows[row, k]
    return lines


@njit(error_model="numpy", cache=True, nogil=True)
def small_fft(x: np.ndarray, sign: int) -> np.ndarray:
    """Return ``np.fft.fft`` if ``sign`` is -1, else ``ifft``, along the last axis."""
    lines = lines_of(x, x.shape[-1])
    transform_lines(lines, sign)
    return lines.astype(x.dtype).reshape(x.shape)


@njit(error_model="numpy", cache=True, nogil=True)
def small_rfft(x: np.ndarray, kept: int, dtype: Any) -> np.ndarray:
    """Return ``np.fft.rfft`` along the last axis, which gives n // 2 + 1 numbers."""
    lines = lines_of(x, x.shape[-1])
    transform_lines(lines, -1)
    return lines[:, :kept].astype(dtype).reshape((*x.shape[:-1], kept))


@njit(error_model="numpy", cache=True, nogil=True)
def small_irfft(x: np.ndarray, length: int, dtype: Any) -> np.ndarray:
    """Return ``np.fft.irfft`` along the last axis."""
    lines, given = lines_of(x, length), x.shape[-1]
    for row in range(len(lines)):
        lines[row, 0] = lines[row, 0].real
        for k in range(given, length):
            lines[row, k] = lines[row, length - k].conjugate()
        if length % 2 == 0:
            lines[row, length // 2] = lines[row, length // 2].real
    transform_lines(lines, 1)
    return lines.real.astype(dtype).reshape((*x.shape[:-1], length))


@njit(error_model="numpy", cache=True, nogil=True)
def small_fft2(x: np.ndarray, sign: int) -> np.ndarray:
    """Return ``np.fft.fft2`` where ``sign`` is -1, else ``ifft2``, along the last two
    axes.
    """
    m, n = x.shape[-2:]
    lines = lines_of(x, n)
    transform_lines(lines, sign)
    columns = np.ascontiguousarray(lines.reshape((-1, m, n)).transpose((0, 2, 1)))
    transform_lines(columns.reshape((-1, m)), sign)
    return columns.transpose((0, 2, 1)).astype(x.dtype).reshape(x.shape)


@njit(error_model="numpy", fastmath={"contract"}, cache=True, nogil=True)
def small_convolution(
    x: np.ndarray,
    kernel: np.ndarray,
    strides: tuple[int, int],
    before: tuple[int, int],
    steps: tuple[int, int],
    shape: tuple[int, int, int, int],
) -> np.ndarray:
    """Return the sums of products of ``kernel`` [h, w, channels, features] with every
    window of ``x`` [batch, h, w, channels]: an array of a ``shape`` [batch, h, w,
    features].

    ``before`` are the zeros before the first element, ``steps`` the distances of the
    taps. Each group of channels meets its own features.
    """
    batch, height, width, channels = x.shape
    depth, features = kernel.shape[2:]
    groups = channels // depth
    size, result = features // groups, np.zeros(shape, x.dtype)
    for image in range(batch):
        for row in range(result.shape[1]):
            for column in range(result.shape[2]):
                for i in range(kernel.shape[0]):
                    at = row * strides[0] - before[0] + i * steps[0]
                    if not 0 <= at < height:
                        continue
                    for j in range(kernel.shape[1]):
                        to = column * strides[1] - before[1] + j * steps[1]
                        if not 0 <= to < width:
                            continue
                        for feature in range(features):
                            first = feature // size * depth
                            for k in range(depth):
                                result[image, row, column, feature] += (
                                    x[image, at, to, first + k]
                                    * kernel[i, j, k, feature]
                                )
    return result
