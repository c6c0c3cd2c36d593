"""Convolution over any number of spatial dimensions, as matrix products: CuPy 14 has no
cuDNN.

Source: the operation-semantics seed, ConvWithGeneralPadding.
"""

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple

import cupy as cp

from ...prelude.indexing import pad
from ...prelude.precision import working_dtype
from .contraction import gemm, gemm_into
from .windows import channel_kernel, unfold_kernel, window_geometry

COLUMN_BYTES = 1 << 28  # windows that are unfolded at a time
FEW_ROWS = 32  # of a matrix: products of more of them would leave much of a device idle
MOST_TAPS = 64  # of one channel, which a thread adds up
TILE = 64  # rows and columns of a product that a block of threads computes
MANY_BLOCKS = 264  # of threads: they keep a device busy
LEAST_TERMS = 512  # of a sum that a block adds up
BY_CUBLAS = ("bfloat16", "float16", "float32", "float64")


class Axis(NamedTuple):
    """The windows along a spatial axis: the ``size`` of one, how many there are, the
    start of the first, and the distances between windows and between the elements of
    one.
    """

    size: int
    windows: int
    first: int = 0
    step: int = 1
    gap: int = 1


def convolution(
    x: cp.ndarray,
    kernel: cp.ndarray,
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
    tf32: bool = False,
) -> cp.ndarray:
    """Return the sums of products of ``kernel`` with every window of ``x``.

    ``x`` is [batch, *spatial, channels], ``kernel`` [*spatial, channels, output
    channels] and the result is like ``x``, or of another ``dtype``. ``layout`` names
    another order, as in "NCHW,OIHW->NCHW": N batch, C channels, I and O those of the
    kernel, other letters spatial. Each of ``feature_groups`` of channels, or of
    ``batch_groups`` of the batch, meets its own group of output channels. With
    ``tf32``, float32 is rounded to TF32 before it is multiplied.
    """
    if layout:
        x, kernel = standard_order(x, kernel, layout)
    dtype = cp.dtype(dtype or x.dtype)
    if not x.dtype == kernel.dtype == dtype:
        work = cp.result_type(*map(working_dtype, (dtype, x.dtype, kernel.dtype)))
        x, kernel = x.astype(work, copy=False), kernel.astype(work, copy=False)
    if reverse_kernel:
        flipped = [axis for axis, reverse in enumerate(reverse_kernel) if reverse]
        kernel = cp.flip(kernel, tuple(flipped))
    ones = (1,) * (x.ndim - 2)
    if input_dilation and (strides or kernel_dilation):
        gaps = [0, *(step - 1 for step in input_dilation), 0]
        x, input_dilation = pad(x, 0, [(0, 0)] * x.ndim, gaps), None
    holes, edges = input_dilation or ones, padding or ((0, 0),) * len(ones)
    given = zip(holes, edges, strides or ones, kernel_dilation or ones, strict=True)
    lengths = zip(x.shape[1:-1], kernel.shape, given, strict=False)
    axes = [windows_along(n, size, *more) for n, size, more in lengths]
    groups, depth = max(feature_groups, batch_groups), kernel.shape[-2]
    if batch_groups > 1:
        x = x.reshape(groups, x.shape[0] // groups, *x.shape[1:])
    elif groups > 1:
        x = cp.moveaxis(x.reshape(*x.shape[:-1], groups, depth), -2, 0)
    else:
        x = x[None]
    if input_dilation:
        result = correlate_phases(x, kernel, axes, input_dilation, tf32)
    else:
        result = correlate(x, kernel, axes, tf32)
    if result.dtype != dtype:
        result = result.astype(dtype)
    if layout:
        result = in_layout(result, layout)
    return result


def standard_order(
    x: cp.ndarray, kernel: cp.ndarray, layout: str
) -> tuple[cp.ndarray, cp.ndarray]:
    """Return ``x`` and ``kernel`` of a layout, with channels last."""
    axes_x, axes_kernel, _ = layout.replace("->", ",").split(",")
    spatial = [letter for letter in axes_x if letter not in "NC"]
    x = x.transpose([axes_x.index(letter) for letter in ("N", *spatial, "C")])
    order = [axes_kernel.index(letter) for letter in (*spatial, "I", "O")]
    return x, kernel.transpose(order)


def in_layout(result: cp.ndarray, layout: str) -> cp.ndarray:
    """Return a result with channels last in the order that a layout has for it."""
    axes_x, _, axes_result = layout.replace("->", ",").split(",")
    letters = ("N", *(letter for letter in axes_x if letter not in "NC"), "C")
    return result.transpose([letters.index(letter) for letter in axes_result])


def windows_along(
    n: int, size: int, hole: int, edges: tuple[int, int], step: int, gap: int
) -> Axis:
    """Return the windows of ``n`` elements ``hole`` apart, between edges of zeros."""
    whole = max(n - 1, 0) * hole + min(n, 1) + sum(edges)
    return Axis(
        size, max(0, whole - (size - 1) * gap - 1 + step) // step, -edges[0], step, gap
    )


def integer_convolution(
    x: cp.ndarray, kernel: cp.ndarray, *, dtype: Any = None, **options: Any
) -> cp.ndarray:
    """Return ``convolution`` of integers, wrapping around, computed in integers."""
    dtype = cp.dtype(dtype or x.dtype)
    return convolution(x.astype(dtype), kernel.astype(dtype), dtype=dtype, **options)


def correlate_phases(
    x: cp.ndarray,
    kernel: cp.ndarray,
    axes: Sequence[Axis],
    holes: Sequence[int],
    tf32: bool,
) -> cp.ndarray:
    """Return ``correlate`` of ``x`` whose elements are ``holes`` apart, with zeros
    between them, which are not multiplied: every so many windows meet the same taps.
    """
    counts = (axis.windows for axis in axes)
    result = cp.zeros((x.shape[1], *counts, kernel.shape[-1]), x.dtype)
    for phase in product(*map(range, holes)):
        taken, written, parts = [], [], []
        for at, axis, hole in zip(phase, axes, holes, strict=True):
            before, first = divmod(-axis.first - at, hole)  # that meets an element
            taken.append(slice(first, None, hole))
            written.append(slice(at, None, hole))
            taps = len(range(first, axis.size, hole))
            parts.append(Axis(taps, len(range(at, axis.windows, hole)), -before))
        target, part = result[:, *written], kernel[tuple(taken)]
        if target.size and part.size:
            target[...] = correlate(x, part, parts, tf32)
    return result


def correlate(
    x: cp.ndarray, kernel: cp.ndarray, axes: Sequence[Axis], tf32: bool
) -> cp.ndarray:
    """Return sums of products of ``kernel`` [*spatial, depth, features] with all
    windows of ``x`` [groups, batch, *spatial, depth], [batch, *spatial, features].
    """
    *window, depth, features = kernel.shape
    taps, counts = prod(window), [axis.windows for axis in axes]
    shape = (x.shape[1], *counts, features)
    if taps * depth == 0 or 0 in shape:
        return cp.zeros(shape, x.dtype)
    if depth == 1 and taps <= MOST_TAPS:
        return correlate_channels(x, kernel, axes)
    if len(x) > 1 or x.dtype.name not in BY_CUBLAS:
        return correlate_groups(x, kernel, axes, tf32)
    if taps > prod(counts):  # as gradients of kernels
        return correlate_few(x[0], kernel, axes, tf32).reshape(shape)
    if taps == 1 and all(map(is_inside, axes, x.shape[2:-1])):
        points = (slice(0, a.windows * a.step, a.step) for a in axes)
        rows = x[0][:, *points].reshape(shape[0], -1, depth)
        return gemm(rows, kernel.reshape(depth, features), tf32=tf32).reshape(shape)
    return correlate_lines(x[0], kernel, axes, tf32).reshape(shape)


def is_inside(axis: Axis, n: int) -> bool:
    """Return whether windows of one element begin with the first of ``n``, and none
    lies beyond the last.
    """
    return axis.first == 0 and (axis.windows - 1) * axis.step < n


def correlate_lines(
    x: cp.ndarray, kernel: cp.ndarray, axes: Sequence[Axis], tf32: bool
) -> cp.ndarray:
    """Return ``correlate`` of one group. Windows are unfolded along all axes but the
    last, where the elements of a window are contiguous: the product reads overlapping
    windows in place, except in float32 itself, for which cuBLAS takes three times as
    long there.
    """
    others, is_float32 = prod(axis.windows for axis in axes[:-1]), x.dtype == cp.float32
    is_apart = not axes or axes[-1].gap > 1 or len(x) * others < FEW_ROWS
    if is_apart or (is_float32 and not tf32):
        x, kernel = x[..., None, :], kernel[..., None, :, :]
        axes, others = [*axes, Axis(1, 1)], prod(axis.windows for axis in axes)
    last, features = axes[-1], kernel.shape[-1]
    line = Axis(1, (last.windows - 1) * last.step + last.size, last.first)
    unit, size = prod(kernel.shape[:-3]) * x.shape[-1], x.itemsize  # elements, bytes
    images = max(1, COLUMN_BYTES // (others * line.windows * unit * size))
    result = cp.empty((len(x), *(axis.windows for axis in axes), features), x.dtype)
    for first in range(0, len(x), images):
        part, sums = x[first : first + images], result[first : first + images]
        windows = [Axis(1, len(part)), *axes[:-1], line]
        columns, matrix = unfold(part, windows, cp.moveaxis(kernel, -3, 0))
        rows = len(part) * others
        overlapping = cp.lib.stride_tricks.as_strided(
            columns,
            (last.windows, rows, last.size * unit),
            (last.step * unit * size, line.windows * unit * size, size),
        )
        sums = sums.reshape(rows, last.windows, features).transpose(1, 0, 2)
        gemm_into(sums, overlapping, matrix.reshape(-1, features), tf32=tf32)
    return result


def correlate_few(
    x: cp.ndarray, kernel: cp.ndarray, axes: Sequence[Axis], tf32: bool
) -> cp.ndarray:
    """Return ``correlate`` of one group that has fewer windows than elements in one:
    ``correlate_lines`` with the two exchanged, and the first axis read in place. Sums
    of many terms are added up in parts, as there are few of them.
    """
    if axes[0].gap > 1:
        x, kernel, axes = x[:, None], kernel[None], [Axis(1, 1), *axes]
    (first, *others), features = axes, kernel.shape[-1]
    lines = Axis(1, (first.windows - 1) * first.step + first.size, first.first)
    turned = [Axis(a.windows, a.size, a.first, a.gap, a.step) for a in others]
    x = cp.moveaxis(x, (1, -1), (0, 1))
    x = cp.moveaxis(x, 2, -1)  # [lines, depth, *spatial, batch]
    kernel = cp.moveaxis(kernel, -2, 1)
    across = prod(axis.windows for axis in others) * x.shape[-1]
    each = prod(axis.size for axis in others) * across  # elements of a line and channel
    channels = max(1, COLUMN_BYTES // (lines.windows * each * x.itemsize))
    terms = first.size * x.shape[1] * each // across
    parts = parts_of(first.size, across, features, terms)
    shape = (first.windows, parts, across, features)
    is_narrow = parts == 1 and channels >= x.shape[1]
    result = cp.empty(shape, x.dtype if is_narrow else working_dtype(x.dtype))
    for start in range(0, x.shape[1], channels):
        part, weights = (
            x[:, start : start + channels],
            kernel[:, start : start + channels],
        )
        columns, matrix = unfold(
            part, [lines, Axis(1, part.shape[1]), *turned], weights
        )
        unit, size = part.shape[1] * each, x.itemsize
        overlapping = cp.lib.stride_tricks.as_strided(
            columns,
            (first.windows, parts, across, first.size // parts * unit // across),
            (
                first.step * unit * size,
                first.size // parts * unit * size,
                size,
                across * size,
            ),
        )
        matrix = matrix.reshape(parts, -1, features)
        if parts == 1:
            sums, rows, matrix = result[:, 0], overlapping[:, 0], matrix[0]
            gemm_into(sums, rows, matrix, tf32=tf32, adds=start > 0)
            continue
        for sums, rows in zip(result, overlapping, strict=True):
            gemm_into(sums, rows, matrix, tf32=tf32, adds=start > 0)
    counts = (first.windows, *(axis.windows for axis in others), x.shape[-1], features)
    total = result.sum(axis=1) if parts > 1 else result
    return cp.moveaxis(total.reshape(counts), -2, 0)


def parts_of(lines: int, rows: int, columns: int, terms: int) -> int:
    """Return in how many equal parts of the ``lines`` sums of so many terms are added
    up, so that products of few rows and columns keep a device busy.
    """
    tiles = -(-rows // TILE) * -(-columns // TILE)
    most = min(lines, MANY_BLOCKS // tiles, terms // LEAST_TERMS)
    return next((n for n in range(most, 1, -1) if lines % n == 0), 1)


def correlate_groups(
    x: cp.ndarray, kernel: cp.ndarray, axes: Sequence[Axis], tf32: bool
) -> cp.ndarray:
    """Return ``correlate`` of several groups, or of types that cuBLAS does not have,
    with whole windows unfolded.
    """
    groups, batch, features = len(x), x.shape[1], kernel.shape[-1]
    length, counts = prod(kernel.shape[:-1]), [axis.windows for axis in axes]
    weights = kernel.reshape(*kernel.shape[:-1], groups, features // groups)
    weights = cp.moveaxis(weights, -2, 0)
    images = max(1, COLUMN_BYTES // (groups * prod(counts) * length * x.itemsize))
    result = cp.empty((batch, *counts, features), x.dtype)
    for first in range(0, batch, images):
        part, sums = x[:, first : first + images], result[first : first + images]
        windows = [Axis(1, groups), Axis(1, part.shape[1]), *axes]
        columns, matrix = unfold(part, windows, weights)
        columns = columns.reshape(groups, -1, length)
        matrix = matrix.reshape(groups, length, -1)
        sums = sums.reshape(-1, groups, features // groups).transpose(1, 0, 2)
        if x.dtype.name in BY_CUBLAS:
            gemm_into(sums, columns, matrix, tf32=tf32)
        else:
            sums[...] = columns @ matrix
    return result


def unfold(
    x: cp.ndarray, axes: Sequence[Axis], kernel: cp.ndarray
) -> tuple[cp.ndarray, cp.ndarray]:
    """Return the windows along all ``axes`` but the last side by side, [*windows,
    elements of one, last axis], and ``kernel`` in the order of its own axes: both in
    one launch.
    """
    counts, memory, together, text = geometry_of(x, [*axes, Axis(1, x.shape[-1])])
    taps = prod(axis.size for axis in axes)
    columns = cp.empty((*counts[:-1], taps, x.shape[-1]), x.dtype)
    weights = cp.empty(kernel.shape, kernel.dtype)
    groups = columns.size // together
    text += f"#define CHANNELS {x.shape[-1] // together}\n"
    text += f"#define COLUMNS {groups}\n#define WEIGHTS {weights.size}\n"
    size = max(groups, weights.size)
    unfold_kernel(text, memory, kernel, columns, weights, size=size)
    return columns, weights


def geometry_of(x: cp.ndarray, axes: Sequence[Axis]) -> Any:
    """Return ``window_geometry`` of windows that are counted."""
    edges = tuple(
        (-a.first, a.first + (a.windows - 1) * a.step + (a.size - 1) * a.gap + 1 - n)
        for a, n in zip(axes, x.shape, strict=True)
    )
    sizes, _, _, steps, gaps = zip(*axes, strict=True)
    return window_geometry(x, sizes, steps, edges, gaps)


def correlate_channels(
    x: cp.ndarray, kernel: cp.ndarray, axes: Sequence[Axis]
) -> cp.ndarray:
    """Return ``correlate`` for groups of one channel: a thread adds up a window."""
    features, image = kernel.shape[-1], cp.moveaxis(x[..., 0], 0, -1)
    ends = [Axis(1, len(x))]
    if features > len(x):  # several of each channel
        ends.append(Axis(1, features // len(x)))
        image = cp.broadcast_to(image[..., None], (*image.shape, ends[1].windows))
    counts, memory, together, text = geometry_of(
        image, [Axis(1, len(image)), *axes, *ends]
    )
    text += f"#define FEATURES {features}\n"
    shape = (*counts[: -len(ends)], features)
    sums, size = cp.empty(shape, x.dtype), prod(counts) // together
    work = working_dtype(x.dtype)
    zero = work.type(0)
    channel_kernel(text, memory, kernel, zero, sums, work=work.name, size=size)
    return sums
