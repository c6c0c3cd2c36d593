"""Scatters of one kernel each, by atomic functions: sums, extremes and replacements.

Source: the operation-semantics seed, Scatter.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import cupy as cp

from ...prelude.precision import working_dtype
from .device import LARGE_BLOCK, LARGER, SMALLER
from .indexing import copied

row_at = cp.ElementwiseKernel(
    "int64 row, I index, int64 count",
    "int64 place",
    """
    long long at = index;
    place = row < 0 || at < 0 || at >= count ? -1 : row * count + at
    """,
    "row_at",
)

PLACE_OF = """
// Where an element of updates of rows goes in a table; -1 for none.
template <class Rows>
__device__ long long place_of(
    long long i, const Rows &rows, long long count, long long width) {
    bool is_long = (i | width) >> 31;  // int divides faster
    long long line = is_long ? i / width : (int)i / (int)width, row = rows[line];
    return row >= 0 && row < count ? (row - line) * width + i : -1;
}
"""

add_to_rows = cp.ElementwiseKernel(
    "raw I rows, T value, int64 count, int64 width",
    "raw T table",
    """
    long long place = place_of(i, rows, count, width);
    if (place >= 0) atomicAdd(&table[place], value)
    """,
    "add_to_rows",
    preamble=PLACE_OF,
)

ADD_FOUR = """
// Adds four numbers that lie beside each other: at once where the device can.
__device__ void add_four(float *place, const float *values) {
#if __CUDA_ARCH__ >= 900
    atomicAdd((float4 *)place, *(const float4 *)values);
#else
    for (int k = 0; k < 4; k++) atomicAdd(&place[k], values[k]);
#endif
}
"""

add_fours_to_rows = cp.ElementwiseKernel(
    "raw I rows, raw float32 values, int64 count, int64 width",
    "raw float32 table",
    """
    long long first = 4 * (long long)i, place = place_of(first, rows, count, width);
    if (place >= 0) add_four(&table[place], &values[first])
    """,
    "add_fours_to_rows",
    preamble=PLACE_OF + ADD_FOUR,
)

COMBINE_AT = """
template <int SIZE> struct BitsOf { typedef unsigned int type; };
template <> struct BitsOf<8> { typedef unsigned long long type; };
// Combines the number at a place with another one, while other threads do so, too.
template <class T, T combined(T, T)> __device__ void combine_at(T *place, T value) {
    typedef typename BitsOf<sizeof(T)>::type Bits;
    union { T value; Bits bits; } seen, next;
    Bits before;
    seen.value = *place;
    do {
        before = seen.bits;
        next.value = combined(seen.value, value);
        if (next.bits == before) return;
        seen.bits = atomicCAS((Bits *)place, before, next.bits);
    } while (seen.bits != before);
}
"""

raise_rows = cp.ElementwiseKernel(
    "raw I rows, T value, int64 count, int64 width",
    "raw T table",
    """
    long long place = place_of(i, rows, count, width);
    if (place >= 0) combine_at<T, larger<T> >(&table[place], value)
    """,
    "raise_rows",
    preamble=PLACE_OF + LARGER + COMBINE_AT,
)

lower_rows = cp.ElementwiseKernel(
    "raw I rows, T value, int64 count, int64 width",
    "raw T table",
    """
    long long place = place_of(i, rows, count, width);
    if (place >= 0) combine_at<T, smaller<T> >(&table[place], value)
    """,
    "lower_rows",
    preamble=PLACE_OF + SMALLER + COMBINE_AT,
)

set_rows = cp.ElementwiseKernel(
    "raw I rows, T value, int64 count, int64 width",
    "raw T table",
    """
    long long place = place_of(i, rows, count, width);
    if (place >= 0) table[place] = value
    """,
    "set_rows",
    preamble=PLACE_OF,
)


def write_rows(
    kernel: Any, table: cp.ndarray, index: Any, values: Any, *, fours: Any = None
) -> None:
    """Write ``values`` into ``table[index]`` by one of the kernels above, in place;
    values outside of ``table`` are left out.

    ``index`` is an array of integers or a tuple of several, one for each of the first
    axes of ``table``. ``fours`` is a kernel that takes four of float32 at once.
    """
    places = index if isinstance(index, tuple) else (index,)
    count, rest = prod(table.shape[: len(places)]), table.shape[len(places) :]
    row = places[0]
    if len(places) > 1:
        row = cp.int64(0)
        for place, n in zip(places, table.shape, strict=False):
            row = row_at(row, place, cp.int64(n))
    if isinstance(values, cp.ndarray):
        values = values.astype(table.dtype, copy=False)
    else:
        values = cp.full((), values, dtype=table.dtype)
    values = cp.broadcast_to(values, (*row.shape, *rest))
    arguments = row, values, cp.int64(count), cp.int64(prod(rest)), table
    lie_together = values.flags.c_contiguous and values.data.ptr % 16 == 0
    if fours and table.dtype == cp.float32 and prod(rest) % 4 == 0 and lie_together:
        fours(*arguments, size=values.size // 4, block_size=LARGE_BLOCK)
    else:
        kernel(*arguments, block_size=LARGE_BLOCK)


def scatter_add(x: cp.ndarray, index: Any, values: Any) -> cp.ndarray:
    """Return a copy of ``x`` with ``values`` added at ``x[index]``; narrow floats are
    added in float32.
    """
    table = x.astype(working_dtype(x.dtype))
    write_rows(add_to_rows, table, index, values, fours=add_fours_to_rows)
    return table.astype(x.dtype, copy=False)


def scatter_sum(
    index: Any, values: Any, shape: Sequence[int], dtype: Any
) -> cp.ndarray:
    """Return an array of a shape with the sums of the ``values`` at each ``index``,
    else 0; narrow floats are added in float32.
    """
    table = cp.zeros(shape, dtype=working_dtype(cp.dtype(dtype)))
    write_rows(add_to_rows, table, index, values, fours=add_fours_to_rows)
    return table.astype(dtype, copy=False)


def scatter_max(x: cp.ndarray, index: Any, values: Any) -> cp.ndarray:
    """Return a copy of ``x`` with ``values`` at ``x[index]`` where they are larger or
    NaN.
    """
    table = x.astype(working_dtype(x.dtype))
    write_rows(raise_rows, table, index, values)
    return table.astype(x.dtype, copy=False)


def scatter_min(x: cp.ndarray, index: Any, values: Any) -> cp.ndarray:
    """Return a copy of ``x`` with ``values`` at ``x[index]`` where they are smaller or
    NaN.
    """
    table = x.astype(working_dtype(x.dtype))
    write_rows(lower_rows, table, index, values)
    return table.astype(x.dtype, copy=False)


def scatter_set(x: cp.ndarray, index: Any, values: Any) -> cp.ndarray:
    """Return a copy of ``x`` with ``values`` at ``x[index]``; of several, any one
    stays.
    """
    table = copied(x)
    write_rows(set_rows, table, index, values)
    return table
