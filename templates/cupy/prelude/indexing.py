"""Gather, scatter and dynamic slices with the bounds rules of HLO. The host never waits
for the device, unless noted.

Source: the operation-semantics seed, Gather, Scatter, DynamicSlice, DynamicUpdateSlice.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import cupy as cp
import cupyx

from .ordering import running


def copied(x: cp.ndarray) -> cp.ndarray:
    """Return the copy of an array, made by the device's own copying of memory."""
    copy = cp.empty_like(x)
    cp.copyto(copy, x)
    return copy


def clamp_start(start: Any, limit: int) -> Any:
    """Return ``start`` moved into [0, limit]: a number if it is known on the host, else
    int64 on the device.
    """
    if not isinstance(start, cp.ndarray):
        return min(max(int(start), 0), limit)
    bounded = cp.minimum(cp.maximum(start, 0).astype(cp.uint64), cp.uint64(limit))
    return bounded.astype(cp.int64)


def slice_index(
    starts: Sequence[Any], shape: Sequence[int], sizes: Sequence[int]
) -> tuple[Any, ...]:
    """Return the index of ``sizes`` elements from ``starts``, which are clamped so that
    the slice fits.
    """
    index = []
    for axis, (start, n, size) in enumerate(zip(starts, shape, sizes, strict=True)):
        places = clamp_start(start, n - size) + cp.arange(size)
        index.append(places.reshape((size,) + (1,) * (len(sizes) - axis - 1)))
    return tuple(index)


def dynamic_slice(
    x: cp.ndarray, starts: Sequence[Any], sizes: Sequence[int]
) -> cp.ndarray:
    """Return ``sizes`` elements of ``x`` from ``starts``, which are clamped so that the
    slice fits.
    """
    for axis, (start, n, size) in enumerate(zip(starts, x.shape, sizes, strict=True)):
        if size < n:
            x = cp.take(x, clamp_start(start, n - size) + cp.arange(size), axis=axis)
    return x


def dynamic_update_slice(
    x: cp.ndarray, update: cp.ndarray, starts: Sequence[Any]
) -> cp.ndarray:
    """Copy of ``x`` with ``update`` written from ``starts``, which are clamped so that
    the update fits.
    """
    result = copied(x)
    result[slice_index(starts, x.shape, update.shape)] = update
    return result


def window_starts(
    indices: cp.ndarray,
    index_vector_dim: int,
    start_index_map: Sequence[int],
    operand_batching_dims: Sequence[int],
    start_indices_batching_dims: Sequence[int],
) -> tuple[dict[int, cp.ndarray], tuple[int, ...]]:
    """Return the starts of the windows along each indexed operand dimension, as arrays
    of the batch shape, and that shape.
    """
    if index_vector_dim == indices.ndim:
        indices = indices[..., None]
    vectors = cp.moveaxis(indices, index_vector_dim, -1)
    batch = vectors.shape[:-1]
    starts = {dim: vectors[..., k] for k, dim in enumerate(start_index_map)}
    pairs = zip(operand_batching_dims, start_indices_batching_dims, strict=True)
    for dim, axis in pairs:
        place = axis - (axis > index_vector_dim >= 0)
        positions = cp.arange(batch[place])
        positions = positions.reshape((-1,) + (1,) * (len(batch) - place - 1))
        starts[dim] = cp.broadcast_to(positions, batch)
    return dict(sorted(starts.items())), batch


def open_windows(
    starts: Sequence[cp.ndarray], sizes: Sequence[int]
) -> list[cp.ndarray]:
    """Return index arrays that broadcast to [*batch, *sizes], one for each of the
    ``starts`` [*batch].
    """
    windows = []
    for k, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        steps = cp.arange(size).reshape((size,) + (1,) * (len(sizes) - k - 1))
        windows.append(start.reshape(start.shape + (1,) * len(sizes)) + steps)
    return windows


def scatter_at(
    x: cp.ndarray, index: Any, values: Any, combine: Callable[..., Any] | None = None
) -> cp.ndarray:
    """Return a copy of ``x`` with ``values`` at ``x[index]``, without those outside.

    If a ufunc is given, it combines the values with the elements of ``x``. ``index`` is
    an array of integers or a tuple of several, one for each of the first axes of ``x``.
    """
    given = index if isinstance(index, tuple) else (index,)
    arrays = [p if isinstance(p, cp.ndarray) else cp.full((), p) for p in given]
    places = cp.broadcast_arrays(*arrays)
    count, rest = prod(x.shape[: len(places)]), x.shape[len(places) :]
    inside = cp.ones(places[0].shape, dtype=cp.bool_)
    row = cp.zeros(places[0].shape, dtype=cp.int64)
    for place, n in zip(places, x.shape, strict=False):
        inside &= (place >= 0) & (place < n)
        row = row * n + cp.where(inside, place, 0).astype(cp.int64)
    row = cp.where(inside, row, count).reshape(-1)
    spare = cp.zeros((1, *rest), dtype=x.dtype)
    table = cp.concatenate([x.reshape(count, *rest), spare])
    values = values if isinstance(values, cp.ndarray) else cp.full((), values)
    values = cp.broadcast_to(values, (*inside.shape, *rest)).reshape(len(row), *rest)
    combine_rows([table], row, [values], combine)
    return table[:count].reshape(x.shape)


def scatter(
    operands: Any,
    indices: cp.ndarray,
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
    vector.

    ``operands`` and ``updates`` are one array each or tuples of arrays.
    ``combine(*current, *update)`` is a function of arrays; None replaces. ``indices``
    is read as in gather, except that a window which does not fit in the operand is left
    out: it goes to a spare row, which is cut off. ``update_window_dims`` are the
    dimensions of ``updates`` that run inside a window.
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
    fits = cp.ones(batch, dtype=cp.bool_)
    for dim, start in starts.items():
        fits &= (start >= 0) & (start <= max(shape[dim] - window[dim], -1))

    # Each operand becomes a table, one row for each position along indexed dimensions.
    order = [*starts, *(dim for dim in range(ndim) if dim not in starts)]
    split = len(starts)
    count = prod(shape[dim] for dim in starts)
    row = cp.zeros((1,) * split, dtype=cp.int64)
    inside = [cp.where(fits, start, 0) for start in starts.values()]
    places = [start.astype(cp.int64).reshape(-1) for start in inside]
    opened = open_windows(places, [window[dim] for dim in starts])
    for dim, positions in zip(starts, opened, strict=True):
        row = row * shape[dim] + positions
    row = cp.where(fits.reshape((-1,) + (1,) * split), row, count).reshape(-1)
    tables, values = [], []
    for x, update in zip(operands, updates, strict=True):
        rest = [shape[dim] for dim in order[split:]]
        table = x.transpose(order).reshape(count, *rest)
        tables.append(cp.concatenate([table, cp.zeros((1, *rest), dtype=x.dtype)]))
        inner = range(len(batch), update.ndim)
        update = cp.moveaxis(update, update_window_dims, inner)
        update = update.reshape(prod(batch), *window)
        update = update.transpose(0, *(1 + dim for dim in order))
        values.append(update.reshape(len(row), *(window[dim] for dim in order[split:])))
    combine_rows(tables, row, values, combine)
    back = sorted(range(ndim), key=order.__getitem__)
    ordered = [shape[dim] for dim in order]
    results = [table[:count].reshape(ordered).transpose(back) for table in tables]
    return tuple(results) if several else results[0]


def combine_rows(
    tables: Sequence[cp.ndarray],
    row: cp.ndarray,
    values: Sequence[cp.ndarray],
    combine: Callable[..., Any] | None,
) -> None:
    """Combine ``values[k]`` into row ``row[k]`` of the tables, in place; the last row
    of a table is spare.

    Sums use atomic additions. For the library's other functions values are sorted by
    their rows, combined within each row in parallel, and written once.
    """
    inside = (slice(None), *(slice(size) for size in values[0].shape[1:]))
    if combine is None:
        for table, value in zip(tables, values, strict=True):
            table[inside][row] = value
    elif combine is cp.add and values[0].dtype.char in "efdilqILQ":
        cupyx.scatter_add(tables[0][inside], row, values[0])
    elif len(row):
        order = cp.argsort(row, kind="stable")
        row, values = row[order], [value[order] for value in values]
        if isinstance(combine, cp.ufunc):
            combine_in_parallel(tables[0][inside], row, values[0], combine)
        else:
            combine_in_order([table[inside] for table in tables], row, values, combine)


def combine_in_parallel(
    table: cp.ndarray, row: cp.ndarray, total: cp.ndarray, combine: Callable[..., Any]
) -> None:
    """Combine runs of equal rows by doubling steps; the total at the end of a run is
    written to its row, the others to the spare one.
    """
    step = 1
    while step < len(row):
        same = (row[step:] == row[:-step]).reshape((-1,) + (1,) * (total.ndim - 1))
        combined = combine(total[:-step], total[step:])
        rest = cp.where(same, combined, total[step:]).astype(total.dtype, copy=False)
        total = cp.concatenate([total[:step], rest])
        step *= 2
    is_last = cp.concatenate([row[:-1] != row[1:], cp.ones(1, dtype=cp.bool_)])
    table[cp.where(is_last, row, len(table) - 1)] = combine(table[row], total)


def combine_in_order(
    tables: Sequence[cp.ndarray],
    row: cp.ndarray,
    values: Sequence[cp.ndarray],
    combine: Callable[..., Any],
) -> None:
    """Combine the first values of all rows, then the second ones, ..: in as many rounds
    as the longest run. The host waits in each round, to know whether it is the last.
    """
    places = cp.arange(len(row))
    starts = cp.concatenate([cp.ones(1, dtype=cp.bool_), row[:-1] != row[1:]])
    rank = places - running(cp.where(starts, places, 0), cp.maximum, 0)
    turn = 0
    while (rank >= turn).any():
        rows = cp.where(rank == turn, row, len(tables[0]) - 1)
        new = combine(*(table[rows] for table in tables), *values)
        new = new if isinstance(new, tuple) else (new,)
        for table, value in zip(tables, new, strict=True):
            table[rows] = value
        turn += 1
