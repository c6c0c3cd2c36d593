"""The orders of HLO: total order of floats, sorts by keys or by a comparator, top k."""

from collections.abc import Callable, Sequence

import numpy as np


def total_order_key(x: np.ndarray) -> np.ndarray:
    """Return the integers that sort as floats: -NaN, -inf, .., -0, 0, .., inf, NaN."""
    if x.dtype.itemsize == 1:
        x = x.astype(np.float32)
    bits = x.view(f"i{x.dtype.itemsize}")
    sign = bits >> (8 * bits.itemsize - 1)  # 0 or -1
    key: np.ndarray = bits ^ (sign & np.iinfo(bits.dtype).max)
    return key


def sort_key(x: np.ndarray) -> np.ndarray:
    """Return `total_order_key`, but one key for both zeros and one, the last, for all
    NaNs.
    """
    ordinary = np.where(x == 0, 0, x)
    return total_order_key(np.where(np.isnan(x), np.nan, ordinary).astype(x.dtype))


def sort_by_keys(
    keys: Sequence[np.ndarray], operands: Sequence[np.ndarray], axis: int
) -> tuple[np.ndarray, ...]:
    """Sort the `operands` stably by the first key, then by the second, and so on.

    The integer key `~key` sorts in descending order.
    """
    order = np.lexsort(keys[::-1], axis=axis)
    return tuple(np.take_along_axis(x, order, axis) for x in operands)


def sort_with(
    operands: Sequence[np.ndarray], axis: int, less: Callable[..., np.ndarray]
) -> tuple[np.ndarray, ...]:
    """Sort the `operands` stably by any comparator, merging all rows at once.

    `less(a0, b0, a1, b1, ..)` takes arrays of elements of each operand and tells which
    of the a go before the b.
    """
    rows = [np.moveaxis(x, axis, -1) for x in operands]
    *batch, size = rows[0].shape
    length = 1 << max(size - 1, 0).bit_length()

    def precedes(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Compare elements by their indices; those past the end go last."""
        sides = [index.reshape(*batch, length // 2) for index in (a, b)]
        inside = [np.minimum(index, size - 1) for index in sides]
        elements = [np.take_along_axis(x, i, -1) for x in rows for i in inside]
        is_less = np.broadcast_to(less(*elements), sides[0].shape).reshape(a.shape)
        return np.asarray((a < size) & ((b >= size) | is_less))

    order = np.broadcast_to(np.arange(length), (*batch, length))
    run = 1  # the length of the parts of `order` that are sorted
    while run < size:
        halves = order.reshape(*batch, length // (2 * run), 2, run)
        left, right = halves[..., 0, :], halves[..., 1, :]
        passed = np.zeros_like(left)  # how many of `right` go before each of `left`
        step = run
        while step:  # binary search
            next_passed = passed + step
            last = np.take_along_axis(right, np.minimum(next_passed, run) - 1, -1)
            is_passed = (next_passed <= run) & precedes(last, left)
            passed = np.where(is_passed, next_passed, passed)
            step //= 2
        # However inconsistent `less` is, the result must be a permutation.
        passed = np.maximum.accumulate(passed, axis=-1)
        merged = np.empty((*left.shape[:-1], 2 * run), order.dtype)
        is_left = np.zeros(merged.shape, bool)
        np.put_along_axis(is_left, passed + np.arange(run), True, -1)
        merged[is_left], merged[~is_left] = left.ravel(), right.ravel()
        order = merged.reshape(*batch, length)
        run *= 2
    ordered = [np.take_along_axis(x, order[..., :size], -1) for x in rows]
    return tuple(np.moveaxis(x, -1, axis) for x in ordered)


def top_k(x: np.ndarray, k: int, largest: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Return the `k` largest or smallest of the last axis, in order, with their
    indices.

    Floats are in total order, and of equal numbers the first comes first.
    """
    key = total_order_key(x) if "float" in x.dtype.name else x
    if x.dtype.itemsize < 8:  # fast: sort keys and indices as one number
        pairs = key.astype(np.int64)
        if largest:
            np.invert(pairs, out=pairs)
        pairs <<= 31
        pairs |= np.arange(x.shape[-1])
        if k < x.shape[-1]:
            pairs.partition(k - 1)
        indices = np.sort(pairs[..., :k]) & (2**31 - 1)
    else:
        key = ~key if largest else key
        indices = np.argsort(key, kind="stable")[..., :k]
    return np.take_along_axis(x, indices, -1), indices.astype(np.int32)


def top_values(x: np.ndarray, k: int, largest: bool = True) -> np.ndarray:
    """Return the `k` largest or smallest along the last axis, in order; floats, of 16
    bits or more, in total order.
    """
    is_float = "float" in x.dtype.name
    key = total_order_key(x) if is_float else x
    key = ~key if largest else key
    if 0 < k < x.shape[-1]:
        key = np.partition(key, k - 1)
    first = np.sort(key[..., :k])
    first = ~first if largest else first
    return total_order_key(first.view(x.dtype)).view(x.dtype) if is_float else first


def search_sorted(
    table: np.ndarray, values: np.ndarray, side: str = "left"
) -> np.ndarray:
    """Return the place of each of ``values`` in the sorted ``table`` [n].

    The place is before equal elements, or on the ``right`` of them; NaN belong behind
    all others. A table that is not sorted is searched by halving, with the same result
    as XLA's.
    """
    if np.size(values) >= len(table) and is_sorted(table, values):
        places = table.searchsorted(values, "left" if side == "left" else "right")
        return np.asarray(places, np.uint32)
    low = np.zeros(np.shape(values), np.uint32)
    high = np.full(np.shape(values), len(table), np.uint32)
    for _ in range(len(table).bit_length()):
        middle = low + (high - low) // 2
        found = table[np.minimum(middle, len(table) - 1)]
        if side == "left":
            goes_left = (values <= found) | np.isnan(found)
        else:
            goes_left = (values < found) | np.isnan(found) & ~np.isnan(values)
        low, high = np.where(goes_left, low, middle), np.where(goes_left, middle, high)
    return high


def search_rows(
    tables: np.ndarray, values: np.ndarray, side: str = "left"
) -> np.ndarray:
    """Return ``search_sorted`` of each row of ``values`` in that row of ``tables``."""
    rows, n = tables.shape
    low = np.zeros((rows, np.shape(values)[-1]), np.uint32)
    high = np.full(low.shape, n, np.uint32)
    for _ in range(n.bit_length()):
        middle = low + (high - low) // 2
        found = np.take_along_axis(tables, np.minimum(middle, n - 1), -1)
        if side == "left":
            goes_left = (values <= found) | np.isnan(found)
        else:
            goes_left = (values < found) | np.isnan(found) & ~np.isnan(values)
        low, high = np.where(goes_left, low, middle), np.where(goes_left, middle, high)
    return high


def search_many(
    table: np.ndarray, values: np.ndarray, side: str = "left"
) -> np.ndarray:
    """Return ``search_sorted`` of many values, fast if the table's steps are even."""
    if np.size(values) >= len(table) and is_sorted(table, values):
        places = places_by_steps(table, values, side)
        if places is not None:
            return places.view(np.uint32)
    return search_sorted(table, values, side)


def places_by_steps(
    table: np.ndarray, values: np.ndarray, side: str
) -> np.ndarray | None:
    """Return ``np.searchsorted`` in floats of nearly even steps, many times faster: the
    number of steps from the first to a value, rounded, is its place or the one before.
    Return None if the table's steps are not so even.

    This number grows with the value in spite of rounding. So if those of the table's
    elements are their places, those of all values between are no further off.
    """
    count, of = len(table), table.dtype.type
    if table.dtype.kind != "f" or count < 2:
        return None

    def nearest(x: np.ndarray) -> np.ndarray:
        distance: np.ndarray = x - table[0]
        distance *= steps
        distance += of(0.5)
        if np.isnan(distance.min()):
            distance[np.isnan(distance)] = 0
        np.clip(distance, 0, count - 1, out=distance)
        return distance.astype(np.int32)

    with np.errstate(all="ignore"):
        steps = of(count - 1) / (table[-1] - table[0])
        own = np.arange(count)
        is_even = 0 < steps < np.inf and np.array_equal(nearest(table), own)
        if not is_even:
            return None
        places = nearest(values)
    compare = np.less if side == "left" else np.less_equal
    places += compare(table.take(places, mode="clip"), values)
    nothing = np.isnan(values)
    if nothing.any():
        places[nothing] = count
    return places


def is_sorted(table: np.ndarray, values: np.ndarray) -> bool:
    """Return whether a table of numbers is sorted, and has the type of ``values``."""
    if table.dtype != np.asarray(values).dtype or table.dtype.kind not in "iuf":
        return False
    return bool(np.all((table[:-1] <= table[1:]) | np.isnan(table[1:])))
