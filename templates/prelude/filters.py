"""Convolution of images of one channel with one kernel.

Source: the operation-semantics seed, ConvWithGeneralPadding.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from .convolution import convolution, window_counts
from .indexing import pad

FILTERED_BYTES = 1 << 20  # at a time: few enough to stay in the cache


def image_filter(
    x: np.ndarray,
    kernel: np.ndarray,
    *,
    padding: Sequence[tuple[int, int]] | None = None,
    kernel_dilation: Sequence[int] | None = None,
    channels_first: bool = False,
) -> np.ndarray:
    """Return ``convolution`` of ``x`` [batch, *spatial, 1] and ``kernel`` [*spatial, 1,
    1], as products with banded matrices if all sums are finite.

    ``channels_first``: of [batch, 1, *spatial] and [1, 1, *spatial].
    """
    images = x.squeeze(1 if channels_first else -1)
    weights = kernel.squeeze((0, 1) if channels_first else (-2, -1))
    if padding:
        images = pad(images, 0, [(0, 0), *padding])
    dilation = kernel_dilation or (1,) * weights.ndim
    with np.errstate(over="ignore", invalid="ignore"):
        result = banded_products(images, weights, dilation)
        is_finite = np.isfinite(result.sum())
    if not is_finite:  # zero times infinity is in the sums
        images, weights = images[..., None], weights[..., None, None]
        result = convolution(images, weights, kernel_dilation=dilation)[..., 0]
    return np.expand_dims(result, 1 if channels_first else -1)


def banded_products(
    images: np.ndarray, weights: np.ndarray, dilation: Sequence[int]
) -> np.ndarray:
    """Return the sums of ``weights`` times every window of finite images.

    Along the first axis, a filter is a matrix of few diagonals, which gives ``rows`` of
    the result; its other entries multiply by zero. Along the other axes, the images are
    shifted: a shifted image is the same memory from another offset on.
    """
    (batch, height, *rest), by = images.shape, dilation[0]
    reach, width = (len(weights) - 1) * by + 1, prod(rest)
    corners = (np.multiply(at, dilation[1:]) for at in np.ndindex(*weights.shape[1:]))
    shifts = [int(np.ravel_multi_index(tuple(at), rest)) for at in corners]
    count, used, rows = height - reach + 1, width - max(shifts), max(4, reach)
    bands = np.zeros((len(shifts), rows, rows + reach - 1), images.dtype)
    for row in range(rows):
        bands[:, row, row : row + reach : by] = weights.reshape(len(weights), -1).T
    memory = images.reshape(batch, height, width)
    total = np.empty((batch, count, width), images.dtype)
    row_bytes, start = batch * width * images.itemsize, 0
    while start < count:
        rows = min(rows, count - start)  # fewer at the end
        most = max(1, FILTERED_BYTES // (rows * row_bytes))
        blocks = min((count - start) // rows, most)
        stop = start + blocks * rows
        needed = memory[:, start : stop + reach - 1]
        tall = np.lib.stride_tricks.sliding_window_view(needed, rows + reach - 1, 1)
        tall = tall[:, ::rows].swapaxes(-1, -2)  # [batch, blocks, rows and more, width]
        part = total[:, start:stop].reshape(batch, blocks, rows, width)[..., :used]
        part[...] = 0
        for band, shift in zip(bands, shifts, strict=True):
            matrix = band[:rows, : rows + reach - 1]
            part += matrix @ tall[..., shift : shift + used]
        start = stop
    sizes = window_counts(rest, weights.shape[1:], None, dilation[1:])
    return total.reshape(batch, count, *rest)[:, :, *map(slice, sizes)]
