"""Convolution over any number of spatial dimensions.

Source: the operation-semantics seed, ConvWithGeneralPadding.
"""

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from .contraction import limbs
from .indexing import pad
from .precision import working_dtype

COLUMN_BYTES = 1 << 18  # unfolded windows at a time: few enough to stay in the cache


def convolution(
    x: np.ndarray,
    kernel: np.ndarray,
    *,
    strides: Sequence[int] | None = None,
    padding: Sequence[tuple[int, int]] | None = None,
    input_dilation: Sequence[int] | None = None,
    kernel_dilation: Sequence[int] | None = None,
    reverse_kernel: Sequence[bool] | None = None,
    feature_groups: int = 1,
    batch_groups: int = 1,
    layout: str | None = None,
    dtype: Any = None,
) -> np.ndarray:
    """Products of ``kernel`` with every window of ``x``, summed in ``dtype`` (of
    ``x``).

    ``x`` is [batch, *spatial, channels], ``kernel`` [*spatial, channels of a group,
    output channels] and the result is like ``x``. ``layout`` names another order, as in
    "NCHW,OIHW->NCHW": N batch, C channels, I and O those of the kernel, other letters
    spatial. What is given for each spatial dimension is in the order of those of ``x``.
    Group g of the channels (or of the batch) meets group g of the output channels.
    """
    if layout:
        axes_x, axes_kernel, axes_result = layout.replace("->", ",").split(",")
        spatial = [letter for letter in axes_x if letter not in "NC"]
        x = x.transpose([axes_x.index(letter) for letter in ("N", *spatial, "C")])
        order = [axes_kernel.index(letter) for letter in (*spatial, "I", "O")]
        kernel = kernel.transpose(order)
    dtype, ones = np.dtype(dtype or x.dtype), (1,) * (x.ndim - 2)
    work = np.result_type(*map(working_dtype, (dtype, x.dtype, kernel.dtype)))
    x, kernel = x.astype(work, copy=False), kernel.astype(work, copy=False)
    if padding or input_dilation:
        edges = [(0, 0), *(padding or [(0, 0)] * len(ones)), (0, 0)]
        x = pad(x, 0, edges, [0, *(step - 1 for step in input_dilation or ones), 0])
    if reverse_kernel:
        flipped = [axis for axis, reverse in enumerate(reverse_kernel) if reverse]
        kernel = np.flip(kernel, tuple(flipped))
    if batch_groups > 1:  # groups of images become groups of channels
        feature_groups = batch_groups
        groups = x.reshape(batch_groups, len(x) // batch_groups, *x.shape[1:])
        x = np.moveaxis(groups, 0, -2)
        x = x.reshape(*x.shape[:-2], batch_groups * x.shape[-1])
    steps, dilation = strides or ones, kernel_dilation or ones
    result = correlate(x, kernel, steps, dilation, feature_groups)
    result = result.astype(dtype, copy=False)
    if not layout:
        return result
    axes = ("N", *spatial, "C")
    return result.transpose([axes.index(letter) for letter in axes_result])


def integer_convolution(
    x: np.ndarray,
    kernel: np.ndarray,
    *,
    dtype: Any = None,
    layout: str | None = None,
    **options: Any,
) -> np.ndarray:
    """``convolution`` of integers, wrapping around, by exact sums of products of
    floats.
    """
    dtype = np.dtype(dtype or x.dtype)
    features = kernel.shape[layout.partition(",")[2].index("O") if layout else -1]
    is_small = x.itemsize == kernel.itemsize == 1 and kernel.size <= 256 * features
    real = np.float32 if is_small else np.float64  # holds sums below 2**24 or 2**53
    total: np.ndarray = np.zeros((), np.int64)
    for (low, part), (high, weights) in product(limbs(x), limbs(kernel)):
        if low + high < 8 * dtype.itemsize:
            part, weights = part.astype(real), weights.astype(real)
            sums = convolution(part, weights, layout=layout, **options)
            total = total + (sums.astype(np.int64) << (low + high))
    return total.astype(working_dtype(dtype)).astype(dtype, copy=False)


def correlate(
    x: np.ndarray,
    kernel: np.ndarray,
    strides: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> np.ndarray:
    """The convolution of ``x`` that is already padded, as matrix products of unfolded
    windows.
    """
    if x.ndim == 2:
        return correlate(x[:, None], kernel[None], (1,), (1,), groups)[:, 0]
    *window, depth, features = kernel.shape
    spans = [(size - 1) * step + 1 for size, step in zip(window, dilation, strict=True)]
    sizes = window_counts(x.shape[1:-1], window, strides, dilation)
    taps, shape = prod(window), (len(x), *sizes, features)
    if depth == 0 or prod(shape) == 0:
        return np.zeros(shape, x.dtype)
    fills_image = prod(x.shape[1:-1]) <= 4 * prod(strides) * prod(sizes)
    if depth == 1 and (groups > 1 or features == 1) and fills_image:
        return depthwise(x, kernel, strides, dilation)
    steps = tuple(slice(None, None, by) for by in strides)
    if taps == groups == 1:
        pointwise: np.ndarray = x[:, *steps] @ kernel.reshape(depth, features)
        return pointwise
    axes = tuple(range(1, x.ndim - 1))
    windows = np.lib.stride_tricks.sliding_window_view(x, spans, axes)
    windows = windows[:, *steps, :, *(slice(None, None, step) for step in dilation)]
    windows = np.moveaxis(windows, x.ndim - 1, -1)  # [batch, *sizes, *window, channels]
    weights = kernel.reshape(taps, depth, groups, -1).transpose(2, 0, 1, 3)
    matrix = weights.reshape(groups, taps * depth, -1)
    row_bytes = prod(windows.shape[2:]) * x.itemsize
    images = max(1, COLUMN_BYTES // (sizes[0] * row_bytes))
    rows = max(1, COLUMN_BYTES // row_bytes)
    result = np.empty(shape, x.dtype)
    for image in range(0, len(x), images):
        for row in range(0, sizes[0], rows):
            block = windows[image : image + images, row : row + rows]
            unfolded = block.reshape(-1, taps, groups, depth).transpose(2, 0, 1, 3)
            columns = unfolded.reshape(groups, -1, taps * depth)
            products = (columns @ matrix).transpose(1, 0, 2)
            target = result[image : image + images, row : row + rows]
            target[...] = products.reshape(target.shape)
    return result


def depthwise(
    x: np.ndarray, kernel: np.ndarray, strides: Sequence[int], dilation: Sequence[int]
) -> np.ndarray:
    """``correlate`` where every group is one channel: sums of shifted images times one
    weight for each channel.

    An image shifted by a tap is the same memory from another place on, so these are
    sums of long pieces of it. Windows that cross an edge are left out at the end.
    """
    *window, _, features = kernel.shape
    x = x if features == x.shape[-1] else x.repeat(features // x.shape[-1], axis=-1)
    phases = strided_phases(x, strides)
    shifts = []
    for at in np.ndindex(*window):
        place, phase = np.divmod(np.multiply(at, dilation), strides)
        shifts.append(int(np.ravel_multi_index((*phase, 0, *place, 0), phases.shape)))
    total = np.empty(phases.shape[len(window) :], x.dtype)
    memory, sums = phases.reshape(-1), total.reshape(-1)
    count = min(sums.size, memory.size - max(shifts))
    piece = min(count, max(1, COLUMN_BYTES // (features * x.itemsize)) * features)
    weights = kernel.reshape(len(shifts), features)
    if features > 1:
        weights = np.tile(weights, -(-piece // features))
    weighted = np.empty(piece, x.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, count, piece):
            part = sums[start : min(start + piece, count)]
            shifted = [memory[start + shift :][: len(part)] for shift in shifts]
            factors = weights[:, : len(part)]
            np.multiply(shifted[0], factors[0], out=part)
            for tap, factor in zip(shifted[1:], factors[1:], strict=True):
                part += np.multiply(tap, factor, out=weighted[: len(part)])
    sizes = window_counts(x.shape[1:-1], window, strides, dilation)
    return total[:, *map(slice, sizes)]


def strided_phases(x: np.ndarray, strides: Sequence[int]) -> np.ndarray:
    """``x`` with what is ``strides`` apart side by side, as [*first position, batch,
    *spatial, channels].
    """
    if prod(strides) == 1:
        return np.ascontiguousarray(x)[(None,) * len(strides)]
    lengths = [-(-n // by) for n, by in zip(x.shape[1:-1], strides, strict=True)]
    phases = np.zeros((*strides, len(x), *lengths, x.shape[-1]), x.dtype)
    for first in np.ndindex(*strides):
        steps = (slice(at, None, by) for at, by in zip(first, strides, strict=True))
        part = x[:, *steps]
        phases[first][tuple(map(slice, part.shape))] = part
    return phases


def window_counts(
    lengths: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
) -> list[int]:
    """How many windows there are along each axis."""
    every = zip(lengths, window, strides, dilation, strict=True)
    return [max(0, n - (size - 1) * step - 1 + by) // by for n, size, by, step in every]
