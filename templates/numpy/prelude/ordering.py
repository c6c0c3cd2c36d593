"""Top k and sorts as loops of Numba: of few elements, or for small k."""

from typing import Any

import numpy as np
from numba import njit

from .elements import copy_into


@njit(error_model="numpy", nogil=True)
def place_in_order(x: Any, i: int, is_float: bool, largest: bool) -> Any:
    """Return an int64 that is the greater, the earlier element ``i`` of value ``x``
    comes in top k: floats are in total order, and of equal numbers the first comes
    first.
    """
    bits = np.int64(np.float32(x).view(np.int32)) if is_float else np.int64(x)
    key = bits ^ (bits >> 63 & 0x7FFFFFFF) if is_float else bits
    return ((key if largest else ~key) << 31) + (0x7FFFFFFF - i)


@njit(error_model="numpy", nogil=True)
def sift(heap: np.ndarray, size: int) -> None:
    """Move the first of the ``heap`` down to where the numbers below it are greater."""
    moved, at = heap[0], 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= moved:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = moved


@njit(error_model="numpy", nogil=True)
def top_k_of_rows(
    x: np.ndarray, k: int, is_float: bool, largest: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the first ``k`` along the last axis, and their indices."""
    shape = (*x.shape[:-1], k)
    values, indices = np.empty(shape, x.dtype), np.empty(shape, np.int32)
    rows = np.ascontiguousarray(x).reshape((-1, x.shape[-1]))
    best, places = values.reshape((-1, k)), indices.reshape((-1, k))
    heap = np.empty(k, np.int64)  # the best so far, the last of them first
    for row in range(len(rows)):
        heap[:] = np.iinfo(np.int64).min
        for i in range(rows.shape[1]):
            new = place_in_order(rows[row, i], i, is_float, largest)
            if new > heap[0]:
                heap[0] = new
                sift(heap, k)
        for end in range(k - 1, -1, -1):
            place = 0x7FFFFFFF - (heap[0] & 0x7FFFFFFF)
            best[row, end], places[row, end] = rows[row, place], place
            heap[0] = heap[end]
            sift(heap, end)
    return values, indices


@njit(error_model="numpy", cache=True, nogil=True)
def top_k_by_heap(
    x: np.ndarray, k: int, largest: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Return the `k` largest or smallest along the last axis of float32, in order, and
    their indices, as ``top_k``.
    """
    return top_k_of_rows(x, k, True, largest)


@njit(error_model="numpy", cache=True, nogil=True)
def top_k_of_integers_by_heap(
    x: np.ndarray, k: int, largest: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``top_k_by_heap`` of integers of up to 32 bits."""
    return top_k_of_rows(x, k, False, largest)


@njit(error_model="numpy", cache=True, nogil=True)
def small_sort(x: np.ndarray) -> np.ndarray:
    """Return ``x`` in order along the last axis, NaN last."""
    return np.sort(x)


@njit(error_model="numpy", cache=True, nogil=True)
def small_argsort(x: np.ndarray, dtype: Any) -> np.ndarray:
    """Return the places of ``x`` in order along the last axis, of equal numbers the
    first before the others, NaN last.
    """
    n = x.shape[-1]
    rows, order = np.ascontiguousarray(x).reshape((-1, n)), np.empty(x.shape, dtype)
    places, merged = np.empty(n, np.int64), np.empty(n, np.int64)
    for row in range(len(rows)):
        numbers = rows[row]
        for i in range(n):
            places[i] = i
        size = 1
        while size < n:
            for start in range(0, n, 2 * size):
                middle, stop = min(start + size, n), min(start + 2 * size, n)
                left, right = start, middle
                for k in range(start, stop):
                    is_left = right == stop
                    if left < middle and right < stop:
                        a, b = numbers[places[left]], numbers[places[right]]
                        is_left = not (b < a or (a != a and b == b))
                    merged[k] = places[left if is_left else right]
                    left, right = left + is_left, right + (not is_left)
            places, merged = merged, places
            size *= 2
        copy_into(order.reshape((-1, n))[row], places)
    return order


@njit(error_model="numpy", cache=True, nogil=True)
def small_top_k(
    x: np.ndarray, k: int, largest: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``top_k_by_heap`` of float64, by an ordered list."""
    shape = (*x.shape[:-1], k)
    values, indices = np.empty(shape, x.dtype), np.empty(shape, np.int32)
    rows = np.ascontiguousarray(x).reshape((-1, x.shape[-1]))
    best, places = values.reshape((-1, k)), indices.reshape((-1, k))
    keys = np.empty(k, np.int64)
    for row in range(len(rows)):
        for i in range(rows.shape[1]):
            bits = np.float64(rows[row, i]).view(np.int64)
            key = bits ^ (bits >> 63 & 0x7FFFFFFFFFFFFFFF)
            key = key if largest else ~key
            at = min(i, k)
            while at > 0 and keys[at - 1] < key:
                at -= 1
            for later in range(min(i, k - 1), at, -1):
                keys[later] = keys[later - 1]
                places[row, later] = places[row, later - 1]
            if at < k:
                keys[at], places[row, at] = key, i
        for i in range(k):
            best[row, i] = rows[row, places[row, i]]
    return values, indices
