"""The orders of HLO: sorts by keys or by a comparator, top k, the place of the largest,
without waiting.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import cupy as cp


def sort_by_keys(
    keys: Sequence[cp.ndarray], operands: Sequence[cp.ndarray], axis: int
) -> tuple[cp.ndarray, ...]:
    """Sort the `operands` stably by the first key, then by the second, and so on.

    The integer key `~key` sorts in descending order.
    """
    order = cp.argsort(keys[-1], axis=axis, kind="stable")
    for key in keys[-2::-1]:
        ordered = cp.take_along_axis(key, order, axis)
        again = cp.argsort(ordered, axis=axis, kind="stable")
        order = cp.take_along_axis(order, again, axis)
    return tuple(cp.take_along_axis(x, order, axis) for x in operands)


def sort_vector(x: cp.ndarray) -> cp.ndarray:
    """Sort the numbers of a vector, all NaN last; `cp.sort` puts -NaN first."""
    return cp.sort(cp.where(cp.isnan(x), cp.nan, x))


def argsort_vector(x: cp.ndarray, dtype: Any) -> cp.ndarray:
    """Return a vector's stable order, all NaN last; `cp.argsort` puts -NaN first."""
    order = cp.argsort(cp.where(cp.isnan(x), cp.nan, x), kind="stable")
    return order.astype(dtype)


def sort_with(
    operands: Sequence[cp.ndarray], axis: int, less: Callable[..., cp.ndarray]
) -> tuple[cp.ndarray, ...]:
    """Sort the `operands` stably by any comparator, merging all rows at once.

    `less(a0, b0, a1, b1, ..)` takes arrays of elements of each operand and tells which
    of the a go before the b.
    """
    rows = [cp.moveaxis(x, axis, -1) for x in operands]
    *batch, size = rows[0].shape
    length = 1 << max(size - 1, 0).bit_length()

    def precedes(a: cp.ndarray, b: cp.ndarray) -> cp.ndarray:
        """Compare elements by their indices; those past the end go last."""
        sides = [index.reshape(*batch, length // 2) for index in (a, b)]
        inside = [cp.minimum(index, size - 1) for index in sides]
        elements = [cp.take_along_axis(x, i, -1) for x in rows for i in inside]
        is_less = cp.broadcast_to(less(*elements), sides[0].shape).reshape(a.shape)
        return (a < size) & ((b >= size) | is_less)

    order = cp.broadcast_to(cp.arange(length), (*batch, length))
    run = 1  # the length of the parts of `order` that are sorted
    while run < size:
        halves = order.reshape(*batch, length // (2 * run), 2, run)
        left, right = halves[..., 0, :], halves[..., 1, :]
        # How many of `right` go before each of `left`.
        passed = cp.zeros(left.shape, dtype=left.dtype)
        step = run
        while step:  # binary search
            next_passed = passed + step
            last = cp.take_along_axis(right, cp.minimum(next_passed, run) - 1, -1)
            is_passed = (next_passed <= run) & precedes(last, left)
            passed = cp.where(is_passed, next_passed, passed)
            step //= 2
        # However inconsistent `less` is, the result must be a permutation.
        places = cp.arange(run) + running(passed, cp.maximum, -1)
        is_left = cp.zeros((*left.shape[:-1], 2 * run), dtype=cp.bool_)
        cp.put_along_axis(is_left, places, True, -1)
        count = is_left.cumsum(axis=-1, dtype=order.dtype)  # of `left` up to here
        from_left = cp.take_along_axis(left, cp.maximum(count - 1, 0), -1)
        other = cp.minimum(cp.arange(2 * run) - count, run - 1)
        from_right = cp.take_along_axis(right, other, -1)
        order = cp.where(is_left, from_left, from_right).reshape(*batch, length)
        run *= 2
    ordered = [cp.take_along_axis(x, order[..., :size], -1) for x in rows]
    return tuple(cp.moveaxis(x, -1, axis) for x in ordered)


def total_order_key(x: cp.ndarray) -> cp.ndarray:
    """Return the integers that sort as floats: -NaN, -inf, .., -0, 0, .., inf, NaN."""
    bits = x.view(f"i{x.dtype.itemsize}")
    return cp.where(bits < 0, bits ^ cp.iinfo(bits.dtype).max, bits)


def sort_key(x: cp.ndarray) -> cp.ndarray:
    """Return `total_order_key`, but one key for both zeros and one, the last, for all
    NaNs.
    """
    key = cp.where(x == 0, 0, total_order_key(x))
    return cp.where(cp.isnan(x), cp.iinfo(key.dtype).max, key)


def first_largest(x: cp.ndarray, *, axis: int, dtype: Any) -> cp.ndarray:
    """Return the first place of the largest number, or of a NaN where there is one."""
    is_largest = (x == x.max(axis=axis, keepdims=True)) | cp.isnan(x)
    return is_largest.argmax(axis=axis).astype(dtype)


def first_smallest(x: cp.ndarray, *, axis: int, dtype: Any) -> cp.ndarray:
    """Return the first place of the smallest number, or of a NaN where there is one."""
    is_smallest = (x == x.min(axis=axis, keepdims=True)) | cp.isnan(x)
    return is_smallest.argmax(axis=axis).astype(dtype)


def running(x: cp.ndarray, combine: Callable[..., cp.ndarray], axis: int) -> cp.ndarray:
    """Return ``combine`` of the elements 0 to i along ``axis`` at every i, for an
    associative function.
    """
    totals = cp.moveaxis(x, axis, 0)
    step = 1  # every total combines up to this many elements
    while step < len(totals):
        totals = cp.concatenate([totals[:step], combine(totals[:-step], totals[step:])])
        step *= 2
    return cp.moveaxis(totals, 0, axis)


def bitwise_reduce(
    x: cp.ndarray, combine: Callable[..., cp.ndarray], axes: Sequence[int], start: int
) -> cp.ndarray:
    """Return ``combine``, a bitwise function, of all elements along ``axes`` and of
    ``start``, its neutral element.
    """
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    shape = [x.shape[axis] for axis in rest]
    count = prod(x.shape[axis] for axis in axes)
    elements = x.transpose(*axes, *rest).reshape(count, *shape)
    totals = cp.concatenate([cp.full((1, *shape), start, dtype=x.dtype), elements])
    while len(totals) > 1:
        half = len(totals) // 2
        pairs = combine(totals[:half], totals[half : 2 * half])
        totals = cp.concatenate([pairs, totals[2 * half :]])
    return totals[0]


sorted_places = cp.ElementwiseKernel(
    "raw T table, T value, uint32 size, bool right",
    "uint32 place",
    """
    unsigned int low = 0;
    place = size;
    for (unsigned int left = size; left; left /= 2) {
        unsigned int middle = low + (place - low) / 2;
        T found = table[middle < size ? middle : size - 1];
        bool is_nan = found != found && (!right || value == value);
        if (is_nan || value < found || (!right && value == found)) place = middle;
        else low = middle;
    }
    """,
    "sorted_places",
)


def search_sorted(
    table: cp.ndarray, values: cp.ndarray, side: str = "left"
) -> cp.ndarray:
    """Return the place of each of ``values`` in the sorted ``table`` [n].

    The place is before equal elements, or on the ``right`` of them; NaN belong behind
    all others. The table is searched by halving, with the same result as XLA's also if
    it is not sorted.
    """
    is_right = cp.bool_(side == "right")
    return sorted_places(table, values, cp.uint32(len(table)), is_right)
