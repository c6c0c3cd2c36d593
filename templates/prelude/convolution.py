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
    """Return the sums of products of ``kernel`` with every window of ``x``.

    ``x`` is [batch, *spatial, channels], ``kernel`` [*spatial, channels, output
    channels] and the result is like ``x``, or of another ``dtype``. ``layout`` names
    another order, as in "NCHW,OIHW->NCHW": N batch, C channels, I and O those of the
    kernel, other letters spatial. Each of ``feature_groups`` of channels, or of
    ``batch_groups`` of the batch, meets its own group of output channels.
    """
    if layout:
        axes_x, axes_kernel, axes_result = layout.replace("->", ",").split(",")
        spatial = [letter for letter in axes_x if letter not in "NC"]
        x = x.transpose([axes_x.index(letter) for letter in ("N", *spatial, "C")])
        order = [axes_kernel.index(letter) for letter in (*spatial, "I", "O")]
        kernel = kernel.transpose(order)
    dtype = np.dtype(dtype or x.dtype)
    work = np.result_type(*map(working_dtype, (dtype, x.dtype, kernel.dtype)))
    x, kernel = x.astype(work, copy=False), kernel.astype(work, copy=False)
    if reverse_kernel:
        flipped = [axis for axis, reverse in enumerate(reverse_kernel) if reverse]
        kernel = np.flip(kernel, tuple(flipped))
    if batch_groups > 1:  # groups of images become groups of channels
        feature_groups = batch_groups
        groups = x.reshape(batch_groups, len(x) // batch_groups, *x.shape[1:])
        x = np.moveaxis(groups, 0, -2)
        x = x.reshape(*x.shape[:-2], batch_groups * x.shape[-1])
    is_depthwise = kernel.shape[-2] == 1 and (
        feature_groups > 1 or kernel.shape[-1] == 1
    )
    if input_dilation and not strides and not kernel_dilation:
        result = correlate_phases(
            x, kernel, input_dilation, padding, feature_groups, is_depthwise
        )
    else:
        if input_dilation:
            gaps = [0, *(step - 1 for step in input_dilation), 0]
            x = pad(x, 0, [(0, 0)] * x.ndim, gaps)
        result = correlate(
            x, kernel, strides, kernel_dilation, feature_groups, is_depthwise, padding
        )
    if work != dtype:
        result = result.astype(dtype)
    if layout:
        letters = ("N", *spatial, "C")
        result = result.transpose([letters.index(letter) for letter in axes_result])
    return result


def integer_convolution(
    x: np.ndarray,
    kernel: np.ndarray,
    *,
    dtype: Any = None,
    layout: str | None = None,
    **options: Any,
) -> np.ndarray:
    """Return ``convolution`` of integers, wrapping around, by exact sums of products of
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
    strides: Sequence[int] | None,
    dilation: Sequence[int] | None,
    groups: int,
    is_depthwise: bool,
    padding: Sequence[tuple[int, int]] | None = None,
) -> np.ndarray:
    """Return the convolution of ``x`` without gaps, as matrix products of unfolded
    windows.
    """
    if padding and min(map(min, padding)) < 0:
        x = pad(x, 0, [(0, 0), *padding, (0, 0)])
    elif padding:
        x = np.pad(x, [(0, 0), *padding, (0, 0)])
    if x.ndim == 2:
        x, kernel = x[:, None], kernel[None]
        return correlate(x, kernel, None, None, groups, is_depthwise)[:, 0]
    *window, depth, features = kernel.shape
    taps, steps = prod(window), strides or (1,) * len(window)
    sizes = window_counts(x.shape[1:-1], window, strides, dilation)
    if depth == 0 or len(x) * features * prod(sizes) == 0:
        return np.zeros((len(x), *sizes, features), x.dtype)
    fills_image = prod(x.shape[1:-1]) <= 4 * prod(steps) * prod(sizes)
    if is_depthwise and fills_image:
        return depthwise(x, kernel, groups, strides, dilation)
    if taps == 1 and groups == 1:
        places = (slice(None, None, by) for by in steps)
        pointwise: np.ndarray = x[:, *places] @ kernel.reshape(depth, features)
        return pointwise
    axes, spans = tuple(range(1, x.ndim - 1)), window
    if dilation:
        spans = [(size - 1) * by + 1 for size, by in zip(window, dilation, strict=True)]
    x = np.ascontiguousarray(x)  # read once for each tap
    windows = np.lib.stride_tricks.sliding_window_view(x, spans, axes)
    if dilation:
        taken = (slice(None, None, by) for by in dilation)
        windows = windows[*(slice(None),) * x.ndim, *taken]
    if strides:
        windows = windows[:, *(slice(None, None, by) for by in strides)]
    windows = np.moveaxis(windows, x.ndim - 1, -1)  # [batch, *sizes, *window, channels]
    if groups == 1 and taps > prod(sizes):  # as gradients of kernels
        return correlate_by_rows(windows, kernel)
    matrix: np.ndarray = kernel.reshape(taps * depth, features)
    if groups > 1:
        matrix = matrix.reshape(taps, depth, groups, -1).transpose(2, 0, 1, 3)
        matrix = matrix.reshape(groups, taps * depth, -1)
    result = np.empty((*windows.shape[: x.ndim - 1], features), x.dtype)
    row_bytes = prod(windows.shape[2:]) * x.itemsize
    images = max(1, COLUMN_BYTES // (windows.shape[1] * row_bytes))
    rows = max(1, COLUMN_BYTES // row_bytes)
    for image in range(0, len(x), images):
        for row in range(0, windows.shape[1], rows):
            columns = windows[image : image + images, row : row + rows]
            target = result[image : image + images, row : row + rows]
            if groups > 1:
                columns = columns.reshape(-1, taps, groups, depth)
                columns = columns.transpose(2, 0, 1, 3).reshape(
                    groups, -1, taps * depth
                )
                products = (columns @ matrix).transpose(1, 0, 2)
                target[...] = products.reshape(target.shape)
            else:
                columns = columns.reshape(-1, taps * depth)
                np.matmul(columns, matrix, out=target.reshape(-1, features))
    return result


def correlate_phases(
    x: np.ndarray,
    kernel: np.ndarray,
    dilation: Sequence[int],
    padding: Sequence[tuple[int, int]] | None,
    groups: int,
    is_depthwise: bool,
) -> np.ndarray:
    """Return the convolution of ``x`` with ``dilation - 1`` zeros between its elements,
    which are not multiplied: every ``dilation``-th number of the result meets the same
    taps.
    """
    padding = padding or ((0, 0),) * len(dilation)
    axes = [*zip(x.shape[1:-1], kernel.shape, dilation, padding, strict=False)]
    counts = [
        max(0, max(n - 1, 0) * by + min(n, 1) + low + high - size + 1)
        for n, size, by, (low, high) in axes
    ]
    result = np.zeros((len(x), *counts, kernel.shape[-1]), x.dtype)
    for phase in np.ndindex(*dilation):
        taken, edges, written = [], [], []
        for at, count, (n, size, by, (low, _)) in zip(phase, counts, axes, strict=True):
            before, first = divmod(low - at, by)  # the first tap that meets an element
            taps, numbers = -(-(size - first) // by), -(-(count - at) // by)
            taken.append(slice(first, None, by))
            edges.append((before, numbers + taps - 1 - n - before))
            written.append(slice(at, None, by))
        target, part = result[:, *written], kernel[tuple(taken)]
        if target.size and part.size:
            image = pad(x, 0, [(0, 0), *edges, (0, 0)])
            target[...] = correlate(image, part, None, None, groups, is_depthwise)
    return result


def correlate_by_rows(windows: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Return ``correlate`` of few ``windows`` [batch, *sizes, *window, channels], of
    which as many rows are multiplied at a time as stay in the cache.
    """
    features = kernel.shape[-1]
    shape = windows.shape[: 1 - kernel.ndim]
    row_bytes = prod(shape) * prod(kernel.shape[1:-1]) * windows.itemsize
    rows = max(1, COLUMN_BYTES // row_bytes)
    total = np.zeros((prod(shape), features), windows.dtype)
    for row in range(0, len(kernel), rows):
        part = kernel[row : row + rows]
        columns = np.moveaxis(windows, len(shape), 0)[row : row + rows]
        columns = np.moveaxis(columns, 0, len(shape)).reshape(prod(shape), -1)
        total += columns @ part.reshape(-1, features)
    return total.reshape(*shape, features)


def depthwise(
    x: np.ndarray,
    kernel: np.ndarray,
    groups: int,
    strides: Sequence[int] | None,
    dilation: Sequence[int] | None,
) -> np.ndarray:
    """Return sums of shifted images times one weight for each channel, if every channel
    is a group.

    An image shifted by a tap is the same memory from another offset on, so these are
    sums of long contiguous pieces. Windows that cross an edge are dropped at the end.
    """
    *window, _, features = kernel.shape
    if groups > 1 and features > groups:
        x = x.repeat(features // groups, axis=-1)
    phases = strided_phases(x, strides) if strides else np.ascontiguousarray(x)
    shifts = []
    for tap in np.ndindex(*window):
        at = (0, *(np.multiply(tap, dilation) if dilation else tap), 0)
        if strides:
            place, phase = np.divmod(at[1:-1], strides)
            at = (*phase, 0, *place, 0)
        shifts.append(int(np.ravel_multi_index(at, phases.shape)))
    total = np.empty(phases.shape[-x.ndim :], x.dtype)
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
            for image, factor in zip(shifted[1:], factors[1:], strict=True):
                part += np.multiply(image, factor, out=weighted[: len(part)])
    sizes = window_counts(x.shape[1:-1], window, strides, dilation)
    return total[:, *map(slice, sizes)]


def strided_phases(x: np.ndarray, strides: Sequence[int]) -> np.ndarray:
    """Return ``x`` with elements that are ``strides`` apart side by side, as [*first
    position, batch, *spatial, channels].
    """
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
    strides: Sequence[int] | None,
    dilation: Sequence[int] | None,
) -> list[int]:
    """Return how many windows there are along each axis."""
    if dilation:
        window = [
            (size - 1) * by + 1 for size, by in zip(window, dilation, strict=True)
        ]
    counts = [max(0, n - size + 1) for n, size in zip(lengths, window, strict=True)]
    if strides:
        counts = [-(-n // by) for n, by in zip(counts, strides, strict=True)]
    return counts
