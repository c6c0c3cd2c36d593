"""Convolution over any number of spatial dimensions, as matrix products: CuPy 14 has no
cuDNN.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import cupy as cp

from ...prelude.convolution import convolution
from ...prelude.windows import window_taps

COLUMN_BYTES = 1 << 28  # unfolded windows at a time


def integer_convolution(
    x: cp.ndarray, kernel: cp.ndarray, *, dtype: Any = None, **options: Any
) -> cp.ndarray:
    """``convolution`` of integers, wrapping around, in the integers themselves."""
    dtype = cp.dtype(dtype or x.dtype)
    return convolution(x.astype(dtype), kernel.astype(dtype), dtype=dtype, **options)


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
