"""Convolution over any number of spatial dimensions, as matrix products: CuPy 14 has no
cuDNN.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import cupy as cp

from ...prelude.convolution import convolution
from ...prelude.indexing import pad
from ...prelude.windows import window_taps
from .windows import unfold_kernel, window_geometry

COLUMN_BYTES = 1 << 28  # unfolded windows at a time


def integer_convolution(
    x: cp.ndarray, kernel: cp.ndarray, *, dtype: Any = None, **options: Any
) -> cp.ndarray:
    """``convolution`` of integers, wrapping around, in the integers themselves."""
    dtype = cp.dtype(dtype or x.dtype)
    return convolution(x.astype(dtype), kernel.astype(dtype), dtype=dtype, **options)


def correlate(
    x: cp.ndarray,
    kernel: cp.ndarray,
    strides: Sequence[int] | None,
    dilation: Sequence[int] | None,
    groups: int,
    padding: Sequence[tuple[int, int]] | None = None,
) -> cp.ndarray:
    """The convolution of ``x`` without gaps: a kernel lays the windows beside each
    other, and all of them are one matrix product.
    """
    *window, depth, features = kernel.shape
    taps, ones = prod(window), (1,) * len(window)
    steps, gaps = strides or ones, dilation or ones
    edges = ((0, 0), *(padding or ((0, 0),) * len(window)), (0, 0))
    counts, geometry = window_geometry(
        x.shape, (1, *window, 1), (1, *steps, 1), edges, (1, *gaps, 1)
    )
    shape, channels = (*counts[:-1], features), x.shape[-1]
    if depth == 0 or 0 in shape:
        return cp.zeros(shape, x.dtype)
    if groups > 1 and depth == 1:
        x = pad(x, 0, edges) if padding else x
        return depthwise(x, kernel, strides, dilation)
    if taps == 1 and groups == 1 and not padding:
        every = x[:, *(slice(None, None, by) for by in steps)] if strides else x
        return cp.tensordot(every, kernel.reshape(depth, features), axes=1)
    matrix: cp.ndarray = kernel.reshape(taps * depth, features)
    if groups > 1:
        matrix = matrix.reshape(taps, depth, groups, -1).transpose(2, 0, 1, 3)
        matrix = matrix.reshape(groups, taps * depth, -1)
    geometry += f"#define CHANNELS {channels}\n"
    rows = max(1, COLUMN_BYTES // (taps * channels * x.itemsize))
    parts, windows = [], prod(shape[:-1])
    for first in range(0, windows, rows):
        columns = cp.empty((min(rows, windows - first), taps, channels), dtype=x.dtype)
        unfold_kernel(geometry, x, first, columns)
        if groups > 1:
            columns = columns.reshape(-1, taps, groups, depth).transpose(2, 0, 1, 3)
            products = columns.reshape(groups, -1, taps * depth) @ matrix
            parts.append(products.transpose(1, 0, 2).reshape(-1, features))
        else:
            parts.append(columns.reshape(-1, taps * depth) @ matrix)
    whole = parts[0] if len(parts) == 1 else cp.concatenate(parts)
    return whole.reshape(shape)


def depthwise(
    x: cp.ndarray,
    kernel: cp.ndarray,
    strides: Sequence[int] | None,
    dilation: Sequence[int] | None,
) -> cp.ndarray:
    """``correlate`` where every group is one channel: sums of shifted images times one
    weight for each channel.
    """
    *window, _, features = kernel.shape
    x = x.repeat(features // x.shape[-1], axis=-1)
    ones = (1,) * len(window)
    steps, gaps = (1, *(strides or ones), 1), (1, *(dilation or ones), 1)
    taps = window_taps(x, (1, *window, 1), steps, gaps)
    weights = kernel.reshape(prod(window), features)
    total = taps[0] * weights[0]
    for tap, weight in zip(taps[1:], weights[1:], strict=True):
        total += tap * weight
    return total
