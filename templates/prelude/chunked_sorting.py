"""Sorting along an axis that is cut: sorted chunks lie in files to be merged."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from math import prod
from typing import Any

import dask.array as da
import numpy as np

from .chunked_tasks import one_of
from .ordering import sort_with
from .tiles import LINE_CHUNKS
from .tiles_in_files import Stored
from .tiles_recut import recut, whole_along

SAMPLES = 64  # elements of each sorted chunk that are compared at a time
MAPPED_RUNS_BYTES = 1 << 25  # of all runs that a task maps as a whole, at most
ROUNDS = 64  # of comparing; 5 or so are needed
SortedRun = tuple[Any, ...]  # Stored: a sorted chunk of each array, as [*lines, place]
Order = Callable[..., np.ndarray]  # returns the stable order along keys' last axis


def sort_in_chunks(x: da.Array, axis: int) -> da.Array:
    """Return ``np.sort(x, axis)``, stable."""
    return in_order(order_by_keys, (x,), axis, 1)[0]


def argsort_in_chunks(x: da.Array, dtype: Any, axis: int) -> da.Array:
    """Return ``np.argsort(x, axis, kind="stable")``."""
    lines = whole_lines(x.chunks, axis)
    if lines is not None:  # as chunks, places would wait in memory for the lines
        found = da.map_blocks(argsort_lines, recut(x, lines), axis, dtype, dtype=dtype)
        return recut(found, x.chunks)
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    places = da.arange(x.shape[axis], dtype=dtype, chunks=(x.chunks[axis],))
    places = da.broadcast_to(places.reshape(shape), x.shape, x.chunks)
    return in_order(order_by_keys, (x, places), axis, 1)[1]


def sort_by_keys_in_chunks(
    keys: Sequence[da.Array], operands: Sequence[da.Array], axis: int
) -> tuple[da.Array, ...]:
    """Return ``sort_by_keys`` of lazy arrays."""
    arrays = (*keys, *operands)
    return in_order(order_by_keys, arrays, axis, len(keys))[len(keys) :]


def sort_with_in_chunks(
    operands: Sequence[da.Array], axis: int, less: Callable[..., np.ndarray]
) -> tuple[da.Array, ...]:
    """Return ``sort_with`` of lazy arrays."""
    order = partial(order_by_comparing, less)
    return in_order(order, operands, axis, len(operands))


def in_order(
    order: Order, arrays: Sequence[da.Array], axis: int, keys: int
) -> tuple[da.Array, ...]:
    """Return the arrays in the ``order`` of the first ``keys`` of them.

    Chunks are cut anew so that a task sorts whole lines, unless the lines are too long.
    """
    chunks = arrays[0].chunks
    lines = whole_lines(chunks, axis)
    if lines is None:
        return sort_and_merge(order, arrays, axis, keys)
    letters = "ijklmnopqr"[: arrays[0].ndim]
    pairs = [part for x in arrays for part in (recut(x, lines), letters)]
    sort = partial(sorted_lines, order, axis, keys)
    found = da.blockwise(sort, letters, *pairs, meta=np.empty(0, object))
    results = (
        one_of(found, k, np.zeros((0,) * x.ndim, x.dtype)) for k, x in enumerate(arrays)
    )
    return tuple(recut(result, chunks) for result in results)


def whole_lines(
    chunks: tuple[tuple[int, ...], ...], axis: int
) -> tuple[tuple[int, ...], ...] | None:
    """Return chunks of whole lines along an ``axis``, or None if a line is much longer
    than the given chunks have room for.
    """
    room, line = prod(map(max, chunks)), sum(chunks[axis])
    if line > LINE_CHUNKS * room:
        return None
    return whole_along(chunks, axis, max(room, line))


def argsort_lines(x: np.ndarray, axis: int, dtype: Any) -> np.ndarray:
    """Return ``np.argsort`` of a block that has whole lines along the axis."""
    return np.argsort(x, axis, kind="stable").astype(dtype)


def sort_and_merge(
    order: Order, arrays: Sequence[da.Array], axis: int, keys: int
) -> tuple[da.Array, ...]:
    """Return the arrays in the ``order`` of the first ``keys`` of them.

    Chunks are sorted and put into files, in dask's temporary directory. Each chunk of
    the result takes its parts of these runs: their ends are found by comparing samples,
    and the parts are sorted once more.
    """
    chunks = arrays[0].chunks
    letters = "ijklmnopqr"[: arrays[0].ndim]
    run, lines = letters[axis], letters.replace(letters[axis], "")
    merged, meta = letters.replace(run, "z"), np.empty(0, object)
    pairs = [part for x in arrays for part in (x.rechunk(chunks), letters)]
    sort = partial(sorted_run, order, axis, keys)
    runs = da.blockwise(sort, letters, *pairs, meta=meta)
    edges = list(accumulate(chunks[axis], initial=0))
    numbers = da.arange(len(chunks[axis]), chunks=1)  # of chunks of the result
    find = partial(start_in_runs, order, keys, edges)
    found = [runs, letters, numbers, "z"]
    starts = da.blockwise(find, lines + "z", *found, align_arrays=False, meta=meta)
    merge = partial(merge_runs, order, axis, keys, edges)
    results = da.blockwise(
        merge,
        merged,
        *found,
        starts,
        lines + "y",
        align_arrays=False,
        adjust_chunks={"z": chunks[axis]},
        meta=meta,
    )
    return tuple(one_of(results, k, np.empty(0, x.dtype)) for k, x in enumerate(arrays))


def order_by_keys(*keys: np.ndarray) -> np.ndarray:
    """Return the stable order along the last axis by the first key, the second, .."""
    return np.lexsort(keys[::-1], axis=-1)


def order_by_comparing(
    less: Callable[..., np.ndarray], *keys: np.ndarray
) -> np.ndarray:
    """Return the stable order along the last axis by a comparator of ``sort_with``."""
    places = np.broadcast_to(np.arange(keys[0].shape[-1]), keys[0].shape)
    return sort_with((*keys, places), -1, lambda *pairs: less(*pairs[:-2]))[-1]


def sorted_lines(
    order: Order, axis: int, keys: int, *blocks: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Return blocks of whole lines, each line sorted."""
    rows = [np.moveaxis(x, axis, -1) for x in blocks]
    return tuple(np.moveaxis(x, -1, axis) for x in sorted_rows(order, keys, rows))


def sorted_rows(order: Order, keys: int, rows: list[np.ndarray]) -> list[np.ndarray]:
    """Return arrays in the ``order`` of their first ``keys``, along the last axis.

    A single key is sorted directly, which takes much less time and memory than an
    order.
    """
    if order is order_by_keys and len(rows) == 1:
        return [np.sort(rows[0], axis=-1)]
    places = order(*rows[:keys])
    return [np.take_along_axis(x, places, -1) for x in rows]


def sorted_run(order: Order, axis: int, keys: int, *blocks: np.ndarray) -> SortedRun:
    """Return a sorted chunk, in files, with its lines along the last axis."""
    found = sorted_lines(order, axis, keys, *blocks)
    return tuple(Stored(np.moveaxis(x, axis, -1)) for x in found)


def start_in_runs(
    order: Order,
    keys: int,
    edges: list[int],
    in_files: list[SortedRun],
    number: np.ndarray,
) -> np.ndarray:
    """Return how many elements of each run precede a chunk of the result, as [*lines,
    run]. Equal elements are in the order of the runs.
    """
    runs = arrays_of(in_files, keys)
    starts = np.empty((*runs[0][0].shape[:-1], len(runs)), np.int64)
    for line in np.ndindex(starts.shape[:-1]):
        of_line = [[line_of(key, line) for key in run] for run in runs]
        starts[line] = counts_of_first(order, of_line, edges[number[0]])
    return starts


def arrays_of(in_files: list[SortedRun], count: int | None) -> list[list[Any]]:
    """Return the first arrays of each run: as pages of their files if these are small,
    else as arrays in files, of which few pages are mapped at a time.
    """
    size = sum(part.nbytes for run in in_files for part in run)
    is_small = size <= MAPPED_RUNS_BYTES
    return [
        [part.read() if is_small else part.array for part in run[:count]]
        for run in in_files
    ]


def line_of(x: Any, place: tuple[int, ...]) -> Any:
    """Return a line of an array that ``arrays_of`` returned."""
    if not hasattr(x, "mapped"):
        return x[place]
    line = x.reshape(x.shape[-1:])
    number = int(np.ravel_multi_index(place, x.shape[:-1])) if place else 0
    line.offset += number * x.shape[-1] * x.dtype.itemsize
    return line


def look_up_in(line: Any, places: np.ndarray) -> Any:
    """Return the elements of a line at some places."""
    return (line.mapped() if hasattr(line, "mapped") else line)[places]


def counts_of_first(order: Order, runs: list[list[Any]], rank: int) -> np.ndarray:
    """Return how many elements of each run are among the first ``rank``."""
    n = np.array([run[0].shape[0] for run in runs])
    low, high = np.zeros_like(n), n
    for _ in range(ROUNDS):
        if (low == high).all():
            break
        low, high = closer_bounds(order, runs, rank, low, high)
    if (low < high).any() or low.sum() != rank:
        return in_turn(rank, n)
    return low


def in_turn(rank: int, lengths: np.ndarray) -> np.ndarray:
    """Return counts that add up to ``rank``: all elements of the first run, then of the
    next.
    """
    counts: np.ndarray = np.clip(rank - np.cumsum(lengths) + lengths, 0, lengths)
    return counts


def closer_bounds(
    order: Order,
    runs: list[list[Any]],
    rank: int,
    low: np.ndarray,
    high: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return closer bounds for how many elements of each run are among the first
    ``rank``.
    """
    spread, top = (high - low)[:, None], high[:, None]
    at = low[:, None] + (2 * np.arange(SAMPLES) + 1) * spread // (2 * SAMPLES)
    samples = []
    for k in range(len(runs[0])):
        pairs = zip(runs, at, strict=True)
        parts = [
            look_up_in(run[k], np.minimum(i, run[k].shape[0] - 1)) for run, i in pairs
        ]
        samples.append(np.concatenate(parts))
    ordered = order(*samples)
    # At least, and at most, so many elements of each run do not come after a sample.
    least = np.concatenate([low[:, None], np.minimum(at + 1, top)], axis=1)
    most = np.concatenate([np.minimum(at, top), top], axis=1)
    most[:, 1:] = np.maximum(most[:, 1:], least[:, 1:])
    least_of_all, most_of_all = (
        x[:, 0].sum() + np.cumsum(np.diff(x).ravel()[ordered]) for x in (least, most)
    )
    # The last sample that is surely among the first, and the first that surely is not.
    inside = np.broadcast_to(spread > 0, at.shape).ravel()[ordered]
    ones = np.flatnonzero(inside & (most_of_all <= rank))
    others = np.flatnonzero(inside & (least_of_all > rank))
    place, run = np.argsort(ordered).reshape(at.shape), np.arange(len(runs))
    if ones.size:
        low = least[run, (place <= ones[-1]).sum(axis=1)]
    if others.size:
        high = most[run, (place < others[0]).sum(axis=1)]
    return low, np.maximum(low, high)


def merge_runs(
    order: Order,
    axis: int,
    keys: int,
    edges: list[int],
    in_files: list[SortedRun],
    number: np.ndarray,
    starts: list[np.ndarray],
) -> tuple[np.ndarray, ...]:
    """Return a chunk of the result of each array."""
    runs = arrays_of(in_files, None)
    n, k = np.array([run[0].shape[-1] for run in runs]), number[0]
    ends = np.stack([*starts, np.broadcast_to(n, starts[0].shape)])
    # An inconsistent comparator gives no order, but no element may be lost.
    rising = np.diff(ends, axis=0).min(axis=(0, -1))[..., None] >= 0
    first, last = (np.where(rising, ends[j], in_turn(edges[j], n)) for j in (k, k + 1))
    rows, size = [], edges[k + 1] - edges[k]
    for x in range(len(runs[0])):
        row = np.empty((*starts[0].shape[:-1], size), runs[0][x].dtype)
        for line in np.ndindex(starts[0].shape[:-1]):
            pieces = zip(runs, first[line], last[line], strict=True)
            row[line] = np.concatenate(
                [line_of(run[x], line)[i:j] for run, i, j in pieces]
            )
        rows.append(row)
    return tuple(np.moveaxis(x, -1, axis) for x in sorted_rows(order, keys, rows))
