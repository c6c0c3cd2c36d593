"""Gather, scatter, dynamic slices and padding with the bounds rules of HLO.

Source: the operation-semantics seed, Gather, Scatter, DynamicSlice, DynamicUpdateSlice,
Pad.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod
from typing import Any

import numpy as np


def clamp_start(start: Any, limit: int) -> Any:
    """Return ``start`` moved into [0, limit]; a scalar of any integer type gives an
    int, an array an int64 array.
    """
    start = np.maximum(start, 0).astype(np.uint64)
    clamped = np.minimum(start, np.uint64(limit)).astype(np.int64)
    return clamped if clamped.ndim else int(clamped)


def dynamic_slice(
    x: np.ndarray, starts: Sequence[Any], sizes: Sequence[int]
) -> np.ndarray:
    """Return a view of ``sizes`` elements of ``x`` from ``starts``, which are clamped
    so that the slice fits.
    """
    index = []
    for start, n, size in zip(starts, x.shape, sizes, strict=True):
        start = clamp_start(start, n - size)
        index.append(slice(start, start + size))
    return x[tuple(index)]


def dynamic_update_slice(
    x: np.ndarray, update: np.ndarray, starts: Sequence[Any]
) -> np.ndarray:
    """Copy of ``x`` with ``update`` written from ``starts``, which are clamped so that
    the update fits.
    """
    result = x.copy()
    dynamic_slice(result, starts, update.shape)[...] = update
    return result


def pad(
    x: np.ndarray,
    value: Any,
    padding: Sequence[tuple[int, int]],
    interior: Sequence[int] | None = None,
) -> np.ndarray:
    """Return ``x`` with (low, high) ``padding`` of ``value``; negative numbers crop.

    First, ``interior`` copies of ``value`` are put between neighbours.
    """
    shape, inside, kept = [], [], []
    for axis, (low, high) in enumerate(padding):
        start, n = max(low, 0), x.shape[axis]
        place = slice(start, start + n)
        if interior:
            n += max(n - 1, 0) * interior[axis]
            place = slice(start, start + n, interior[axis] + 1)
        shape.append(start + n + max(high, 0))
        inside.append(place)
        kept.append(slice(max(-low, 0), shape[-1] - max(-high, 0)))
    padded = np.full(shape, value, x.dtype)
    padded[tuple(inside)] = x
    return padded[tuple(kept)]


def take_or_fill(
    x: np.ndarray, indices: Any, axis: int = 0, fill: Any = np.nan
) -> np.ndarray:
    """Return ``np.take(x, indices, axis)``, and ``fill`` where an index is outside.

    Negative indices count from the end.
    """
    n = x.shape[axis]
    inside = (indices >= -n) & (indices < n)
    taken = np.take(x, np.where(inside, indices, 0), axis=axis)
    inside = inside.reshape(inside.shape + (1,) * (x.ndim - axis - 1))
    return np.where(inside, taken, x.dtype.type(fill))


def get_or_fill(
    x: np.ndarray, index: tuple[Any, ...], fill: Any = np.nan
) -> np.ndarray:
    """Return ``x[index]`` by element, and ``fill`` where an index is outside.

    Negative indices count from the end.
    """
    tests = [(i >= -n) & (i < n) for i, n in zip(index, x.shape, strict=True)]
    taken = x[tuple(np.where(test, i, 0) for i, test in zip(index, tests, strict=True))]
    return np.where(reduce(np.logical_and, tests), taken, x.dtype.type(fill))


def window_starts(
    indices: np.ndarray,
    index_vector_dim: int,
    start_index_map: Sequence[int],
    operand_batching_dims: Sequence[int],
    start_indices_batching_dims: Sequence[int],
) -> tuple[dict[int, np.ndarray], tuple[int, ...]]:
    """Return the starts of the windows along each indexed operand dimension, as arrays
    of the batch shape, and that shape.
    """
    if index_vector_dim == indices.ndim:
        indices = indices[..., None]
    vectors = np.moveaxis(indices, index_vector_dim, -1)
    batch = vectors.shape[:-1]
    starts = {dim: vectors[..., k] for k, dim in enumerate(start_index_map)}
    pairs = zip(operand_batching_dims, start_indices_batching_dims, strict=True)
    for dim, axis in pairs:
        place = axis - (axis > index_vector_dim >= 0)
        positions: np.ndarray = np.indices(batch, sparse=True)[place]
        starts[dim] = np.broadcast_to(positions, batch)
    return dict(sorted(starts.items())), batch


def open_windows(
    starts: Sequence[np.ndarray], sizes: Sequence[int]
) -> list[np.ndarray]:
    """Return index arrays that broadcast to [*batch, *sizes], one for each of the
    ``starts`` [*batch].
    """
    windows = []
    for k, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        steps = np.arange(size).reshape((size,) + (1,) * (len(sizes) - k - 1))
        windows.append(start.reshape(start.shape + (1,) * len(sizes)) + steps)
    return windows


def gather(
    x: np.ndarray,
    indices: np.ndarray,
    slice_sizes: Sequence[int],
    *,
    offset_dims: Sequence[int] = (),
    collapsed_slice_dims: Sequence[int] = (),
    start_index_map: Sequence[int] = (),
    operand_batching_dims: Sequence[int] = (),
    start_indices_batching_dims: Sequence[int] = (),
    index_vector_dim: int = -1,
) -> np.ndarray:
    """Return one slice of ``slice_sizes`` of ``x`` for each index vector, moved inside
    ``x`` where it would not fit.

    ``indices`` holds vectors along ``index_vector_dim`` (``indices.ndim``: every index
    is a vector of its own), whose component k is a start along dimension
    ``start_index_map[k]``. The result has the other dimensions of ``indices`` and, at
    ``offset_dims``, the dimensions of the slices that are neither collapsed nor
    batching.
    """
    starts, batch = window_starts(
        indices,
        index_vector_dim,
        start_index_map,
        operand_batching_dims,
        start_indices_batching_dims,
    )
    rest = [dim for dim in range(x.ndim) if dim not in starts]
    inside = [
        np.asarray(clamp_start(start, x.shape[dim] - slice_sizes[dim]))
        for dim, start in starts.items()
    ]
    index: list[Any] = open_windows(inside, [slice_sizes[dim] for dim in starts])
    index += [slice(slice_sizes[dim]) for dim in rest]
    slices = x.transpose(*starts, *rest)[tuple(index)]
    dropped = (*collapsed_slice_dims, *operand_batching_dims)
    kept = [dim for dim in (*starts, *rest) if dim not in dropped]
    window = tuple(slice_sizes[dim] for dim in kept)
    slices = slices.reshape((batch if starts else ()) + window)
    slices = np.broadcast_to(slices, batch + window)
    places = [len(batch) + kept.index(dim) for dim in sorted(kept)]
    return np.moveaxis(slices, places, offset_dims)


def scatter_at(
    x: np.ndarray, index: Any, values: Any, combine: np.ufunc | None = None
) -> np.ndarray:
    """Return a copy of ``x`` with ``values`` at ``x[index]``, without those outside.

    If a ufunc is given, it combines the values with the elements of ``x``. ``index`` is
    an array of integers or a tuple of several, one for each of the first axes of ``x``.
    """
    result = x.copy()
    indices = index if isinstance(index, tuple) else (index,)
    scatter_into(result, indices, values, combine)
    return result


def put_at(
    x: np.ndarray, index: Any, values: Any, combine: np.ufunc | None = None
) -> np.ndarray:
    """Return a copy of ``x`` with ``values`` at ``x[index]``, without those outside;
    negative indices count from the end.
    """
    result = x.copy()
    indices = index if isinstance(index, tuple) else (index,)
    if combine is None or not x.ndim == len(indices) == indices[0].ndim == 1:
        scatter_into(result, indices, values, combine, from_end=True)
        return result
    try:
        combine.at(result, indices[0], values)
    except IndexError:  # some are outside
        result, places, n = x.copy(), indices[0], len(x)
        inside = (places >= -n) & (places < n)
        kept = np.broadcast_to(values, places.shape)[inside]
        combine.at(result, places[inside], kept)
    return result


def scatter_into(
    x: np.ndarray,
    indices: Sequence[Any],
    values: Any,
    combine: np.ufunc | None,
    *,
    from_end: bool = False,
) -> None:
    """Apply ``scatter_at`` or ``put_at`` in place."""
    places = np.broadcast_arrays(*indices)
    kept = np.broadcast_to(values, places[0].shape + x.shape[len(places) :])
    sizes = list(zip(places, x.shape, strict=False))
    if any(
        i.size and (i.min() < (-n if from_end else 0) or i.max() >= n) for i, n in sizes
    ):
        inside = np.logical_and.reduce(
            [(i >= (-n if from_end else 0)) & (i < n) for i, n in sizes]
        )
        kept, places = kept[inside], tuple(i[inside] for i in places)
    if combine is None:
        x[tuple(places)] = kept
    elif x.ndim == len(indices) == 1:  # several times faster
        combine.at(x, places[0].ravel(), kept.ravel())
    else:
        combine.at(x, tuple(places), kept)


def scatter_rows(
    x: np.ndarray, index: Any, values: Any, combine: np.ufunc
) -> np.ndarray:
    """Return ``scatter_at`` of long rows, several times faster: in rounds in which no
    row comes twice, and after many rounds by ``combine.at``.
    """
    places = np.broadcast_arrays(*(index if isinstance(index, tuple) else (index,)))
    row = np.zeros(places[0].shape, np.int64)
    inside = np.ones(row.shape, bool)
    for i, n in zip(places, x.shape, strict=False):
        row, inside = row * n + i.astype(np.int64), inside & (i >= 0) & (i < n)
    window = x.shape[len(places) :]
    kept, row = np.broadcast_to(values, row.shape + window)[inside], row[inside]
    result = x.copy(order="C")
    table, rounds = result.reshape(-1, *window), occurrences(row)
    for chosen in rounds[:64]:
        rows = row[chosen]
        table[rows] = combine(table[rows], kept[chosen])
    if len(rounds) > 64:
        late = np.concatenate(rounds[64:])
        combine.at(table, row[late], kept[late])
    return result


def scatter(
    operands: Any,
    indices: np.ndarray,
    updates: Any,
    combine: Callable[..., Any] | None = None,
    *,
    update_window_dims: Sequence[int] = (),
    inserted_window_dims: Sequence[int] = (),
    scatter_dims_to_operand_dims: Sequence[int] = (),
    input_batching_dims: Sequence[int] = (),
    scatter_indices_batching_dims: Sequence[int] = (),
    index_vector_dim: int = -1,
) -> Any:
    """Return ``operands`` with one window of ``updates`` combined in for each index
    vector, in row-major order.

    ``operands`` and ``updates`` are one array each or tuples of arrays.
    ``combine(*current, *update)`` is a ufunc or a function of arrays; None replaces.
    ``indices`` is read as in gather, except that a window which does not fit in the
    operand is left out. ``update_window_dims`` are the dimensions of ``updates`` that
    run inside a window.
    """
    several = isinstance(operands, tuple)
    operands, updates = (operands, updates) if several else ((operands,), (updates,))
    shape, ndim = operands[0].shape, operands[0].ndim
    starts, batch = window_starts(
        indices,
        index_vector_dim,
        scatter_dims_to_operand_dims,
        input_batching_dims,
        scatter_indices_batching_dims,
    )
    sizes = iter(updates[0].shape[dim] for dim in update_window_dims)
    absent = (*inserted_window_dims, *input_batching_dims)
    window = [1 if dim in absent else next(sizes) for dim in range(ndim)]
    fits = np.ones(batch, bool)
    for dim, start in starts.items():
        fits &= (start >= 0) & (start <= shape[dim] - window[dim])

    # Each operand becomes a table, one row for each position along indexed dimensions.
    order = [*starts, *(dim for dim in range(ndim) if dim not in starts)]
    split = len(starts)
    row = np.zeros((np.count_nonzero(fits),) + (1,) * split, np.int64)
    inside = [start[fits].astype(np.int64) for start in starts.values()]
    opened = open_windows(inside, [window[dim] for dim in starts])
    for dim, positions in zip(starts, opened, strict=True):
        row = row * shape[dim] + positions
    results, tables, values = [], [], []
    for x, update in zip(operands, updates, strict=True):
        result = np.array(x.transpose(order), order="C")
        table = result.reshape(prod(result.shape[:split]), *result.shape[split:])
        table = table[(slice(None), *(slice(window[dim]) for dim in order[split:]))]
        inner = range(len(batch), update.ndim)
        update = np.moveaxis(update, update_window_dims, inner)
        update = update.reshape(*batch, *window)[fits]
        results.append(result.transpose(np.argsort(order)))
        tables.append(table)
        update = update.transpose(0, *(1 + dim for dim in order))
        values.append(update.reshape(row.size, *table.shape[1:]))
    combine_rows(tables, row.reshape(-1), values, combine)
    return tuple(results) if several else results[0]


def combine_rows(
    tables: Sequence[np.ndarray],
    row: np.ndarray,
    values: Sequence[np.ndarray],
    combine: Callable[..., Any] | None,
) -> None:
    """Combine ``values[k]`` into row ``row[k]`` of the tables, in place, in order."""
    if combine is None:
        for table, value in zip(tables, values, strict=True):
            table[row] = value
    elif isinstance(combine, np.ufunc) and prod(tables[0].shape[1:]) == 1:
        inner = tuple(range(1, tables[0].ndim))
        combine.at(tables[0].squeeze(inner), row, values[0].squeeze(inner))
    else:
        for chosen in occurrences(row):
            rows = row[chosen]
            current = [table[rows] for table in tables]
            new = combine(*current, *(value[chosen] for value in values))
            new = new if isinstance(new, tuple) else (new,)
            for table, value in zip(tables, new, strict=True):
                table[rows] = value


def occurrences(keys: np.ndarray) -> list[np.ndarray]:
    """Return the positions in ``keys`` [n] in rounds without repetition: first
    occurrences, second occurrences, ..
    """
    order = np.argsort(keys, kind="stable")
    position = np.arange(len(keys))
    is_first = np.diff(keys[order], prepend=-1) != 0
    rank = position - np.maximum.accumulate(np.where(is_first, position, 0))
    order, ends = order[np.argsort(rank, kind="stable")], np.cumsum(np.bincount(rank))
    return np.split(order, ends[:-1])
