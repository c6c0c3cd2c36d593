"""Pools, their gradients and searches as loops of Numba.

Source: the operation-semantics seed, ReduceWindow and SelectAndScatter.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numba import njit

from ...prelude.windows import Pairs
from .scatters import COMBINERS, combined_number

Steps = tuple[int, int, int, int]


def window_steps(
    shape: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int] | None,
    padding: Pairs | None,
    dilation: Sequence[int] | None = None,
) -> tuple[list[int], list[int], list[Steps]]:
    """Return how many windows there are along each axis, the one or two axes along
    which windows do more than copy, and for these (size, stride, dilation, low).
    """
    ones = (1,) * len(shape)
    edges = padding or ((0, 0),) * len(shape)
    every = zip(shape, window, strides or ones, edges, dilation or ones, strict=True)
    counts, axes, steps = [], [], []
    for axis, (n, size, stride, (low, high), gap) in enumerate(every):
        span = (size - 1) * gap + 1
        counts.append(max(0, (low + n + high - span) // stride + 1))
        if (size, stride, low, high) != (1, 1, 0, 0):
            axes.append(axis)
            steps.append((size, stride, gap, low))
    return counts, axes, steps if len(steps) > 1 else [*steps, (1, 1, 1, 0)]


def beside_windows(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """Return ``shape`` as [outer, height, between, width, inner], height and width
    being its ``axes``; of one axis, the width is 1.
    """
    if len(axes) == 1:
        (axis,) = axes
        return prod(shape[:axis]), shape[axis], 1, 1, prod(shape[axis + 1 :])
    first, last = axes
    between, inner = prod(shape[first + 1 : last]), prod(shape[last + 1 :])
    return prod(shape[:first]), shape[first], between, shape[last], inner


@njit(error_model="numpy", cache=True, nogil=True)
def pool_loop(
    x: np.ndarray,
    pooled: np.ndarray,
    init: Any,
    rows: Steps,
    columns: Steps,
    combiner: int,
) -> None:
    """Fill ``pooled`` with the combined windows of ``x`` [outer, height, between,
    width, inner]: the rows of a window are combined first, then their columns.
    """
    outer, height, between, width, inner = x.shape
    lines = x.reshape((outer, height, between, width * inner))
    line = np.empty(width * inner, x.dtype)
    cells = line.reshape((width, inner))
    for a in range(outer):
        for i in range(pooled.shape[1]):
            for b in range(between):
                for k in range(width * inner):
                    line[k] = init
                for t in range(rows[0]):
                    row = i * rows[1] + t * rows[2] - rows[3]
                    if 0 <= row < height:
                        for k in range(width * inner):
                            new = lines[a, row, b, k]
                            line[k] = combined_number(line[k], new, combiner)
                for j in range(pooled.shape[3]):
                    for c in range(inner):
                        pooled[a, i, b, j, c] = init
                    for t in range(columns[0]):
                        at = j * columns[1] + t * columns[2] - columns[3]
                        if 0 <= at < width:
                            for c in range(inner):
                                pooled[a, i, b, j, c] = combined_number(
                                    pooled[a, i, b, j, c], cells[at, c], combiner
                                )


def compiled_pool(
    x: np.ndarray,
    init: Any,
    combine: np.ufunc,
    window: Sequence[int],
    *,
    strides: Sequence[int] | None = None,
    padding: Pairs | None = None,
    window_dilation: Sequence[int] | None = None,
) -> np.ndarray:
    """Return ``combine`` over each window of ``x``, along one or two axes; padding
    takes no part.
    """
    counts, axes, (rows, columns) = window_steps(
        x.shape, window, strides, padding, window_dilation
    )
    pooled = np.empty(counts, x.dtype)
    if pooled.size:
        cells = np.ascontiguousarray(x).reshape(beside_windows(x.shape, axes))
        results = pooled.reshape(beside_windows(counts, axes))
        start = x.dtype.type(init)
        pool_loop(cells, results, start, rows, columns, COMBINERS.index(combine))
    return pooled


@njit(error_model="numpy", cache=True, nogil=True)
def pool_gradient_loop(
    x: np.ndarray, source: np.ndarray, total: np.ndarray, rows: Steps, columns: Steps
) -> None:
    """Add each number of ``source`` to ``total`` at the largest element of its window
    of ``x`` [outer, height, between, width, inner], the first of equal ones.
    """
    outer, high, between, wide, inner = source.shape
    chosen, tap = np.empty(inner, x.dtype), np.empty(inner, np.int32)
    size = columns[0]
    for a in range(outer):
        for i in range(high):
            for b in range(between):
                for j in range(wide):
                    for c in range(inner):
                        tap[c] = -1
                    for t in range(rows[0] * size):
                        row = i * rows[1] + t // size - rows[3]
                        at = j * columns[1] + t % size - columns[3]
                        if 0 <= row < x.shape[1] and 0 <= at < x.shape[3]:
                            for c in range(inner):
                                new = x[a, row, b, at, c]
                                stays = (tap[c] >= 0) & (chosen[c] >= new)
                                tap[c] = tap[c] if stays else t
                                chosen[c] = chosen[c] if stays else new
                    for t in range(rows[0] * size):
                        row = i * rows[1] + t // size - rows[3]
                        at = j * columns[1] + t % size - columns[3]
                        if 0 <= row < x.shape[1] and 0 <= at < x.shape[3]:
                            for c in range(inner):
                                old = total[a, row, b, at, c]
                                new = old + source[a, i, b, j, c]
                                total[a, row, b, at, c] = new if tap[c] == t else old


def compiled_pool_gradient(
    x: np.ndarray,
    source: np.ndarray,
    window: Sequence[int],
    *,
    strides: Sequence[int] | None = None,
    padding: Pairs | None = None,
) -> np.ndarray:
    """Return the gradient of max pooling along one or two axes: for each element of
    ``x``, the sum of the ``source`` of the windows that choose it.
    """
    _, axes, (rows, columns) = window_steps(x.shape, window, strides, padding)
    total = np.zeros(x.shape, x.dtype)
    if source.size:
        arrays = (np.ascontiguousarray(x), np.ascontiguousarray(source), total)
        a, b, c = (each.reshape(beside_windows(each.shape, axes)) for each in arrays)
        pool_gradient_loop(a, b, c, rows, columns)
    return total


SEARCHED_AT_ONCE = 1024


@njit(error_model="numpy", nogil=True)
def is_before(value: Any, found: Any, is_left: bool) -> Any:
    """Return whether the place of ``value`` is before ``found``, with ``is_left`` also
    if they are equal; NaN belong behind all others.
    """
    if is_left:
        return (value <= found) | np.isnan(found)
    return (value < found) | (np.isnan(found) & ~np.isnan(value))


@njit(error_model="numpy", cache=True, nogil=True)
def search_loop(
    table: np.ndarray,
    values: np.ndarray,
    places: np.ndarray,
    halvings: int,
    is_left: bool,
) -> None:
    """Fill ``places`` with those of ``values`` in the ``table``, many at a time."""
    last = np.uint32(len(table) - 1)
    low = np.empty(SEARCHED_AT_ONCE, np.uint32)
    high = np.empty(SEARCHED_AT_ONCE, np.uint32)
    for start in range(0, len(values), SEARCHED_AT_ONCE):
        count = min(SEARCHED_AT_ONCE, len(values) - start)
        for i in range(count):
            low[i], high[i] = 0, len(table)
        for _ in range(halvings):
            for i in range(count):
                first, end = low[i], high[i]  # loaded here, so that nothing branches
                middle = np.uint32(first + ((end - first) >> np.uint32(1)))
                found = table[min(middle, last)]
                goes_left = is_before(values[start + i], found, is_left)
                low[i] = first if goes_left else middle
                high[i] = middle if goes_left else end
        for i in range(count):
            places[start + i] = high[i]


def compiled_search(
    table: np.ndarray, values: np.ndarray, side: str = "left"
) -> np.ndarray:
    """Return the place of each of ``values`` in the sorted ``table`` [n], as
    ``search_sorted``.
    """
    places = np.empty(values.shape, np.uint32)
    halvings, wanted = len(table).bit_length(), np.ascontiguousarray(values)
    search_loop(table, wanted.reshape(-1), places.reshape(-1), halvings, side == "left")
    return places
