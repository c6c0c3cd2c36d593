"""Sliding windows: pooling, general window reductions, select-and-scatter, cumulative
scans.

Source: the operation-semantics seed, ReduceWindow and SelectAndScatter; XLA CPU where
the seed leaves a choice.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .indexing import pad
from .precision import working_dtype

Pairs = Sequence[tuple[int, int]]


def window_taps(
    x: np.ndarray,
    window: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
) -> list[np.ndarray]:
    """Return element t of every window, as a view of ``x``, for each offset t in the
    window in row-major order.
    """
    taps = []
    for offset in np.ndindex(*window):
        index = []
        axes = zip(x.shape, offset, window, strides, dilation, strict=True)
        for n, at, size, stride, step in axes:
            count = max(0, n - (size - 1) * step + stride - 1) // stride
            stop = at * step + max(0, count - 1) * stride + min(count, 1)
            index.append(slice(at * step, stop, stride))
        taps.append(x[tuple(index)])
    return taps


def slide(
    x: np.ndarray, combine: np.ufunc, size: int, stride: int, dilation: int
) -> np.ndarray:
    """Return ``combine`` over ``size`` elements, ``dilation`` apart, from every
    ``stride``-th position along axis 0.
    """
    count = max(0, len(x) - (size - 1) * dilation + stride - 1) // stride
    stop = (count - 1) * stride + 1
    if count == 0:
        return x[:0]
    if size <= 4 * stride + 8:
        total = x[:stop:stride].copy(order="K")
        for start in range(dilation, size * dilation, dilation):
            combine(total, x[start : start + stop : stride], out=total)
        return total
    blocks, width = x, 1  # each of the blocks combines `width` elements
    total, done = x, size & 1
    while done < size:
        step = width * dilation
        blocks, width = combine(blocks[:-step], blocks[step:]), 2 * width
        if size & width:
            part = blocks[done * dilation :]
            total = combine(total[: len(part)], part) if done else part
            done += width
    return total[:stop:stride]


def reduce_window(
    x: np.ndarray,
    init: Any,
    combine: np.ufunc,
    window: Sequence[int],
    *,
    strides: Sequence[int] | None = None,
    padding: Pairs | None = None,
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> np.ndarray:
    """Return ``combine`` over each window of ``x``, one dimension after the other.

    ``init`` is also the padding, so it must be neutral at least to itself (0 for add,
    -inf for maximum); ``base_dilation`` spreads the elements of ``x``,
    ``window_dilation`` those of the window.
    """
    ones = (1,) * x.ndim
    strides, window_dilation = strides or ones, window_dilation or ones
    result: np.ndarray = x.astype(working_dtype(x.dtype), copy=False)
    init = np.asarray(init).astype(result.dtype)
    if padding or base_dilation:
        gaps = [step - 1 for step in base_dilation or ones]
        result = pad(result, init, padding or ((0, 0),) * x.ndim, gaps)
    for axis, steps in enumerate(zip(window, strides, window_dilation, strict=True)):
        moved = np.moveaxis(result, axis, 0)
        result = np.moveaxis(slide(moved, combine, *steps), 0, axis)
    result = combine(init, result)
    return result.astype(x.dtype, copy=False)


def fold_windows(
    operands: Any,
    inits: Any,
    combine: Callable[..., Any],
    window: Sequence[int],
    *,
    strides: Sequence[int] | None = None,
    padding: Pairs | None = None,
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Return ``combine`` folded over each window in row-major order, starting from
    ``inits``; padding takes no part.

    ``operands`` and ``inits`` are one array each or tuples; ``combine(*accumulators,
    *elements)`` is a function of arrays and returns as many.
    """
    several = isinstance(operands, tuple)
    operands, inits = (operands, inits) if several else ((operands,), (inits,))
    ones = (1,) * operands[0].ndim
    padding = padding or ((0, 0),) * len(ones)
    gaps = [step - 1 for step in base_dilation or ones]
    sizes = window, strides or ones, window_dilation or ones
    inside = np.ones(operands[0].shape, bool)
    pairs = [*zip(operands, inits, strict=True), (inside, False)]
    taps = [window_taps(pad(x, fill, padding, gaps), *sizes) for x, fill in pairs]
    results = tuple(
        np.full(taps[0][0].shape, init, x.dtype)
        for x, init in zip(operands, inits, strict=True)
    )
    for *elements, inside in zip(*taps, strict=True):
        new = combine(*results, *elements)
        new = new if isinstance(new, tuple) else (new,)
        results = tuple(
            np.where(inside, after, before).astype(before.dtype, copy=False)
            for before, after in zip(results, new, strict=True)
        )
    return results if several else results[0]


def blend(mask: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return ``np.where(mask, x, y)`` without branches, several times faster on a mask
    without a pattern.
    """
    if y.dtype.itemsize > 8:
        return np.where(mask, x, y)
    bits = np.dtype(f"i{y.dtype.itemsize}")
    ones = np.negative(mask.view(np.int8)).astype(bits, copy=False)
    mixed: np.ndarray = ((x.view(bits) ^ y.view(bits)) & ones) ^ y.view(bits)
    return mixed.view(y.dtype)


def select_and_scatter(
    x: np.ndarray,
    source: np.ndarray,
    window: Sequence[int],
    *,
    init: Any = 0,
    select: Callable[..., Any] = np.greater_equal,
    combine: Callable[..., Any] = np.add,
    strides: Sequence[int] | None = None,
    padding: Pairs | None = None,
) -> np.ndarray:
    """Return an array like ``x`` of ``init``, with each window's ``source`` combined in
    where the window's chosen element lies: by default the gradient of max pooling.

    A window is scanned in row-major order; ``select(chosen, element)`` tells whether
    the chosen element stays. Cells that several windows choose become
    ``combine(combine(init, first source), second source)``.
    """
    ones = (1,) * x.ndim
    strides, edges = strides or ones, padding or ((0, 0),) * x.ndim
    elements = window_taps(pad(x, 0, edges) if padding else x, window, strides, ones)
    inside = []
    if padding:
        is_inside = pad(np.ones(x.shape, bool), False, edges)
        inside = window_taps(is_inside, window, strides, ones)
    chosen = elements[0]
    # The place of the chosen element in the window; -1 if all was padding so far.
    position = np.zeros(source.shape, np.min_scalar_type(-len(elements)))
    if padding:
        position[~inside[0]] = -1
    for t, element in enumerate(elements[1:], start=1):
        replaces = np.logical_not(select(chosen, element))
        if padding:
            replaces = inside[t] & (replaces | (position < 0))
        chosen = blend(replaces, element, chosen)
        position = blend(replaces, position.dtype.type(t), position)
    shape = [low + n + high for n, (low, high) in zip(x.shape, edges, strict=True)]
    result = np.full(shape, init, x.dtype)
    cells = window_taps(result, window, strides, ones)
    # The last offset first, so that each cell meets its windows in row-major order.
    for t in reversed(range(len(cells))):
        cells[t][...] = blend(position == t, combine(cells[t], source), cells[t])
    inner = [(-low, -high) for low, high in edges]
    return pad(result, init, inner) if padding else result


def cumulative(
    operands: Any,
    inits: Any,
    combine: Callable[..., Any],
    *,
    axis: int = 0,
    reverse: bool = False,
) -> Any:
    """Return ``inits`` combined with elements 0 to i along ``axis`` (i to n - 1 if
    ``reverse``), in that order, at every i.

    ``combine(*left, *right)`` is an associative function of arrays; ``operands`` and
    ``inits`` are one array each or tuples.
    """
    several = isinstance(operands, tuple)
    operands, inits = (operands, inits) if several else ((operands,), (inits,))
    totals = associative_scan(operands, combine, axis=axis, reverse=reverse)
    before = [np.full_like(x, init) for x, init in zip(totals, inits, strict=True)]
    return combine(*before, *totals)


def associative_scan(
    operands: Sequence[np.ndarray],
    combine: Callable[..., Any],
    *,
    axis: int = 0,
    reverse: bool = False,
) -> list[np.ndarray]:
    """Return elements 0 to i combined in that order, at every i: neighbours first, then
    pairs.

    They are combined along ``axis``, from the last one if ``reverse``. ``combine(*left,
    *right)`` is an associative function of arrays.
    """
    if axis:
        moved = [np.moveaxis(x, axis, 0) for x in operands]
        totals = associative_scan(moved, combine, reverse=reverse)
        return [np.moveaxis(x, 0, axis) for x in totals]
    if reverse:
        count = len(operands)

        def swapped(*parts: np.ndarray) -> Any:
            return combine(*parts[count:], *parts[:count])

        totals = associative_scan([x[::-1] for x in operands], swapped)
        return [x[::-1] for x in totals]
    n = len(operands[0])
    if n < 2:
        return [x.copy() for x in operands]
    pairs = combine(*(x[: n - 1 : 2] for x in operands), *(x[1::2] for x in operands))
    odd = associative_scan(pairs if isinstance(pairs, tuple) else (pairs,), combine)
    before = (x[: (n - 1) // 2] for x in odd)
    even = combine(*before, *(x[2::2] for x in operands))
    even = even if isinstance(even, tuple) else (even,)
    totals = [np.empty_like(x) for x in operands]
    for total, x, at_odd, at_even in zip(totals, operands, odd, even, strict=True):
        total[0], total[1::2], total[2::2] = x[0], at_odd, at_even
    return totals
